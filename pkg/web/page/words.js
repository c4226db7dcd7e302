// States as words, in the same words as the commands.

import { now } from "./api.js";
import { clock } from "./clock.js";
import { chip, h, setText } from "./dom.js";

export function plural(n, one, more) {
  return n + " " + (n === 1 ? one : more);
}

// short is a name without its final dot.
export function short(name) {
  return name.length > 1 && name.endsWith(".") ? name.slice(0, -1) : name;
}

export function typeWords(type, variant) {
  return variant ? `${type} [${variant}]` : type;
}

// span is a duration in milliseconds, with no more digits than people read.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + " s";
  const m = Math.round(s / 60);
  if (m < 60) return m + " min";
  const hours = Math.floor(m / 60);
  if (hours < 24) return m % 60 ? `${hours} h ${m % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

const forms = {
  for: (at) => "for " + span(now() - at),
  ago: (at) => span(now() - at) + " ago",
  until: (at) => "until " + clock(at) + (at > now() ? " (in " + span(at - now()) + ")" : ""),
};

// moment is a time in words that go on being true: tick brings them up to date.
export function moment(form, at) {
  const time = Date.parse(at);
  const element = h("time", { datetime: at, "data-form": form, title: clock(time) }, forms[form](time));
  element.at = time;
  return element;
}

export function tick() {
  for (const element of document.querySelectorAll("time[data-form]")) {
    if (element.at !== undefined) setText(element, forms[element.dataset.form](element.at));
  }
}

const verdicts = { up: "good", down: "bad", suspected: "warn" };

export function verdictLook(verdict) {
  return verdicts[verdict] ?? "open";
}

export function verdictChip(verdict) {
  return chip(verdictLook(verdict), verdict);
}

// siteLook is how a site's state is shown: any word of the config's scenarios but
// the three of sidestep itself is trouble.
export function siteLook(state) {
  return { ok: "good", unknown: "open", maintenance: "idle" }[state] ?? "bad";
}

// A spare that is lower in rank is missing for good reason: that alone alarms nobody.
const states = { live: "good", paused: "idle", missing: "off", unknown: "open" };

export function stateChip(state) {
  return chip(states[state] ?? "open", state);
}

// leaderChip says whether this node may write, and until when it may believe so.
export function leaderChip(l) {
  const end = l.until ? [" ", moment("until", l.until)] : [];
  switch (l.state) {
    case "leader":
      return chip("good", "leader", end);
    case "standby":
      return chip("idle", "standby", l.detail && ": " + l.detail, end);
    case "none":
      return chip("bad", "nobody leads", l.detail && ": " + l.detail);
  }
  return chip("bad", l.state, l.detail && ": " + l.detail);
}

export function canaryChip(c) {
  const look = { pass: "good", fail: "bad" }[c.state] ?? "open";
  const said = { pass: "passes", fail: "fails: nothing is written" }[c.state] ?? "not probed often enough yet";
  const targets = c.targets ?? [];
  return chip(look, "canary " + said, targets.length > 0 && `, ${c.answered} of ${targets.length} answered, ${c.need} needed`);
}

// overrideWords is an override without its end: "drain 203.0.113.10".
export function overrideWords(o) {
  return o.kind + " " + short(o.target) + (o.value ? " to " + o.value : "");
}

export function endOf(o) {
  return o.until ? moment("until", o.until) : "forever";
}
