// What a person can do here, and what the daemon says that comes of it.

import { ask } from "./api.js";
import { clock } from "./clock.js";
import { h } from "./dom.js";
import { open } from "./dialog.js";
import { overrideWords, plural, short, typeWords } from "./words.js";

let after = () => {}; // looks again, once a word was said

export function whenSaid(look) {
  after = look;
}

function button(act, label, about, run) {
  return h("button", { type: "button", "data-act": act, "aria-label": label + " " + about, onclick: run }, label + (about === "all" ? " all…" : "…"));
}

async function say(path, body) {
  const answer = await ask(path, body);
  after();
  return answer;
}

// overrule is a button for a word with a reason and an end.
function overrule(kind, target, label, lead) {
  const words = (word) => ({ kind, target, for: word.for, reason: word.reason || "not said yet" });
  return button(kind + " " + target, label, short(target), () => open({
    title: label + " " + (target === "all" ? "all" : short(target)), lead, verb: label, wants: true,
    preview: async (word) => outcome(await ask("override", { ...words(word), dry_run: true })),
    send: async (word) => outcome(await say("override", words(word))),
  }));
}

export function drain(target, what) {
  return overrule("drain", target, "Drain", `Takes ${what} out of the answer for planned work, and back at the end. The probes go on, nobody is alarmed.`);
}

export function freeze(target, what) {
  return overrule("freeze", target, "Freeze", `Writes nothing to ${what} until the end, and goes on probing. What has changed by then is written then.`);
}

// takeBack is a button that ends an override before its time.
export function takeBack(o, label = "Take back") {
  const body = { target: o.target, kind: o.kind };
  return button("clear " + o.kind + " " + o.target, label, overrideWords(o), () => open({
    title: "Take back: " + overrideWords(o), lead: `It was said by ${o.by}: ${o.reason}`, verb: label,
    preview: async () => outcome(await ask("override/clear", { ...body, dry_run: true })),
    send: async () => outcome(await say("override/clear", body)),
  }));
}

// approve is a button for a person's yes: to what, in words, and to which plan of a
// zone where it is one.
export function approve(target, why, plan) {
  return button("approve " + target, "Approve", short(target), () => open({
    title: "Approve " + short(target), lead: why, verb: "Approve",
    send: async () => approved(await say("approve", plan ? { target, plan } : { target })),
  }));
}

function approved(a) {
  if (a.noted) return [`noted: ${short(a.approved)}; ${a.noted}`];
  if (a.idle) return [a.idle, a.here].filter(Boolean);
  return [`approved: ${short(a.approved)}; ` + (a.here || (a.leader ? a.leader + " leads and goes on with it now" : "the daemon goes on with it now"))];
}

// outcome says what comes of a word, a line each.
export function outcome(o) {
  if (o.idle) return [o.idle, o.here].filter(Boolean);
  const lines = [];
  if (o.noted) lines.push(o.noted);
  if (!o.dry_run) {
    const word = o.override ? [o.override] : o.replaced;
    for (const w of word) lines.push((o.override ? "said: " : "cleared: ") + overrideWords(w) + (w.until ? " until " + clock(w.until) : ""));
  }
  const moving = o.records.filter((r) => !r.known || r.in.length + r.out.length + r.stays.length > 0);
  const most = 8;
  for (const r of moving.slice(0, most)) for (const line of becomes(r)) lines.push(`${short(r.name)} ${typeWords(r.type, r.variant)}: ${line}`);
  if (moving.length > most) lines.push(`and ${moving.length - most} more record sets`);
  const same = o.records.length - moving.length;
  if (same > 0) lines.push(`${plural(same, "record set goes", "record sets go")} on answering as now`);
  if (o.here) lines.push(o.here);
  else if (o.leader && !o.noted) lines.push(o.leader + " leads and acts on it");
  return lines;
}

// becomes says what becomes of one record set.
function becomes(r) {
  if (!r.known) return ["what happens is not known yet"];
  const lines = r.stays.map((s) => `${s.value} cannot go out: ${s.reason}`);
  const moves = [];
  if (r.out.length > 0) moves.push(r.out.join(", ") + (r.out.length === 1 ? " goes out" : " go out"));
  if (r.in.length > 0) moves.push(r.in.join(", ") + (r.in.length === 1 ? " comes in" : " come in"));
  if (moves.length > 0) lines.push(moves.join(", ") + (r.at ? " at " + clock(r.at) : "") + "; then live: " + (r.live.join(", ") || "nothing"));
  if (r.waits) lines.push(`waits until ${clock(r.waits.until)}: ${r.waits.why}`);
  if (r.down.length > 0) lines.push("WARNING: down by its probes, and taken for usable until that word ends: " + r.down.join(", "));
  for (const b of r.blocked) lines.push(`not before guard ${b.guard} lets it: ${b.detail}`);
  if (r.noted) lines.push(r.noted);
  if (r.error) lines.push("its zone cannot be written now: " + r.error);
  return lines;
}
