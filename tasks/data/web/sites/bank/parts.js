// Parts that every page uses: frame, table, dialog.
"use strict";

function frame(...content) {
  const links = [
    ["index.html", "Accounts"],
    ["transfer.html", "New transfer"],
    ["standing.html", "Standing orders"],
    ["controls.html", "Cards and limits"],
    ["notices.html", "Notices"],
  ];
  const notice = store.takeNotice();
  const here = location.pathname.slice(1) || "index.html";
  document.body.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("span", { class: "brand" }, "Tidewater Credit"),
      h(
        "nav",
        { "aria-label": "Main" },
        links.map(([href, text]) => h("a", { href, "aria-current": href === here ? "page" : null }, text)),
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

/** A table: `columns` are header texts or header cells. */
function table(caption, columns, rows) {
  const head = columns.map((column) =>
    typeof column === "string" ? h("th", { scope: "col" }, column) : column,
  );
  return h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

/** A modal dialog with a way back and one action; `act` returns a problem to show, or nothing. */
function ask(title, content, back, action, act) {
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
        h("button", { type: "button", class: "plain", onclick: close }, back),
        h("button", { type: "submit" }, action),
      ),
    ),
  );
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
}

/** Change the state, say so, and show the page again. */
function commit(change, text, again) {
  change();
  store.notice = text;
  store.save();
  again();
}
