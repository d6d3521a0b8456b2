// The profile behind tabs, and the help page.
"use strict";

let currentTab = PARAMS.tab || "Contact";

function sheet(save, ...fields) {
  const submit = (event) => {
    event.preventDefault();
    commit(() => Object.assign(store.app.profile, save()), "Profile saved.", showProfile);
  };
  return h(
    "form",
    { class: "card", onsubmit: submit },
    fields,
    h("div", { class: "row" }, h("button", { type: "submit" }, "Save")),
  );
}

const CONSENTS = [
  ["sharing", "Share my results with other clinics"],
  ["research", "Use my data for research"],
  ["newsletter", "Send me the newsletter"],
];
const TABS = {
  Contact: (profile) =>
    sheet(
      () => ({ phone: byId("phone").value.trim(), city: byId("city").value.trim() }),
      textField("phone", "Phone", profile.phone),
      textField("city", "City", profile.city),
    ),
  Reminders: (profile) => {
    const ways = ["Text message", "E-mail", "No reminder"].map((name, index) =>
      tick("radio", `way-${index}`, "way", name, name === profile.reminder),
    );
    return sheet(
      () => ({ reminder: chosen("way"), ahead: Number(byId("ahead").value) }),
      h("fieldset", {}, h("legend", {}, "Remind me by"), ways),
      selectField(
        "ahead",
        "How long before the visit?",
        [
          [1, "1 day"],
          [2, "2 days"],
          [7, "1 week"],
        ],
        profile.ahead,
      ),
    );
  },
  Consents: (profile) =>
    sheet(
      () => Object.fromEntries(CONSENTS.map(([field]) => [field, byId(field).checked])),
      CONSENTS.map(([field, text]) => tick("checkbox", field, field, text, profile[field])),
      h(
        "details",
        {},
        h("summary", {}, "What do these consents mean?"),
        h("p", {}, "You can change each of them at any time. Your treatment does not depend on them."),
      ),
    ),
};

function showProfile() {
  store.visit(`profile:${currentTab}`);
  const open = (name) => () => {
    currentTab = name;
    showProfile();
  };
  const tabs = Object.keys(TABS).map((name) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(name === currentTab),
        "aria-controls": "panel",
        onclick: open(name),
      },
      name,
    ),
  );
  frame(
    h("h1", {}, "Profile"),
    h("div", { role: "tablist", "aria-label": "Profile", class: "tabs" }, tabs),
    h(
      "div",
      { role: "tabpanel", id: "panel", "aria-label": currentTab },
      TABS[currentTab](store.app.profile),
    ),
  );
}

function question(index, title, answer) {
  const body = h("p", { id: `answer-${index}`, hidden: true }, answer);
  const flip = (event) => {
    body.hidden = !body.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!body.hidden));
    if (!body.hidden) store.visit(`help:${index}`);
  };
  return h(
    "div",
    { class: "card slim" },
    h(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-expanded": "false",
        "aria-controls": `answer-${index}`,
        onclick: flip,
      },
      title,
    ),
    body,
  );
}

function showHelp() {
  store.visit("help");
  const guide = GUIDE.map((entry, index) =>
    question(
      index + 1,
      `Where do I go with ${entry.complaint}?`,
      `Our department of ${entry.department.toLowerCase()} is the right place for ${entry.complaint}.`,
    ),
  );
  frame(h("h1", {}, "Help"), guide, PARAMS.help_note ? h("p", { class: "remark" }, PARAMS.help_note) : null);
}
