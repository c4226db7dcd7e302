// The page: takes what Live saw, and has each part show its share.

import { now, takeTokenFromAddress } from "./api.js";
import { freeze, takeBack, whenSaid } from "./acts.js";
import { chip, fill, h, keepingFocus, setText } from "./dom.js";
import { askToken, inWords } from "./dialog.js";
import { Live } from "./live.js";
import { showNodes, showOverrides, showSites, showZones } from "./places.js";
import { said, showPlan, showRecords } from "./records.js";
import { counts, learn, showTargets } from "./targets.js";
import { showTimeline } from "./timeline.js";
import { canaryChip, endOf, leaderChip, moment, plural, tick } from "./words.js";

const at = (id) => document.getElementById(id);
let seen = null; // the last status and history
let stands = ["lost", null];
let heard = 0;

function draw() {
  if (!seen) return;
  const { status, history } = seen;
  keepingFocus(() => {
    top(status);
    showRecords(at("records"), status);
    showPlan(at("plan"), status);
    showOverrides(at("overrides"), status);
    showSites(at("sites"), status);
    drawTargets();
    showZones(at("zones"), status);
    showNodes(at("nodes"), status);
    showTimeline(at("timeline"), status, history, at("kind").value);
  });
}

function drawTargets() {
  if (seen) showTargets(at("targets"), at("count"), at("more"), seen.status, at("find").value, at("trouble").checked);
}

// changed redraws a part only where what it shows did.
function changed(element, state) {
  const text = JSON.stringify(state);
  if (element.state === text) return false;
  element.state = text;
  return true;
}

function top(s) {
  setText(at("node"), s.node);
  const words = summary(s);
  setText(at("summary"), words);
  document.title = words + " · " + s.node + " · sidestep";
  const { targets } = s.schedule;
  if (changed(at("facts"), [s.leader, s.canary, stands[0], targets, s.config])) {
    fill(at("facts"), [connection(), leaderChip(s.leader), s.canary && canaryChip(s.canary),
      h("span", { class: "muted small" }, plural(targets, "target", "targets"), " probed; config ", s.config.file, " in force ", moment("for", s.config.loaded))]
      .filter(Boolean).map((fact) => h("li", {}, fact)));
  }
  const frozen = said(s, "freeze", "all");
  if (changed(at("switches"), frozen ?? null)) fill(at("switches"), frozen ? takeBack(frozen, "Unfreeze") : freeze("all", "any zone"));
  notices(s);
}

function summary(s) {
  const down = s.targets.filter((t) => counts(t).verdict === "down").length;
  const suspected = s.targets.filter((t) => counts(t).verdict === "suspected").length;
  const paused = s.records.flatMap((r) => r.answers).filter((a) => a.state === "paused").length;
  const waiting = s.records.filter((r) => r.waiting).length + s.sites.filter((x) => x.waiting).length;
  return [
    down > 0 ? down + " down" : "nothing down", suspected > 0 && suspected + " suspected", paused > 0 && plural(paused, "answer", "answers") + " paused",
    waiting > 0 && waiting + " waiting for you", s.frozen && "frozen",
  ].filter(Boolean).join(", ");
}

function connection() {
  switch (stands[0]) {
    case "live":
      return chip("good", "live");
    case "polling":
      return chip("good", "looks every 2 s");
  }
  return chip("bad", "not connected");
}

function notices(s) {
  const lost = stands[0] === "lost" && heard > 0;
  if (!changed(at("notices"), [s.notices, s.frozen, s.config, s.canary?.state, lost, lost && stands[1]?.message])) return;
  fill(at("notices"),
    lost && h("p", { class: "notice bad", role: "alert" }, "Not connected: what you see is of ", moment("ago", new Date(heard).toISOString()), ". ", stands[1] && inWords(stands[1])),
    s.frozen && h("p", { class: "notice warn" }, "Frozen: nothing is written, ", endOf(s.frozen), ". ", s.frozen.by, ": ", s.frozen.reason),
    s.canary?.state === "fail" && h("p", { class: "notice bad" }, "The canary fails: this node may see nothing of the world, so no result counts and nothing is written."),
    s.config.error && h("p", { class: "notice bad" }, "The last reload was refused, and the config before stays in force: ", s.config.error),
    s.notices.map((text) => h("p", { class: "notice warn" }, text)));
}

const live = new Live({
  saw(status, history) {
    learn(status.targets);
    seen = { status, history };
    heard = now();
  },
  stands(state, error) {
    stands = [state, error ?? null];
    if (state === "token") askToken(error, () => live.start());
    if (!seen && state === "lost") fill(at("records"), h("p", { class: "notice bad", role: "alert" }, inWords(error)));
    draw();
  },
});

takeTokenFromAddress();
whenSaid(() => live.soon());
at("find").addEventListener("input", drawTargets);
at("trouble").addEventListener("change", drawTargets);
at("kind").addEventListener("change", draw);
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  at("find").focus();
});
setInterval(tick, 1000);
live.start();
