// Targets: verdict, cause, cooldown, and how long they take to answer.

import { approve } from "./acts.js";
import { chip, h, listIn, plain, setText } from "./dom.js";
import { moment, plural, verdictChip } from "./words.js";

const kept = 40; // samples of a sparkline
const few = 50; // rows that are shown before all are asked for
const size = { w: 80, h: 20 };
const order = ["down", "suspected", "unknown", "up"];

const samples = new Map(); // by target: what was seen since the page was opened

// learn takes the last results into the sparklines.
export function learn(targets) {
  const there = new Set();
  for (const t of targets) {
    there.add(t.id);
    if (!t.last) continue;
    const list = samples.get(t.id) ?? [];
    if (list.at(-1)?.at === t.last.at) continue;
    list.push({ at: t.last.at, ms: t.last.latency_ms, pass: t.last.result === "pass" });
    if (list.length > kept) list.shift();
    samples.set(t.id, list);
  }
  for (const id of samples.keys()) if (!there.has(id)) samples.delete(id);
}

// counts is by which verdict is decided: that of the vantages, where there are any.
export function counts(t) {
  return t.counted ?? t;
}

function wanted(t, find, trouble) {
  if (trouble && counts(t).verdict === "up" && t.cooldown.state === "eligible") return false;
  return !find || [t.id, t.phase, t.cause, t.detail, counts(t).verdict].join(" ").toLowerCase().includes(find);
}

let everyRow = false;

// showTargets lists those in trouble first, and, where there are many, the others
// only when they are asked for.
export function showTargets(box, count, more, status, find, trouble) {
  const shown = status.targets.filter((t) => wanted(t, find.trim().toLowerCase(), trouble));
  shown.sort((a, b) => order.indexOf(counts(a).verdict) - order.indexOf(counts(b).verdict));
  const all = status.targets.length;
  const found = shown.length;
  setText(count, found === all ? plural(all, "target", "targets") + ", those in trouble first" : `${found} of ${plural(all, "target", "targets")}`);
  const rest = everyRow ? 0 : Math.max(0, shown.length - few);
  more.hidden = rest === 0;
  setText(more, `Show ${rest} more`);
  more.onclick = () => {
    everyRow = true;
    showTargets(box, count, more, status, find, trouble);
  };
  shown.length -= rest;
  listIn(box, shown, all === 0 ? "The config names no target." : "No target is like that.", (t) => t.id, row, seen);
  for (const t of shown) beat(box.list.rows.get(t.id)?.node, t);
}

// seen leaves out what changes with each probe.
function seen(t) {
  const { passes, fails, unknowns, last, vantages, ...rest } = t;
  return counts(t).verdict === "up" && fails === 0 ? rest : { ...rest, passes, fails };
}

function row(t) {
  const c = counts(t);
  const way = [t.phase, t.cause].filter(Boolean).join("/");
  return h("li", { class: "target" },
    h("div", { class: "line" }, verdictChip(c.verdict), " ", h("code", {}, t.id), " ", h("span", { class: "muted" }, moment("for", c.since))),
    h("div", { class: "beat" }, spark(), h("span", { class: "latency" })),
    (way || t.detail) && h("p", { class: "small" }, way && h("strong", {}, way), " ", t.detail, t.fails > 0 && `, ${plural(t.fails, "failure", "failures")} in a row`),
    t.waiting === "canary" && h("p", { class: "small" }, "failed often enough to be down, and waits for the canary"),
    t.counted && h("p", { class: "small" }, c.detail, c.verdict !== t.verdict && "; here " + t.verdict),
    cooldown(t));
}

function cooldown(t) {
  switch (t.cooldown.state) {
    case "cooling":
      return h("p", { class: "small" }, chip("idle", "left alone ", t.cooldown.until && moment("until", t.cooldown.until)));
    case "probing":
      return h("p", { class: "small" }, chip("open", "probed again, on trial"));
    case "disabled":
      return h("p", { class: "small" }, chip("bad", "disabled"), " ", approve(t.address, `${t.id} is disabled: ${t.detail || t.cause}. With your yes it is probed again.`));
  }
  return null;
}

function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, plain(value));
  return element;
}

function spark() {
  const picture = svg("svg", { class: "spark", viewBox: `0 0 ${size.w} ${size.h}`, width: size.w, height: size.h, "aria-hidden": "true" });
  picture.append(svg("path", { class: "failed" }), svg("path", { class: "passed" }));
  return picture;
}

// beat draws the latencies of passes as a line, and what did not pass as a bar of
// full height.
function beat(node, t) {
  const list = samples.get(t.id);
  const newest = list?.at(-1);
  if (!node || !newest || node.beat === newest.at) return;
  node.beat = newest.at;
  setText(node.querySelector(".latency"), newest.pass ? milliseconds(newest.ms) : "no pass");
  const top = Math.max(1, ...list.filter((s) => s.pass).map((s) => s.ms));
  const x = (i) => (size.w - 1 - (list.length - 1 - i) * ((size.w - 2) / (kept - 1))).toFixed(1);
  const line = [];
  const bars = [];
  list.forEach((s, i) => {
    if (!s.pass) bars.push(`M${x(i)} 1V${size.h - 1}`);
    else line.push((i > 0 && list[i - 1].pass ? "L" : "M") + `${x(i)} ${(size.h - 2 - (s.ms / top) * (size.h - 4)).toFixed(1)}` + (line.length === 0 ? "h.1" : ""));
  });
  node.querySelector(".passed").setAttribute("d", line.join(""));
  node.querySelector(".failed").setAttribute("d", bars.join(""));
}

function milliseconds(ms) {
  return (ms < 10 ? ms.toFixed(1) : Math.round(ms)) + " ms";
}
