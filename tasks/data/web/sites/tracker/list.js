// The list of issues: filters, sorting, pages, several at once; and the team page.
"use strict";

const ANY = "Any";
const view = {
  text: "",
  status: ANY,
  priority: ANY,
  assignee: ANY,
  sort: "id",
  down: false,
  page: 1,
  chosen: [],
};
const ORDER = {
  id: (a, b) => Number(a.id.slice(2)) - Number(b.id.slice(2)),
  priority: (a, b) => PRIORITY.indexOf(a.priority) - PRIORITY.indexOf(b.priority) || ORDER.id(a, b),
  votes: (a, b) => a.votes - b.votes,
  age: (a, b) => a.age - b.age,
};

function update(changes) {
  Object.assign(view, { page: 1, chosen: [] }, changes);
  showList();
}

function filters() {
  const submit = (event) => {
    event.preventDefault();
    store.visit(`search:${byId("text").value.trim()}`);
    update({ text: byId("text").value.trim() });
  };
  const pickers = [
    ["status", "Status", STATUS],
    ["priority", "Priority", PRIORITY],
    ["assignee", "Assignee", ASSIGNEES],
  ].map(([field, label, choices]) =>
    selectField(field, label, [ANY, ...choices], view[field], (value) => update({ [field]: value })),
  );
  return h(
    "form",
    { class: "toolbar", onsubmit: submit },
    textField("text", "Find in titles", view.text),
    h("button", { type: "submit", class: "plain" }, "Find"),
    pickers,
  );
}

function sortHeader(text, key) {
  const active = view.sort === key;
  const flip = () => update({ sort: key, down: active ? !view.down : key !== "id" });
  return h(
    "th",
    { scope: "col", "aria-sort": !active ? "none" : view.down ? "descending" : "ascending" },
    h(
      "button",
      { type: "button", class: "sort", "aria-label": `Sort by ${text.toLowerCase()}`, onclick: flip },
      `${text} ${!active ? "↕" : view.down ? "↓" : "↑"}`,
    ),
  );
}

/** A cell that can be changed in place when the list is in quick edit mode. */
function cell(issue, field, choices) {
  if (!PARAMS.quick_edit) return h("td", {}, field === "assignee" ? issue[field] : badge(issue[field]));
  const change = (event) =>
    commit(
      [issue],
      { [field]: event.target.value },
      `${issue.id}: ${field} is now ${event.target.value}.`,
      showList,
    );
  return h(
    "td",
    {},
    h(
      "select",
      { "aria-label": `${field[0].toUpperCase()}${field.slice(1)} of ${issue.id}`, onchange: change },
      choices.map((choice) => h("option", { value: choice, selected: choice === issue[field] }, choice)),
    ),
  );
}

function issueRow(issue) {
  const flip = () => {
    view.chosen = view.chosen.includes(issue.id)
      ? view.chosen.filter((id) => id !== issue.id)
      : [...view.chosen, issue.id];
    showList();
  };
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Choose ${issue.id}`,
    checked: view.chosen.includes(issue.id),
    onchange: flip,
  });
  return h(
    "tr",
    {},
    PARAMS.bulk ? h("td", { class: "slim" }, box) : null,
    h("td", {}, issue.id),
    h("th", { scope: "row" }, h("a", { href: `issue.html?id=${issue.id}` }, issue.title)),
    cell(issue, "status", STATUS),
    cell(issue, "priority", PRIORITY),
    cell(issue, "assignee", ASSIGNEES),
    h("td", { class: "num" }, String(issue.votes)),
    h("td", { class: "num" }, `${issue.age} d`),
  );
}

/** Changes for all chosen issues at once; closing the whole list is the misleading short cut. */
function bulkBar(found) {
  const apply = () => {
    const target = byId("bulk-status").value;
    if (!view.chosen.length || target === "Choose a status") {
      store.notice = "Choose issues and a status first.";
      showList();
      return;
    }
    const issues = view.chosen.map(issueOf);
    view.chosen = [];
    commit(issues, { status: target }, `${issues.length} issues are now ${target.toLowerCase()}.`, showList);
  };
  const sweep = () =>
    commit(
      found,
      { status: "Closed", resolution: "Not planned" },
      `${found.length} issues closed.`,
      showList,
    );
  return h(
    "div",
    { class: "toolbar bulk" },
    h("span", {}, `${view.chosen.length} chosen`),
    selectField("bulk-status", "New status", ["Choose a status", ...STATUS], "Choose a status"),
    h("button", { type: "button", class: "plain", onclick: apply }, "Apply to chosen"),
    PARAMS.sweep
      ? h("button", { type: "button", class: "danger", onclick: sweep }, "Close all in this list")
      : null,
  );
}

function foundIssues() {
  const words = view.text.toLowerCase().split(" ").filter(Boolean);
  const fits = (issue, field) => view[field] === ANY || issue[field] === view[field];
  const found = store.app.issues
    .filter((issue) => ["status", "priority", "assignee"].every((field) => fits(issue, field)))
    .filter((issue) => words.every((word) => issue.title.toLowerCase().includes(word)))
    .sort(ORDER[view.sort]);
  return view.down ? found.reverse() : found;
}

function issueTable(issues) {
  const plain = (text) => h("th", { scope: "col" }, text);
  const head = [
    PARAMS.bulk ? plain("Choose") : null,
    sortHeader("Key", "id"),
    plain("Title"),
    plain("Status"),
    sortHeader("Priority", "priority"),
    plain("Assignee"),
    sortHeader("Votes", "votes"),
    sortHeader("Age", "age"),
  ];
  return h(
    "table",
    {},
    h("caption", {}, "Issues of the project"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, issues.map(issueRow)),
  );
}

function pager(pages) {
  const button = (text, step, disabled) => {
    const onclick = () => {
      view.page += step;
      showList();
    };
    return h("button", { type: "button", class: "plain", disabled, onclick }, text);
  };
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    button("Previous", -1, view.page === 1),
    h("span", {}, `Page ${view.page} of ${pages}`),
    button("Next", 1, view.page === pages),
  );
}

function showList() {
  const found = foundIssues();
  const size = PARAMS.per_page || 10;
  const pages = Math.max(1, Math.ceil(found.length / size));
  store.visit(`list:${view.status}:${view.priority}:${view.assignee}:${view.sort}:${view.page}`);
  const shown = found.slice((view.page - 1) * size, view.page * size);
  frame(
    h(
      "div",
      { class: "headline" },
      h("h1", {}, "Issues"),
      h("span", { class: "soft" }, `${found.length} found`),
    ),
    PARAMS.filters === false ? null : filters(),
    PARAMS.bulk ? bulkBar(found) : null,
    shown.length ? issueTable(shown) : h("p", { class: "empty" }, "No issue matches."),
    pages > 1 ? pager(pages) : null,
  );
}

function showTeam() {
  store.visit("team");
  const row = (name) => {
    const open = store.app.issues.filter(
      (issue) => issue.assignee === name && issue.status !== "Closed",
    ).length;
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "num" }, String(open)));
  };
  frame(
    h("h1", {}, "Team"),
    h(
      "table",
      {},
      h("caption", {}, "Members of the project"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Member", "Open issues"].map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h("tbody", {}, MEMBERS.map(row)),
    ),
    h(
      "p",
      { class: "soft" },
      "Only members can be assigned. New members are added by the owner of the project.",
    ),
  );
}
