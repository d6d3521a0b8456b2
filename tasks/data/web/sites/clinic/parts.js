// Parts that every page uses: frame with the day and a session number, dialog, change and show again.
"use strict";

const SESSION = Math.floor(Math.random() * 0x10000)
  .toString(16)
  .toUpperCase()
  .padStart(4, "0");

function frame(...content) {
  const links = [
    ["index.html", "My visits"],
    ["book.html", "Book a visit"],
    ["profile.html", "Profile"],
    ["help.html", "Help"],
  ];
  const notice = store.takeNotice();
  const here = location.pathname.slice(1) || "index.html";
  const today = new Date().toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
  document.body.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("span", { class: "brand" }, "Fernhill Clinic"),
      h(
        "nav",
        { "aria-label": "Main" },
        links.map(([href, text]) => h("a", { href, "aria-current": href === here ? "page" : null }, text)),
      ),
      h("span", { class: "day" }, today),
    ),
    h(
      "main",
      {},
      h("p", { class: "notice", role: "status", hidden: !notice }, notice),
      content.filter(Boolean),
    ),
    h("footer", {}, `Session ${SESSION}`),
  );
}

/** A modal dialog with a way back and one action. */
function ask(title, content, back, action, act) {
  const close = () => dialog.remove();
  const submit = (event) => {
    event.preventDefault();
    act();
    close();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h(
      "form",
      { onsubmit: submit },
      h("h2", { id: "dialog-title" }, title),
      content,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "button", class: "plain", onclick: close }, back),
        h("button", { type: "submit" }, action),
      ),
    ),
  );
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
}

function commit(change, text, again) {
  change();
  store.notice = text;
  store.save();
  again();
}

const chosen = (name) => (document.querySelector(`input[name=${name}]:checked`) || { value: "" }).value;
