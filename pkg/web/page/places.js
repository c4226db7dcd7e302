// Sites, overrides, zones and nodes.

import { approve, freeze, takeBack } from "./acts.js";
import { chip, h, listIn } from "./dom.js";
import { drainOrBack, said } from "./records.js";
import { endOf, leaderChip, moment, overrideWords, plural, short, siteLook } from "./words.js";

export function showSites(box, status) {
  const about = (s) => [s, said(status, "drain", s.name)];
  listIn(box, status.sites, "The config names no site.", (s) => s.name, (s) => site(s, status), about);
}

function site(s, status) {
  return h("li", { class: "card" },
    h("div", { class: "head" },
      h("h3", {}, s.name, " ", chip(siteLook(s.state), s.state)),
      h("span", { class: "buttons" }, drainOrBack(status, s.name, "what stands at " + s.name))),
    h("p", {}, Object.entries(s.signals).sort().map(([name, holds]) => [signal(name, holds), " "])),
    s.maintenance && h("p", { class: "small" }, "in maintenance: ", s.maintenance),
    s.waiting && h("p", {}, chip("warn", "waits for ", s.waiting), " ", s.detail, " ", approve(s.name, s.detail)));
}

function signal(name, holds) {
  if (holds === null) return chip("open", name, " not known");
  return holds ? chip("good", name, " reached") : chip("bad", name, " not reached");
}

export function showOverrides(box, status) {
  listIn(box, status.overrides, "There are none: the probes decide.", (o) => [o.kind, o.target, o.from].join(" "), override);
}

function override(o) {
  const look = o.state === "in force" ? "warn" : o.state === "to come" ? "idle" : "open";
  return h("li", { class: "card" },
    h("div", { class: "head" },
      h("h3", {}, overrideWords(o), " ", chip(look, o.state)),
      h("span", { class: "buttons" }, takeBack(o))),
    h("p", {}, o.reason),
    h("p", { class: "small" }, "said by ", o.by, " ", moment("ago", o.from), "; ends: ", endOf(o)),
    o.detail && h("p", { class: "small" }, o.detail));
}

export function showZones(box, status) {
  const about = (z) => [z, said(status, "freeze", z.zone)];
  listIn(box, status.zones, "The config names no zone.", (z) => z.zone, (z) => zone(z, status), about);
}

function zone(z, status) {
  const frozen = said(status, "freeze", z.zone);
  const writes = [z.atomic && "atomic", z.fenced && "fenced"].filter(Boolean).join(", ") || "one by one";
  return h("li", { class: "card" },
    h("div", { class: "head" },
      h("h3", {}, short(z.zone), " ", h("span", { class: "muted" }, z.provider)),
      h("span", { class: "buttons" }, frozen ? takeBack(frozen, "Unfreeze") : freeze(z.zone, short(z.zone)))),
    h("p", {}, z.error ? chip("bad", z.error) : z.listed ? chip("good", "listed ", z.listed_at && moment("ago", z.listed_at)) : chip("open", "not listed yet"),
      z.open_calls > 0 && [" ", chip("warn", plural(z.open_calls, "open call", "open calls"))]),
    h("p", { class: "small" }, "writes ", writes, "; pauses: ", z.pause),
    z.leader && h("p", {}, leaderChip(z.leader), z.leader.holder && " led by " + z.leader.holder),
    z.waits && h("p", { class: "small" }, "waits ", moment("until", z.waits.until), ": ", z.waits.why),
    z.verification && checked(z.verification),
    z.no_longer_steered.map((l) => h("p", { class: "small" }, l.text)));
}

function checked(v) {
  const clocks = v.servers.filter((s) => s.took_ms !== null).map((s) => `${s.server} after ${Math.round(s.took_ms)} ms`).join(", ");
  return h("p", { class: "small" }, v.verified ? chip("good", "last write verified") : chip("warn", "last write not verified"), " ", moment("ago", v.at),
    clocks && ": " + clocks, v.detail && "; " + v.detail);
}

export function showNodes(box, status) {
  box.hidden = status.nodes.length === 0;
  listIn(box, status.nodes, "", (n) => n.name, (n) => h("li", {},
    h("strong", {}, n.name), n.own && " (this one)", " ",
    n.silent ? chip("bad", "silent") : n.blind ? chip("warn", "blind: its canary fails") : chip("good", "heard"),
    n.heard && [" ", moment("ago", n.heard)], h("span", { class: "small" }, " looks from ", n.vantage, ", on ", n.host, ", ", n.release, n.mute && "; " + n.mute)));
}
