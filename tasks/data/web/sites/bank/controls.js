// Cards, limits and alerts behind tabs, and the notices of the bank.
"use strict";

let currentTab = "Cards";

function cardRow(card) {
  const flip = () =>
    commit(
      () => {
        card.frozen = !card.frozen;
      },
      `${card.name} is ${card.frozen ? "active again" : "frozen"}.`,
      showControls,
    );
  const limit = h(
    "select",
    {
      "aria-label": `Monthly limit of ${card.name}`,
      onchange: (event) =>
        commit(
          () => {
            card.limit = Number(event.target.value);
          },
          `Limit of ${card.name} changed.`,
          showControls,
        ),
    },
    DAILY.map((amount) => h("option", { value: amount, selected: amount === card.limit }, `$${amount}`)),
  );
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, card.name),
    h("td", {}, card.frozen ? "frozen" : "active"),
    h("td", {}, limit),
    h(
      "td",
      {},
      h(
        "button",
        {
          type: "button",
          class: "plain small",
          "aria-pressed": String(card.frozen),
          "aria-label": `Freeze ${card.name}`,
          onclick: flip,
        },
        card.frozen ? "Unfreeze" : "Freeze",
      ),
    ),
  );
}

function settingsSheet(save, ...fields) {
  const submit = (event) => {
    event.preventDefault();
    commit(save, "Saved.", showControls);
  };
  return h("form", { class: "sheet", onsubmit: submit }, fields, h("button", { type: "submit" }, "Save"));
}

const TABS = {
  Cards: () =>
    table("Your cards", ["Card", "State", "Monthly limit", "Change"], store.app.cards.map(cardRow)),
  Limits: () => {
    const { limits } = store.app;
    const choices = DAILY.map((amount) => [amount, `$${amount}`]);
    const save = () =>
      Object.assign(limits, { daily: Number(byId("daily").value), online: Number(byId("online").value) });
    return settingsSheet(
      save,
      selectField("daily", "Daily limit for transfers", choices, limits.daily),
      selectField("online", "Daily limit for online shops", choices, limits.online),
    );
  },
  Alerts: () => {
    const { alerts } = store.app;
    const boxes = [
      ["login", "Tell me about new logins"],
      ["large", "Tell me about large payments"],
      ["low", "Tell me when the balance is low"],
    ];
    const save = () =>
      Object.assign(alerts, Object.fromEntries(boxes.map(([field]) => [field, byId(field).checked])), {
        threshold: Number(byId("threshold").value),
      });
    return settingsSheet(
      save,
      boxes.map(([field, text]) => tick("checkbox", field, field, text, alerts[field])),
      selectField(
        "threshold",
        "Low balance means less than",
        [50, 100, 200, 500].map((amount) => [amount, `$${amount}`]),
        alerts.threshold,
      ),
    );
  },
};

function showControls() {
  store.visit(`controls:${currentTab}`);
  const open = (name) => () => {
    currentTab = name;
    showControls();
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
    h("h1", {}, "Cards and limits"),
    h("div", { role: "tablist", "aria-label": "Cards and limits", class: "tabs" }, tabs),
    h("div", { role: "tabpanel", id: "panel", "aria-label": currentTab }, TABS[currentTab]()),
  );
}

function showNotices() {
  store.visit("notices");
  frame(
    h("h1", {}, "Notices"),
    NOTICES.map((notice, index) =>
      h("article", { class: "tile" }, h("h2", {}, `Notice ${index + 1}`), h("p", {}, notice.text)),
    ),
  );
}
