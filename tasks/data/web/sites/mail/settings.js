// The settings page: tabs whose forms change something only when saved.
"use strict";

function saveSettings(changes, text) {
  Object.assign(store.app.settings, changes);
  store.notice = text;
  store.save();
  show();
}

function settingsForm(save, ...fields) {
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  return h(
    "form",
    { class: "sheet", onsubmit: submit },
    fields,
    h("button", { type: "submit" }, "Save changes"),
  );
}

function generalTab(settings) {
  const densities = ["Comfortable", "Compact"].map((name) =>
    tick("radio", `density-${name}`, "density", name, settings.density === name),
  );
  const save = () =>
    saveSettings(
      {
        density: document.querySelector("input[name=density]:checked").value,
        pageSize: Number(byId("page-size").value),
      },
      "General settings saved.",
    );
  return settingsForm(
    save,
    h("fieldset", {}, h("legend", {}, "Density"), densities),
    selectField("page-size", "Messages per page", [5, 8, 10, 12], settings.pageSize),
  );
}

function awayTab(settings) {
  const save = () =>
    saveSettings(
      { away: byId("away").checked, awayText: byId("away-text").value.trim() },
      "Absence settings saved.",
    );
  return settingsForm(
    save,
    tick("checkbox", "away", "away", "Send automatic replies", settings.away),
    textField("away-text", "Text of the reply", settings.awayText),
  );
}

function forwardTab(settings) {
  const save = () => saveSettings({ forward: byId("forward").value.trim() }, "Forwarding saved.");
  const stop = () => saveSettings({ forward: "" }, "Forwarding stopped.");
  return h(
    "div",
    {},
    settingsForm(
      save,
      h("p", {}, settings.forward ? `Copies go to ${settings.forward}.` : "No copies are forwarded."),
      textField("forward", "Forward a copy to", settings.forward),
    ),
    settings.forward
      ? h("button", { type: "button", class: "danger", onclick: stop }, "Stop forwarding")
      : null,
  );
}

function notifyTab(settings) {
  const boxes = [
    ["notifyNew", "Notify me of new messages"],
    ["notifyWeekly", "Send a weekly summary"],
    ["sound", "Play a sound"],
  ];
  const save = () =>
    saveSettings(
      Object.fromEntries(boxes.map(([field]) => [field, byId(field).checked])),
      "Notification settings saved.",
    );
  return settingsForm(
    save,
    boxes.map(([field, text]) => tick("checkbox", field, field, text, settings[field])),
  );
}

function ruleRow(rule) {
  const flip = () => {
    rule.on = !rule.on;
    store.notice = rule.on ? "Rule switched on." : "Rule switched off.";
    store.save();
    show();
  };
  const ask = () => {
    const close = () => dialog.remove();
    const remove = () => {
      close();
      store.app.rules = store.app.rules.filter((other) => other !== rule);
      store.notice = "Rule deleted.";
      store.save();
      show();
    };
    const dialog = h(
      "dialog",
      { "aria-labelledby": "ask-title" },
      h("h2", { id: "ask-title" }, "Delete this rule?"),
      h("p", {}, `${rule.from}: ${rule.action.toLowerCase()}.`),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "plain", onclick: close }, "Keep rule"),
        h("button", { type: "button", class: "danger", onclick: remove }, "Delete rule"),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  };
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, rule.from),
    h("td", {}, rule.action),
    h("td", {}, rule.on ? "on" : "off"),
    h(
      "td",
      {},
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": `Switch ${rule.on ? "off" : "on"} rule for ${rule.from}`,
          onclick: flip,
        },
        rule.on ? "Switch off" : "Switch on",
      ),
      " ",
      h(
        "button",
        { type: "button", class: "plain", "aria-label": `Delete rule for ${rule.from}`, onclick: ask },
        "Delete",
      ),
    ),
  );
}

function rulesTab() {
  const head = ["Sender", "Action", "State", "Change"].map((name) => h("th", { scope: "col" }, name));
  return h(
    "table",
    {},
    h("caption", {}, "Rules for incoming mail"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, store.app.rules.map(ruleRow)),
  );
}

const SETTINGS = {
  General: generalTab,
  Absence: awayTab,
  Forwarding: forwardTab,
  Notifications: notifyTab,
  Rules: rulesTab,
};

function showSettings(name) {
  store.visit(`settings:${name}`);
  const tabs = Object.keys(SETTINGS).map((tab) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(tab === name),
        "aria-controls": "panel",
        onclick: () => go(`#/settings/${tab}`),
      },
      tab,
    ),
  );
  frame(
    "settings",
    h("h1", {}, "Settings"),
    h("div", { role: "tablist", "aria-label": "Settings", class: "tabs" }, tabs),
    h(
      "div",
      { role: "tabpanel", id: "panel", "aria-label": name, class: "panel" },
      SETTINGS[name](store.app.settings),
    ),
  );
}
