// Keyboard, filters that apply at once, copying, and following a log that grows. Every page is complete without it.
"use strict";

const first = (selector, root = document) => root.querySelector(selector);
const rows = () => Array.from(document.querySelectorAll("[data-rows] tbody tr")).filter((row) => first("a.open", row));
const go = (link) => { if (link) { link.click(); return true; } return false; };
const typing = (target) => target.matches("input:not([type=hidden]), select, textarea, [contenteditable]");

// Rows: one is current; its link has the focus, so that Enter opens it without further help.
function step(direction) {
  const all = rows();
  if (!all.length) return go(first(direction > 0 ? "main a[rel=next]" : "main a[rel=prev]"));
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const here = at < 0 ? all.findIndex((row) => row.dataset.here) : at;
  if (direction < 0 && here === 0) return true;
  const next = all[here < 0 ? (direction > 0 ? 0 : all.length - 1) : here + direction];
  if (!next) return true;
  select(next);
  return true;
}

function select(row) {
  first("a.open", row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function up() {
  const dialog = first("dialog[open]");
  if (dialog) { dialog.close(); return true; }
  if (typing(document.activeElement)) { document.activeElement.blur(); return true; }
  const crumbs = document.querySelectorAll(".crumbs a");
  return go(first("[data-up]") || crumbs[crumbs.length - 1]);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => go(first("main a[rel=next]")),
  p: () => go(first("main a[rel=prev]")),
  "/": () => { const field = first("input[type=search]"); if (field) field.select(); return Boolean(field); },
  "?": () => { first("#keys").showModal(); return true; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { if (up()) event.preventDefault(); return; }
  if (typing(event.target) || first("dialog[open]")) return;
  const act = KEYS[event.key];
  if (act && act()) event.preventDefault();
});

document.addEventListener("click", async (event) => {
  const target = event.target;
  if (target.closest("#keys-open")) { first("#keys").showModal(); return; }
  const copy = target.closest("[data-copy]");
  if (copy) {
    try { await navigator.clipboard.writeText(copy.dataset.copy); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(first("code", copy.parentElement)); copy.textContent = "Selected"; }
    return;
  }
  const row = target.closest("[data-rows] tbody tr");
  if (row && !target.closest("a, button") && getSelection().isCollapsed) go(first("a.open", row));
});

// Filters: empty fields stay out of the URL.
const filters = first("#filters");
if (filters) {
  const submit = () => {
    for (const field of filters.elements) if (field.name && (!field.value || field.value === "log")) field.disabled = true;
    location.assign(filters.action + (new URLSearchParams(new FormData(filters)).size ? "?" + new URLSearchParams(new FormData(filters)) : ""));
  };
  filters.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  filters.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") submit(); });
  first("button[type=submit]", filters).classList.add("unseen");
  // On a phone the filters fold; those in use stay open.
  const fold = first("#fold");
  const folded = (yes) => { filters.classList.toggle("folded", yes); fold.setAttribute("aria-expanded", String(!yes)); fold.textContent = yes ? "More filters" : "Fewer filters"; };
  fold.hidden = false;
  folded(!Array.from(filters.elements).some((field) => field.tagName === "SELECT" && field.value && field.value !== "log"));
  fold.addEventListener("click", () => folded(!filters.classList.contains("folded")));
}
// A page that comes back from the history has its fields as they were left, disabled ones too.
addEventListener("pageshow", () => { if (filters) for (const field of filters.elements) field.disabled = false; });

const here = first("[data-here]");
if (here && document.activeElement === document.body) { select(here); here.scrollIntoView({ block: "center" }); }
const stepNow = first(".strip [aria-current]");
if (stepNow) stepNow.scrollIntoView({ block: "nearest", inline: "center" });

// Following: ask how far the log is read; when there is more, fetch this page again and put its parts in place.
const PAUSE_MS = 700;
async function follow() {
  const live = first("#live");
  if (!live || !live.dataset.follow) return;
  try {
    const status = await (await fetch(live.dataset.status)).json();
    const more = String(status.decisions) !== live.dataset.decisions || String(status.episodes) !== live.dataset.episodes;
    if (more || !(status.reading || status.live)) await renew();
  } catch { /* the viewer was stopped: the page stays as it is */ return; }
  setTimeout(follow, PAUSE_MS);
}

async function renew() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const focus = document.activeElement.closest("tr")?.id;
  for (const selector of ["#live", ".fault", "#result", ".quick", "main > .card", "main > .tiles"]) {
    if (selector === "main > .card" && first("#result, .split, .strip")) continue;
    const old = document.querySelectorAll(selector), fresh = page.querySelectorAll(selector);
    if (old.length === fresh.length) old.forEach((part, n) => part.replaceWith(document.adoptNode(fresh[n])));
  }
  if (focus) { const row = document.getElementById(focus); if (row) select(row); }
}
setTimeout(follow, PAUSE_MS);
