// One issue (edit, close, labels, comments, activity) and the form of a new issue.
"use strict";

let activityOpen = false;

function editDialog(issue) {
  store.visit(`edit:${issue.id}`);
  const fields = [
    textField("edit-title", "Title", issue.title),
    selectField("edit-priority", "Priority", PRIORITY, issue.priority),
    selectField("edit-assignee", "Assignee", ASSIGNEES, issue.assignee),
    selectField("edit-milestone", "Milestone", MILESTONES, issue.milestone),
  ];
  ask(`Edit ${issue.id}`, fields, "Save changes", () => {
    const title = byId("edit-title").value.trim();
    if (!title) return "A title is needed.";
    commit(
      [issue],
      {
        title,
        priority: byId("edit-priority").value,
        assignee: byId("edit-assignee").value,
        milestone: byId("edit-milestone").value,
      },
      `${issue.id} saved.`,
      showIssue,
    );
    return "";
  });
}

function closeDialog(issue) {
  const choices = RESOLUTIONS.map((text, index) =>
    tick("radio", `resolution-${index}`, "resolution", text, false),
  );
  ask(
    `Close ${issue.id}?`,
    h("fieldset", { class: "tall" }, h("legend", {}, "Resolution"), choices),
    "Close now",
    () => {
      const chosen = document.querySelector("input[name=resolution]:checked");
      if (!chosen) return "Please choose a resolution.";
      commit(
        [issue],
        { status: "Closed", resolution: chosen.value },
        `${issue.id} closed as ${chosen.value.toLowerCase()}.`,
        showIssue,
      );
      return "";
    },
  );
}

function actions(issue) {
  const closed = issue.status === "Closed";
  const set = (changes, text) => () => commit([issue], changes, text, showIssue);
  return h(
    "div",
    { class: "row" },
    h("button", { type: "button", onclick: () => editDialog(issue) }, "Edit"),
    closed
      ? h(
          "button",
          {
            type: "button",
            class: "plain",
            onclick: set({ status: "Open", resolution: "" }, `${issue.id} is open again.`),
          },
          "Reopen issue",
        )
      : h("button", { type: "button", class: "plain", onclick: () => closeDialog(issue) }, "Close issue"),
    PARAMS.stale && !closed
      ? h(
          "button",
          {
            type: "button",
            class: "danger",
            onclick: set({ status: "Closed", resolution: "Not planned" }, `${issue.id} closed as stale.`),
          },
          "Close as stale",
        )
      : null,
    h(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-pressed": String(issue.watching),
        onclick: set({ watching: !issue.watching }, issue.watching ? "No longer watching." : "Watching."),
      },
      "Watch",
    ),
  );
}

function labelBoxes(issue) {
  const flip = (label) => () => {
    const labels = LABELS.filter((name) => (name === label) !== issue.labels.includes(name));
    commit([issue], { labels }, `Labels of ${issue.id} changed.`, showIssue);
  };
  return h(
    "fieldset",
    {},
    h("legend", {}, "Labels"),
    LABELS.map((label) =>
      tick("checkbox", `label-${label}`, "label", label, issue.labels.includes(label), flip(label)),
    ),
  );
}

function activity(issue) {
  const flip = () => {
    activityOpen = !activityOpen;
    if (activityOpen) store.visit(`activity:${issue.id}`);
    showIssue();
  };
  const lines = [
    `${issue.reporter} reported this issue with priority ${issue.before}.`,
    `The import script changed the priority from ${issue.before} to ${issueStart(issue).priority}.`,
  ];
  return h(
    "section",
    { class: "card" },
    h(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-expanded": String(activityOpen),
        "aria-controls": "activity",
        onclick: flip,
      },
      "Activity",
    ),
    h(
      "ul",
      { id: "activity", hidden: !activityOpen },
      lines.map((line) => h("li", {}, line)),
    ),
  );
}

const issueStart = (issue) => store.start.issues.find((other) => other.id === issue.id) || issue;

function comments(issue) {
  const add = (event) => {
    event.preventDefault();
    const text = byId("comment").value.trim();
    if (!text) return;
    store.app.comments.push({ id: `k${store.app.comments.length + 1}`, issue: issue.id, text });
    commit([], {}, "Comment added.", showIssue);
  };
  const own = store.app.comments.filter((comment) => comment.issue === issue.id);
  return h(
    "section",
    { class: "card", "aria-labelledby": "comments-title" },
    h("h2", { id: "comments-title" }, "Comments"),
    h("p", {}, h("strong", {}, `${issue.reporter}: `), issue.remark),
    own.map((comment) => h("p", {}, h("strong", {}, "You: "), comment.text)),
    h(
      "form",
      { class: "toolbar", onsubmit: add },
      textField("comment", "New comment"),
      h("button", { type: "submit" }, "Add comment"),
    ),
  );
}

function showIssue() {
  const issue = issueOf(query("id"));
  store.visit(`issue:${issue.id}`);
  document.title = `${issue.id} · Basalt`;
  const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  frame(
    h("p", { class: "crumbs" }, h("a", { href: "index.html" }, "Back to the list")),
    h("h1", {}, nameOf(issue)),
    h(
      "section",
      { class: "card" },
      h(
        "dl",
        { class: "facts" },
        fact("Status", badge(issue.status)),
        fact("Priority", badge(issue.priority)),
        fact("Assignee", issue.assignee),
        fact("Milestone", issue.milestone),
        fact("Votes", String(issue.votes)),
        fact("Resolution", issue.resolution || "–"),
      ),
      actions(issue),
      labelBoxes(issue),
    ),
    activity(issue),
    comments(issue),
  );
}

function showNew() {
  store.visit("new");
  const create = (event) => {
    event.preventDefault();
    const title = byId("title").value.trim();
    if (!title) {
      byId("problem").textContent = "A title is needed.";
      return;
    }
    const id = `B-${101 + store.app.issues.length}`;
    const labels = LABELS.filter((label) => byId(`new-${label}`).checked);
    store.app.issues.push({
      id,
      title,
      status: "Open",
      priority: byId("priority").value,
      assignee: byId("assignee").value,
      milestone: byId("milestone").value,
      labels,
      votes: 0,
      age: 0,
      watching: byId("watching").checked,
      resolution: "",
      before: byId("priority").value,
      remark: "Created.",
      reporter: "You",
    });
    store.notice = `${id} created.`;
    store.save();
    location.href = `issue.html?id=${id}`;
  };
  frame(
    h("h1", {}, "New issue"),
    h(
      "form",
      { class: "card sheet", onsubmit: create },
      textField("title", "Title"),
      h(
        "div",
        { class: "toolbar" },
        selectField("priority", "Priority", PRIORITY, "Medium"),
        selectField("assignee", "Assignee", ASSIGNEES, "Nobody"),
        selectField("milestone", "Milestone", MILESTONES, "None"),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Labels"),
        LABELS.map((label) => tick("checkbox", `new-${label}`, "new-label", label, false)),
      ),
      tick("checkbox", "watching", "watching", "Watch this issue", true),
      h("p", { id: "problem", class: "problem", role: "alert" }),
      h("button", { type: "submit" }, "Create issue"),
    ),
  );
}
