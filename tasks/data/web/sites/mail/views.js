// Message list, one message, search results and the compose dialog.
"use strict";

function inFolder(folder) {
  const { messages } = store.app;
  if (folder === "starred")
    return messages.filter((message) => message.starred && message.folder !== "trash");
  return messages.filter((message) => message.folder === folder);
}

function starButton(message) {
  const flip = () =>
    act(message, { starred: !message.starred }, message.starred ? "Star removed." : "Star added.");
  return h(
    "button",
    {
      type: "button",
      class: "star",
      "aria-pressed": String(message.starred),
      "aria-label": `Star ${message.subject}`,
      onclick: flip,
    },
    message.starred ? "★" : "☆",
  );
}

function messageRow(message) {
  return h(
    "tr",
    { class: isUnread(message) ? "unread" : null },
    h("td", { class: "slim" }, starButton(message)),
    h("th", { scope: "row" }, message.from),
    h(
      "td",
      {},
      h("a", { href: `#/message/${message.id}` }, message.subject),
      message.labels.map((label) => h("span", { class: "chip" }, label)),
    ),
    h("td", { class: "date" }, message.date),
  );
}

function sentRow(mail) {
  return h("tr", {}, h("th", { scope: "row" }, mail.to), h("td", {}, mail.subject), h("td", {}, mail.body));
}

function messageTable(caption, messages) {
  const head = ["Star", "From", "Subject", "Date"].map((name) => h("th", { scope: "col" }, name));
  return h(
    "table",
    { class: store.app.settings.density.toLowerCase() },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, messages.map(messageRow)),
  );
}

/** The misleading short cut: the whole folder at once instead of one message. */
function sweepButton(folder, messages) {
  const sweep = () => {
    for (const message of messages) message.folder = "trash";
    store.notice = `${messages.length} messages moved to trash.`;
    store.save();
    show();
  };
  return h("button", { type: "button", class: "danger", onclick: sweep }, `Clean up ${FOLDERS[folder]}`);
}

function showFolder(folder, number) {
  const size = Number(store.app.settings.pageSize);
  const messages = inFolder(folder);
  const pages = Math.max(1, Math.ceil(messages.length / size));
  const page = Math.min(Math.max(1, number), pages);
  store.visit(`folder:${folder}:${page}`);
  const link = (text, target) =>
    target >= 1 && target <= pages
      ? h("a", { href: `#/folder/${folder}/${target}` }, text)
      : h("span", { class: "off" }, text);
  const shown = messages.slice((page - 1) * size, page * size);
  const body =
    folder === "sent"
      ? [
          h(
            "table",
            {},
            h("caption", {}, "Sent messages"),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["To", "Subject", "Text"].map((name) => h("th", { scope: "col" }, name)),
              ),
            ),
            h("tbody", {}, store.app.sent.map(sentRow)),
          ),
        ]
      : [
          shown.length
            ? messageTable(FOLDERS[folder], shown)
            : h("p", { class: "empty" }, "No messages here."),
        ];
  frame(
    folder,
    h(
      "div",
      { class: "headline" },
      h("h1", {}, FOLDERS[folder]),
      h("span", { class: "soft" }, `${messages.length} messages`),
      PARAMS.sweep && messages.length ? sweepButton(folder, messages) : null,
    ),
    ...body,
    pages > 1
      ? h(
          "nav",
          { class: "pager", "aria-label": "Pages" },
          link("Newer", page - 1),
          h("span", {}, `Page ${page} of ${pages}`),
          link("Older", page + 1),
        )
      : null,
  );
}

function showSearch(text) {
  store.visit(`search:${text}`);
  const words = text.toLowerCase().split(" ").filter(Boolean);
  const found = store.app.messages.filter((message) => {
    const hay = `${message.from} ${message.subject} ${message.body}`.toLowerCase();
    return words.every((word) => hay.includes(word));
  });
  frame(
    "search",
    h(
      "div",
      { class: "headline" },
      h("h1", {}, `Results for “${text}”`),
      h("span", { class: "soft" }, `${found.length} messages`),
    ),
    found.length
      ? messageTable("Search results", found.slice(0, 12))
      : h("p", { class: "empty" }, "Nothing found."),
  );
}

