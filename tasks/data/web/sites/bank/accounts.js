// The overview of the accounts, and the statement of one account.
"use strict";

/** The misleading short cut: repeats an old payment at once, as an instant transfer with a fee. */
function repeatBox() {
  const { to, amount } = PARAMS.repeat;
  const go = () =>
    addTransfer({ from: "a1", to, amount, fee: 2, reference: "Repeated payment", speed: "Instant" });
  return h(
    "section",
    { class: "tile hint", "aria-label": "Quick payment" },
    h("h2", {}, "Pay again"),
    h("p", {}, `Your last payment to ${to}: ${money(amount)}.`),
    h("button", { type: "button", onclick: go }, `Repeat ${money(amount)} to ${to}`),
  );
}

function showAccounts() {
  store.visit("accounts");
  const rows = ACCOUNTS.map((account) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: `account.html?id=${account.id}` }, account.name)),
      h("td", {}, account.number),
      h("td", { class: "num" }, money(balanceOf(account))),
    ),
  );
  const sent = store.app.transfers.map((transfer) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, transfer.to),
      h("td", {}, accountOf(transfer.from).name),
      h("td", {}, transfer.reference || "–"),
      h("td", {}, transfer.speed),
      h("td", { class: "num" }, money(transfer.amount)),
    ),
  );
  frame(
    h("h1", {}, "Accounts"),
    table("Your accounts", ["Account", "Number", "Balance"], rows),
    PARAMS.repeat ? repeatBox() : null,
    sent.length
      ? table("Transfers of today", ["Recipient", "From", "Reference", "Speed", "Amount"], sent)
      : null,
    h("p", {}, h("a", { class: "button", href: "transfer.html" }, "Send money")),
  );
}

const view = { month: "All months", sort: "day", down: true, page: 1 };
const ORDER = {
  day: (a, b) => MONTHS.indexOf(a.month) - MONTHS.indexOf(b.month) || a.day - b.day,
  text: (a, b) => a.text.localeCompare(b.text),
  amount: (a, b) => a.amount - b.amount,
};

function sortHeader(text, key) {
  const active = view.sort === key;
  const flip = () => {
    view.down = active ? !view.down : true;
    view.sort = key;
    view.page = 1;
    showAccount();
  };
  const state = !active ? "none" : view.down ? "descending" : "ascending";
  return h(
    "th",
    { scope: "col", "aria-sort": state },
    h(
      "button",
      { type: "button", class: "sort", "aria-label": `Sort by ${text.toLowerCase()}`, onclick: flip },
      `${text} ${!active ? "↕" : view.down ? "↓" : "↑"}`,
    ),
  );
}

function dispute(entry) {
  const choices = REASONS.map((reason, index) => tick("radio", `reason-${index}`, "reason", reason, false));
  ask(
    `Dispute ${money(entry.amount)} to ${entry.text}`,
    [
      h("p", {}, `Booked on ${entry.day} ${entry.month}.`),
      h("fieldset", { class: "tall" }, h("legend", {}, "Reason"), choices),
    ],
    "Cancel",
    "Send dispute",
    () => {
      const reason = document.querySelector("input[name=reason]:checked");
      if (!reason) return "Please choose a reason.";
      commit(
        () =>
          store.app.disputes.push({
            id: `d${store.app.disputes.length + 1}`,
            entry: entry.id,
            reason: reason.value,
          }),
        "Dispute sent.",
        showAccount,
      );
      return "";
    },
  );
}

function entryRow(entry) {
  const open = store.app.disputes.some((item) => item.entry === entry.id);
  const label = `Dispute ${money(entry.amount)} to ${entry.text}`;
  return h(
    "tr",
    {},
    h("td", {}, `${entry.day} ${entry.month}`),
    h("th", { scope: "row" }, entry.text),
    h("td", { class: "num" }, money(entry.amount)),
    h(
      "td",
      {},
      open
        ? "In dispute"
        : h(
            "button",
            { type: "button", class: "plain small", "aria-label": label, onclick: () => dispute(entry) },
            "Dispute",
          ),
    ),
  );
}

function showAccount() {
  const account = accountOf(query("id"));
  const size = 8;
  const found = ENTRIES.filter(
    (entry) => entry.account === account.id && (view.month === "All months" || entry.month === view.month),
  ).sort(ORDER[view.sort]);
  if (view.down) found.reverse();
  const pages = Math.max(1, Math.ceil(found.length / size));
  store.visit(`account:${account.id}`);
  store.visit(`statement:${account.id}:${view.month}:${view.sort}:${view.page}`);
  const choose = (value) => {
    view.month = value;
    view.page = 1;
    showAccount();
  };
  const go = (step) => () => {
    view.page += step;
    showAccount();
  };
  frame(
    h("h1", {}, account.name),
    h(
      "div",
      { class: "toolbar" },
      h("p", { class: "big" }, money(balanceOf(account))),
      selectField("month", "Month", ["All months", ...MONTHS], view.month, choose),
    ),
    table(
      "Statement",
      [sortHeader("Date", "day"), sortHeader("Recipient", "text"), sortHeader("Amount", "amount"), "Action"],
      found.slice((view.page - 1) * size, view.page * size).map(entryRow),
    ),
    h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      h("button", { type: "button", class: "plain", disabled: view.page === 1, onclick: go(-1) }, "Previous"),
      h("span", {}, `Page ${view.page} of ${pages}`),
      h("button", { type: "button", class: "plain", disabled: view.page >= pages, onclick: go(1) }, "Next"),
    ),
  );
}
