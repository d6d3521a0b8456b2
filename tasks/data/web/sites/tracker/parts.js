// Parts that every page uses: frame, dialog, change and show again.
"use strict";

function frame(...content) {
  const links = [
    ["index.html", "Issues"],
    ["new.html", "New issue"],
    ["team.html", "Team"],
  ];
  const notice = store.takeNotice();
  document.body.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("span", { class: "brand" }, "Basalt"),
      h(
        "nav",
        { "aria-label": "Main" },
        links.map(([href, text]) => h("a", { href }, text)),
      ),
    ),
    h(
      "main",
      {},
      h("p", { class: "notice", role: "status", hidden: !notice }, notice),
      content.filter(Boolean),
    ),
  );
}

/** A modal dialog with a way back and one action; `act` returns a problem to show, or nothing. */
function ask(title, content, action, act) {
  const close = () => dialog.remove();
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    const text = act();
    if (text) problem.textContent = text;
    else close();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h(
      "form",
      { onsubmit: submit },
      h("h2", { id: "dialog-title" }, title),
      content,
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "plain", onclick: close }, "Cancel"),
        h("button", { type: "submit" }, action),
      ),
    ),
  );
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
}

/** Apply changes to issues, say so, and show the page again. */
function commit(issues, changes, text, again) {
  for (const issue of issues) Object.assign(issue, changes);
  store.notice = text;
  store.save();
  again();
}

const badge = (text) => h("span", { class: `badge ${text.toLowerCase().replace(" ", "-")}` }, text);
