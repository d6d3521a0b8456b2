// Sorting and the baseline switch of the board. The page is complete without it.
"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const heads = Array.from(table.tHead.rows[0].cells);

// Missing values stay last, whichever way a column is sorted.
function sortBy(column, kind, direction) {
  const value = (row) => row.cells[column].dataset.value;
  const missing = (text) => text === "";
  const order = Array.from(body.rows);
  order.sort((a, b) => {
    const left = value(a), right = value(b);
    if (missing(left) || missing(right)) return missing(left) - missing(right);
    const difference = kind === "number" ? Number(left) - Number(right) : left < right ? -1 : left > right ? 1 : 0;
    return direction * difference;
  });
  body.append(...order);
}

for (const [column, head] of heads.entries()) {
  const button = head.querySelector("button");
  button.addEventListener("click", () => {
    const kind = button.dataset.kind;
    const now = head.getAttribute("aria-sort");
    const first = kind === "number" ? "descending" : "ascending";
    const next = now === null ? first : now === "descending" ? "ascending" : "descending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    sortBy(column, kind, next === "ascending" ? 1 : -1);
    document.getElementById("sorted").textContent = `Sorted by ${button.textContent}, ${next}`;
  });
}

const hide = document.getElementById("hide");
if (body.querySelector("tr.baseline")) {
  hide.hidden = false;
  hide.addEventListener("click", () => {
    const hidden = hide.getAttribute("aria-pressed") !== "true";
    hide.setAttribute("aria-pressed", String(hidden));
    for (const row of body.querySelectorAll("tr.baseline")) row.hidden = hidden;
  });
}
