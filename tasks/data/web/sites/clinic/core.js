// Helpers of the site: seeded data, state in localStorage, a small DOM builder.
// Every site folder carries its own copy of this file, so that each folder can be served alone.
"use strict";

const ARENA = window.__ARENA__ || { seed: 1, params: {} };
const PARAMS = ARENA.params || {};

/** A seeded generator (mulberry32) for one named stream, so that one knob never shifts other data. */
function stream(name) {
  let state = Number(ARENA.seed) >>> 0;
  for (const letter of name) state = Math.imul(state ^ letter.codePointAt(0), 2654435761) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (low, high) => low + Math.floor(next() * (high - low + 1));
  const pick = (list) => list[int(0, list.length - 1)];
  const shuffle = (list) => {
    const copy = list.slice();
    for (let i = copy.length - 1; i > 0; i -= 1) {
      const j = int(0, i);
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  };
  return { next, int, pick, shuffle };
}

/** Build an element: attributes by name, listeners as on<event>, null and false are left out. */
function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

/** A labelled select; `choices` are labels or [value, label] pairs. */
function selectField(id, label, choices, current, onchange) {
  const options = choices.map((choice) => {
    const [value, text] = Array.isArray(choice) ? choice : [choice, choice];
    return h("option", { value, selected: String(value) === String(current) }, text);
  });
  const control = h("select", { id, onchange: (event) => onchange && onchange(event.target.value) }, options);
  return h("div", { class: "field" }, h("label", { for: id }, label), control);
}

/** A labelled one-line text field. */
function textField(id, label, current) {
  const control = h("input", { id, type: "text", autocomplete: "off", value: current || "" });
  return h("div", { class: "field" }, h("label", { for: id }, label), control);
}

/** A check box or radio button with its label at the right. */
function tick(type, id, name, label, checked, onchange) {
  const control = h("input", { type, id, name, checked, value: label, onchange });
  return h("div", { class: "tick" }, control, h("label", { for: id }, label));
}

/** Flat view of the app's data: lists of things with an id are entered by id, all else is a leaf. */
function entities(app) {
  const found = new Map();
  for (const [field, value] of Object.entries(app)) {
    const keyed = Array.isArray(value) && value.every((item) => item && item.id !== undefined);
    if (keyed) for (const item of value) found.set(`${field}.${item.id}`, item);
    else if (value && typeof value === "object" && !Array.isArray(value)) found.set(field, value);
    else found.set(field, { value });
  }
  return found;
}

/** What differs from the seeded start: `thing.field` -> new value, `thing` -> the new thing or null. */
function difference(before, after) {
  const [old, now] = [entities(before), entities(after)];
  const changes = {};
  for (const name of [...new Set([...old.keys(), ...now.keys()])].sort()) {
    const [was, is] = [old.get(name), now.get(name)];
    if (!was || !is) {
      changes[name] = is || null;
      continue;
    }
    for (const field of [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()) {
      if (JSON.stringify(was[field]) === JSON.stringify(is[field])) continue;
      changes[field === "value" && name.indexOf(".") < 0 ? name : `${name}.${field}`] = is[field];
    }
  }
  return changes;
}

/** The site's state: seeded by `build`, kept in localStorage under one key. */
class Store {
  constructor(key, build) {
    this.key = key;
    this.start = build();
    const saved = localStorage.getItem(key);
    const fresh = { app: JSON.parse(JSON.stringify(this.start)), visited: [], notice: "" };
    Object.assign(this, saved ? JSON.parse(saved) : fresh);
  }

  save() {
    const { app, visited, notice } = this;
    localStorage.setItem(this.key, JSON.stringify({ app, visited, notice }));
  }

  /** Log that a page or an item was looked at (once each, in order). */
  visit(what) {
    if (!this.visited.includes(what)) this.visited.push(what);
    this.save();
  }

  /** The message of the last action, shown once. */
  takeNotice() {
    const { notice } = this;
    this.notice = "";
    this.save();
    return notice;
  }

  snapshot(extra) {
    const page = location.pathname + location.search + location.hash;
    const diff = difference(this.start, this.app);
    return JSON.parse(JSON.stringify({ ...this.app, ...extra, visited: this.visited, diff, page }));
  }
}

const byId = (id) => document.getElementById(id);
const query = (name) => new URLSearchParams(location.search).get(name);
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
