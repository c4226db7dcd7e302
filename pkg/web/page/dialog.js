// The dialog in which a person says a word: what it is about, for how long, why, and
// what would come of it.

import { Refused, forgetToken, hasToken, keepToken } from "./api.js";
import { fill, h } from "./dom.js";

const box = document.getElementById("dialog");

const spans = [
  ["15m", "15 minutes"], ["30m", "30 minutes"], ["1h", "1 hour"], ["4h", "4 hours"], ["12h", "12 hours"],
  ["1d", "1 day"], ["1w", "1 week"], ["forever", "until it is taken back"],
];

// open asks. wants says whether an end and a reason are asked for, preview gives
// lines of what would come of it, and send does it and gives lines of what came.
export function open({ title, lead, verb, wants, preview, send }) {
  const end = h("select", { id: "word-for", required: true }, spans.map(([value, text]) => h("option", { value, selected: value === "1h" }, text)));
  const reason = h("input", { id: "word-reason", required: true, maxlength: 200, autocomplete: "off", placeholder: "what the others should know" });
  const foreseen = h("ul", { class: "foreseen", "aria-live": "polite" });
  const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
  const go = h("button", { type: "submit", class: "main" }, verb);
  const close = h("button", { type: "button", onclick: () => box.close() }, "Cancel");
  const word = () => (wants ? { for: end.value, reason: reason.value.trim() } : {});
  const look = () => preview && show(foreseen, preview(word()));
  end.addEventListener("change", look);

  async function said(event) {
    event.preventDefault();
    go.disabled = true;
    trouble.hidden = true;
    try {
      const lines = await send(word());
      fill(box, h("h2", { id: "dialog-title" }, title), h("ul", { class: "foreseen", role: "status" }, lines.map((line) => h("li", {}, line))),
        h("p", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => box.close() }, "Close")));
      box.querySelector("button").focus();
    } catch (error) {
      trouble.textContent = inWords(error);
      trouble.hidden = false;
      go.disabled = false;
    }
  }

  fill(box, h("form", { onsubmit: said },
    h("h2", { id: "dialog-title" }, title),
    h("p", {}, lead),
    wants && [h("label", { for: "word-for" }, "For how long"), end, h("label", { for: "word-reason" }, "Reason"), reason],
    preview && [h("h3", {}, "What comes of it"), foreseen],
    trouble,
    h("p", { class: "buttons" }, go, close)));
  if (!box.open) box.showModal();
  (wants ? reason : go).focus();
  look();
}

// show puts lines that are still being worked out in their place; those of an older
// question come too late.
async function show(list, asked) {
  list.asked = asked;
  const lines = await asked.catch((error) => [inWords(error)]);
  if (list.asked === asked) fill(list, lines.map((line) => h("li", {}, line)));
}

// inWords is what went wrong, and what to do.
export function inWords(error) {
  if (error instanceof Refused) {
    if (error.status === 403 && !error.hint) return error.message + "; it takes a token with the role operate";
    return error.message + (error.hint ? "; " + error.hint : "");
  }
  if (error.name === "TimeoutError") return "the daemon gave no answer in time; look at the timeline before you say it again";
  return "the daemon cannot be reached: " + error.message;
}

// askToken asks for a token, keeps it for this tab, and goes on.
export function askToken(error, goOn) {
  const refused = hasToken() ? "The daemon does not take this token: " + inWords(error) : "";
  forgetToken();
  const input = h("input", { id: "token", type: "password", required: true, autocomplete: "off", spellcheck: "false" });
  const kept = (event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    box.oncancel = null;
    box.close();
    goOn();
  };
  fill(box, h("form", { onsubmit: kept },
    h("h2", { id: "dialog-title" }, "This daemon asks for a token"),
    refused && h("p", { class: "notice bad", role: "alert" }, refused),
    h("p", {}, "It is one of control.tokens in the config. This tab keeps it until it is closed."),
    h("label", { for: "token" }, "Token"), input,
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Go on"))));
  box.oncancel = (event) => event.preventDefault();
  if (!box.open) box.showModal();
  input.focus();
}
