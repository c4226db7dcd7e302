// Record sets with their answers, and what waits to be written.

import { ask } from "./api.js";
import { approve, drain, freeze, takeBack } from "./acts.js";
import { chip, fill, h, listIn } from "./dom.js";
import { inWords } from "./dialog.js";
import { moment, plural, short, stateChip, typeWords, verdictChip } from "./words.js";

export function said(status, kind, target) {
  return status.overrides.find((o) => o.kind === kind && short(o.target) === short(target));
}

// drainOrBack is the button to drain something, or to end that it is.
export function drainOrBack(status, target, what) {
  const drained = said(status, "drain", target);
  return drained ? takeBack(drained, "Undrain") : drain(target, what);
}

export function showRecords(box, status) {
  const about = (r) => [r, status.overrides.filter((o) => short(o.target) === short(r.name) || r.answers.some((a) => a.value === o.target))];
  listIn(box, status.records, "The config names no record set.", (r) => [r.name, r.type, r.variant].join(" "), (r) => card(r, status), about);
}

function card(r, status) {
  const frozen = said(status, "freeze", r.name);
  return h("li", { class: "card" },
    h("div", { class: "head" },
      h("h3", {}, short(r.name), " ", h("span", { class: "muted" }, typeWords(r.type, r.variant), ", ", r.policy)),
      h("span", { class: "buttons" }, frozen ? takeBack(frozen, "Unfreeze") : freeze(r.name, short(r.name)))),
    h("p", { class: "reason" }, r.reason),
    h("ul", { class: "answers" }, r.answers.map((a) => answer(a, r, status))),
    notes(r));
}

function role(a) {
  const words = [a.rank > 0 && "#" + a.rank, a.mode, a.weight !== null && a.weight !== undefined && "weight " + a.weight].filter(Boolean);
  return words.length > 0 && h("span", { class: "muted" }, words.join(", "));
}

function answer(a, r, status) {
  return h("li", { class: "answer " + (a.state === "live" ? "is-live" : "") },
    h("div", { class: "line" },
      h("code", {}, a.value), " ", stateChip(a.state), " ", verdictChip(a.verdict), " ", role(a),
      a.site && h("span", { class: "muted" }, " at ", a.site),
      h("span", { class: "buttons" }, drainOrBack(status, a.value, a.value))),
    a.reason && h("p", { class: "small" }, a.reason));
}

function notes(r) {
  return [
    !r.listed && h("p", {}, chip("open", "its zone was not listed yet: what it answers with is not known")),
    r.pending.map((c) => h("p", { class: "small" }, "to be written: ", c.action, " ", h("code", {}, c.value), " (", c.reason, ")")),
    r.hold_ends && h("p", { class: "small" }, "a failback is held back ", moment("until", r.hold_ends)),
    r.waiting && h("p", {}, chip("warn", "waits for you: ", r.waiting), " ", approve(r.name, r.waiting)),
    r.foreign.length > 0 && h("p", { class: "small" }, "foreign, left alone: ", r.foreign.join(", ")),
    r.held.map((value) => h("p", { class: "small" }, "paused by somebody else: ", h("code", {}, value), " ", approve(value, `${value} was paused by somebody else. With your yes it may be put into the answer again.`))),
    r.blocked.map((b) => h("p", {}, chip("bad", "blocked by guard ", b.guard), " ", b.detail)),
  ];
}

// showPlan lists what would be written now. The whole plan, with its checksum, is
// worked out by the daemon when it is asked for.
export function showPlan(box, status) {
  if (!box.list) {
    box.summary = h("div", { role: "status" });
    box.whole = h("div", {});
    box.list = h("button", { type: "button", onclick: () => whole(box) }, "Work out the whole plan");
    fill(box, box.summary, h("p", { class: "buttons" }, box.list), box.whole);
  }
  const state = JSON.stringify(status.records.map((r) => [r.name, r.pending, r.blocked, r.listed]));
  if (box.state === state) return;
  box.state = state;
  const pending = status.records.flatMap((r) => r.pending.map((c) => ({ ...c, blocked: r.blocked })));
  const unlisted = status.records.filter((r) => !r.listed).length;
  fill(box.summary,
    pending.length === 0 && h("p", { class: "muted" }, unlisted > 0 ? `Not known yet: ${plural(unlisted, "record set was", "record sets were")} not listed.` : "Nothing: every record set answers as it should."),
    pending.length > 0 && h("ul", { class: "rows" }, pending.map((c) => h("li", {},
      h("strong", {}, c.action), " ", h("code", {}, c.value), " of ", short(c.name), " ", typeWords(c.type, c.variant), ": ", c.reason,
      c.guard && [" ", chip("bad", "stopped by guard " + c.guard)]))));
}

async function whole(box) {
  box.list.disabled = true;
  fill(box.whole, h("p", { class: "muted" }, "Working it out…"));
  try {
    const plan = await ask("plan", {});
    fill(box.whole, plan.zones.map(zone), plan.undecided.length > 0 && h("p", {}, "not judged yet: ", plan.undecided.join(", ")),
      plan.waiting.map((w) => h("p", {}, chip("warn", w.site, " waits"), " ", w.detail)));
  } catch (error) {
    fill(box.whole, h("p", { class: "notice bad", role: "alert" }, inWords(error)));
  }
  box.list.disabled = false;
}

function zone(z) {
  const stopped = z.blocked.find((b) => b.guard === "max_changes");
  return h("div", { class: "card" },
    h("h3", {}, short(z.zone), " ", z.in_sync ? chip("good", "as it should be") : chip("warn", plural(z.changes.length, "change", "changes"))),
    z.error && h("p", { class: "notice bad" }, z.error),
    (z.text ?? []).length > 0 && h("pre", { tabindex: "0", "aria-label": "Plan of " + short(z.zone) }, z.text.join("\n")),
    z.waits && h("p", {}, "waits ", moment("until", z.waits.until), ": ", z.waits.why),
    z.blocked.map((b) => h("p", {}, chip("bad", "blocked by guard ", b.guard), " ", b.detail)),
    stopped && approve(z.zone, `Lets the plan ${z.checksum} through once: ${stopped.detail}`, z.checksum));
}