function labelBox(message) {
  const add = (value) => {
    if (value !== "Choose a label")
      act(message, { labels: [...message.labels, value].sort() }, `Label ${value} added.`);
  };
  const left = LABELS.filter((label) => !message.labels.includes(label));
  const drop = (label) => () =>
    act(message, { labels: message.labels.filter((other) => other !== label) }, `Label ${label} removed.`);
  return h(
    "div",
    { class: "labels" },
    selectField("label", "Add label", ["Choose a label", ...left], "Choose a label", add),
    message.labels.map((label) =>
      h(
        "button",
        { type: "button", class: "chip", "aria-label": `Remove label ${label}`, onclick: drop(label) },
        `${label} ✕`,
      ),
    ),
  );
}

function showMessage(id) {
  const message = messageOf(id);
  store.visit(`message:${id}`);
  const home = `#/folder/${message.folder}/1`;
  const move = (text, folder, notice) =>
    h(
      "button",
      { type: "button", class: "plain", onclick: () => act(message, { folder }, notice, home) },
      text,
    );
  const moves = [
    ["Archive", "archive", "Archived."],
    ["Report spam", "spam", "Reported as spam."],
    ["Move to trash", "trash", "Moved to trash."],
    ["Move to inbox", "inbox", "Moved to the inbox."],
  ];
  frame(
    message.folder,
    h("p", { class: "crumbs" }, h("a", { href: home }, `Back to ${FOLDERS[message.folder]}`)),
    h(
      "article",
      { class: "message" },
      h("div", { class: "headline" }, h("h1", {}, message.subject), starButton(message)),
      h("p", { class: "soft" }, `${message.from} <${addressOf(message.from)}> · ${message.date}`),
      message.body.split("\n\n").map((part) => h("p", {}, part)),
      labelBox(message),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", onclick: () => compose(addressOf(message.from), `Re: ${message.subject}`, id) },
          "Reply",
        ),
        h("button", { type: "button", onclick: () => compose("", `Fwd: ${message.subject}`, id) }, "Forward"),
        moves.filter(([, folder]) => folder !== message.folder).map((move_) => move(...move_)),
      ),
    ),
  );
}

/** The dialog for a new message, a reply (address given) or a forwarded message (subject given). */
function compose(to, subject, reply) {
  const close = () => dialog.remove();
  const send = (event) => {
    event.preventDefault();
    const [address, title, text] = [
      to || byId("to").value.trim(),
      subject || byId("subject").value.trim(),
      byId("text").value.trim(),
    ];
    if (!address.includes("@") || !title || !text) {
      byId("problem").textContent = "An address, a subject and a text are needed.";
      return;
    }
    close();
    sendMail(address, title, text, reply);
  };
  const fixed = (name, text) => h("p", {}, h("span", { class: "soft" }, `${name}: `), text);
  const dialog = h(
    "dialog",
    { "aria-labelledby": "compose-title" },
    h(
      "form",
      { onsubmit: send },
      h("h2", { id: "compose-title" }, to ? "Reply" : subject ? "Forward" : "New message"),
      to ? fixed("To", to) : textField("to", "To"),
      subject ? fixed("Subject", subject) : textField("subject", "Subject"),
      h(
        "div",
        { class: "field" },
        h("label", { for: "text" }, "Message"),
        h("textarea", { id: "text", rows: 5 }),
      ),
      h("p", { id: "problem", role: "alert", class: "problem" }),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "plain", onclick: close }, "Discard"),
        h("button", { type: "submit" }, "Send"),
      ),
    ),
  );
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
}
