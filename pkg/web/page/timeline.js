// What happened: transitions, overrides, writes and their clocks, newest first.

import { clock } from "./clock.js";
import { chip, h, listIn } from "./dom.js";
import { short, siteLook, typeWords, verdictLook } from "./words.js";

const looks = { verdict: "open", override: "warn", write: "good", verify: "idle", guard: "bad", leader: "idle", config: "idle", plan: "warn" };

// showTimeline shows the journal, or, where the daemon does not tell it, its last
// writes.
export function showTimeline(box, status, history, kind) {
  const all = history ?? status.writes.map((w) => ({ ...w, kind: "write" }));
  const events = kind ? all.filter((e) => e.kind === kind) : all;
  listIn(box, events, "Nothing of that kind has happened, as far as the journal goes back.",
    (e) => [e.at, e.kind, e.target, e.name, e.value, e.zone, e.to, e.action].join(" "), event);
}

function event(e) {
  return h("li", { class: "event" },
    h("time", { datetime: e.at }, clock(e.at)), " ", chip(look(e), e.kind), " ",
    h("strong", {}, about(e)), " ", words(e));
}

function look(e) {
  if (e.kind === "verdict" || e.kind === "vantage") return verdictLook(e.to);
  if (e.kind === "site") return siteTurned(e.detail);
  if (e.kind === "write" && e.error) return "bad";
  if (e.kind === "verify") return e.verified ? "good" : "warn";
  return looks[e.kind] ?? "open";
}

// siteTurned reads the new state out of "dead, was ok".
function siteTurned(detail) {
  const [to, from] = detail.split(", was ");
  return from ? siteLook(to) : "open";
}

function about(e) {
  switch (e.kind) {
    case "write":
      return short(e.name || e.zone || "") + " " + typeWords(e.type ?? "", e.variant);
    case "verify":
      return short(e.zone ?? "");
    case "leader":
      return e.zone ? short(e.zone) : "all zones";
    case "config":
      return e.file;
  }
  return short(e.target ?? "");
}

function joined(by, ...parts) {
  return parts.filter(Boolean).join(by);
}

function words(e) {
  switch (e.kind) {
    case "verdict":
      return turned(e);
    case "vantage":
      return e.to ? `${e.vantage} says ${turned(e)}` : e.detail;
    case "write":
      return wrote(e);
    case "verify":
      return verified(e);
    case "leader":
      return joined(": ", leader(e), e.detail);
    case "config":
      return joined(": ", e.what, e.detail);
    case "guard":
      if (e.by) return joined(": ", "approved by " + e.by, e.detail);
      return joined(": ", e.guard, e.detail);
    case "override":
      return e.by && !(e.detail ?? "").includes(e.by) ? `${e.detail}, by ${e.by}` : e.detail;
  }
  return e.detail;
}

function turned(e) {
  return joined(": ", e.from ? `${e.to}, was ${e.from}` : e.to, joined(" ", joined("/", e.phase, e.cause), e.detail));
}

function wrote(e) {
  const took = e.took_ms > 0 ? `, took ${Math.round(e.took_ms)} ms` : "";
  return joined(" ", e.action, e.value, e.replaces && "in place of " + e.replaces, e.error ? "FAILED: " + e.error : e.reason && `(${e.reason})`) + took;
}

// verified tells the clocks of a switch: when each name server answered anew.
function verified(e) {
  const clocks = (e.servers ?? []).filter((s) => s.took_ms > 0).map((s) => `${s.server} answered anew after ${Math.round(s.took_ms)} ms`);
  return joined(": ", e.verified ? "verified" : "not verified", joined("; ", e.detail, ...clocks));
}

function leader(e) {
  return { won: e.node + " leads", lost: e.node + " leads no more", none: "nobody leads, as " + e.node + " sees",
    led: (e.holder || "somebody") + " leads again", "two-writers": "two writers" }[e.what] ?? joined(" ", e.node, e.what);
}
