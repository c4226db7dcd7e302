// Elements, from text only: nothing here or elsewhere makes HTML out of a string.

import { localTimes } from "./clock.js";

// What would hide or turn the text around it is shown as its code point: control
// characters, and those that change the direction of writing.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function plain(text) {
  return String(text ?? "").replace(hidden, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// h makes an element. Attributes with a false or missing value are left out; "on…"
// takes a function. Children are elements, texts, lists of them, or nothing.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : plain(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : localTimes(plain(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

export function setText(element, text) {
  const shown = localTimes(plain(text));
  if (element.textContent !== shown) element.textContent = shown;
}

// sync brings the children of an element in line with a list of items: the rows of
// items that did not change are kept, so that a thousand of them cost little and
// whoever reads or selects is not disturbed. key tells items apart, draw makes a
// row, and seen is what of an item can be seen.
export function sync(parent, items, key, draw, seen = (item) => item) {
  const old = parent.rows ?? new Map();
  const rows = new Map();
  if (!parent.rows) parent.replaceChildren();
  let next = parent.firstElementChild;
  for (const item of items) {
    let id = key(item);
    while (rows.has(id)) id += " again";
    const state = JSON.stringify(seen(item));
    let row = old.get(id);
    if (row && row.state !== state) {
      const node = draw(item);
      if (row.node === next) next = node;
      row.node.replaceWith(node);
      row = { state, node };
    }
    row ??= { state, node: draw(item) };
    rows.set(id, row);
    if (row.node === next) next = next.nextElementSibling;
    else parent.insertBefore(row.node, next);
  }
  for (const [id, row] of old) if (!rows.has(id)) row.node.remove();
  parent.rows = rows;
}

// keepingFocus redraws, and leaves the focus on the button that is now in the place
// of the one that had it: buttons are told apart by data-act.
export function keepingFocus(redraw) {
  const had = document.activeElement?.dataset?.act;
  redraw();
  if (!had || document.activeElement?.dataset?.act === had) return;
  if (document.activeElement && document.activeElement !== document.body) return;
  document.querySelector(`[data-act="${CSS.escape(had)}"]`)?.focus();
}

// chip is a state as a mark and a word: the colour only repeats what they say.
const marks = {
  good: "✓", bad: "✕", warn: "!", idle: "‖", off: "–", open: "?",
};

export function chip(look, ...words) {
  return h("span", { class: "chip " + look }, h("span", { "aria-hidden": "true" }, marks[look] + " "), words);
}

export function empty(text) {
  return h("p", { class: "muted" }, text);
}

// listIn shows items as a list in a box, or says that there are none.
export function listIn(box, items, none, key, draw, seen) {
  if (!box.list) {
    box.list = h("ul", { class: "rows" });
    box.none = empty(none);
    fill(box, box.list, box.none);
  }
  box.list.hidden = items.length === 0;
  box.none.hidden = items.length > 0;
  sync(box.list, items, key, draw, seen);
}
