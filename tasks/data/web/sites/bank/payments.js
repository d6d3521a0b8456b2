// New transfer with its confirmation, and the standing orders.
"use strict";

/** The transfer as the form describes it, or a problem to tell. */
function readTransfer() {
  const amount = Number(byId("amount").value.replace("$", "").trim());
  const from = accountOf(byId("from").value);
  const payee = PAYEES.find((candidate) => candidate.id === byId("to").value);
  const speed = document.querySelector("input[name=speed]:checked").value;
  const fee = speed === "Instant" ? 2 : 0;
  if (!payee) return { problem: "Please choose a recipient." };
  if (!(amount > 0)) return { problem: "Please type an amount in dollars." };
  if (amount > store.app.limits.daily)
    return { problem: `The amount is above your daily limit of ${money(store.app.limits.daily)}.` };
  if (amount + fee > balanceOf(from)) return { problem: `The balance of the ${from.name} is too low.` };
  return {
    transfer: {
      from: from.id,
      to: payee.name,
      amount,
      fee,
      reference: byId("reference").value.trim(),
      speed,
    },
  };
}

function reviewTransfer(event) {
  event.preventDefault();
  const { problem, transfer } = readTransfer();
  byId("problem").textContent = problem || "";
  if (problem) {
    store.visit("transfer:refused");
    return;
  }
  const text = `${money(transfer.amount)} from the ${accountOf(transfer.from).name} to ${transfer.to}, ${transfer.speed.toLowerCase()}${transfer.fee ? `, fee ${money(transfer.fee)}` : ""}.`;
  ask(
    "Send this transfer?",
    [h("p", {}, text), h("p", {}, `Reference: ${transfer.reference || "none"}`)],
    "Change it",
    "Confirm transfer",
    () => addTransfer(transfer),
  );
}

function showTransfer() {
  store.visit("transfer");
  const speeds = SPEEDS.map((speed, index) => tick("radio", `speed-${index}`, "speed", speed, index === 0));
  frame(
    h("h1", {}, "New transfer"),
    h(
      "form",
      { class: "sheet", onsubmit: reviewTransfer },
      selectField(
        "from",
        "From account",
        ACCOUNTS.map((account) => [account.id, `${account.name} (${money(balanceOf(account))})`]),
        ACCOUNTS[0].id,
      ),
      selectField(
        "to",
        "Recipient",
        [["", "Choose a recipient"], ...PAYEES.map((payee) => [payee.id, `${payee.name} · ${payee.number}`])],
        "",
      ),
      h(
        "div",
        { class: "pair" },
        textField("amount", "Amount in dollars"),
        textField("reference", "Reference"),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Speed"),
        speeds,
        h("span", { class: "hint-text" }, "Instant costs $2.00"),
      ),
      h("p", { id: "problem", class: "problem", role: "alert" }),
      h("button", { type: "submit" }, "Continue"),
    ),
    h("p", { class: "soft" }, "New recipients can be added at a branch only."),
  );
}

const shortLine = (order) => `${money(order.amount)} to ${order.payee}, day ${order.day} of each month.`;

function cancelOrder(order) {
  const cancel = () => {
    store.app.standing = store.app.standing.filter((other) => other !== order);
  };
  const act = () => commit(cancel, `Standing order to ${order.payee} cancelled.`, showStanding);
  ask("Cancel this standing order?", [h("p", {}, shortLine(order))], "Keep it", "Cancel standing order", act);
}

function changeAmount(order) {
  const content = [h("p", {}, shortLine(order)), textField("new-amount", "New amount in dollars")];
  ask(`Change the amount for ${order.payee}`, content, "Keep it", "Save amount", () => {
    const amount = Number(byId("new-amount").value.replace("$", "").trim());
    if (!(amount > 0)) return "Please type an amount.";
    commit(() => Object.assign(order, { amount }), `Amount for ${order.payee} changed.`, showStanding);
    return "";
  });
}

/** The buttons of the rows are alike on purpose: only the row tells which order they mean. */
function standingRow(order) {
  const next = order.state === "active" ? "paused" : "active";
  const flip = () =>
    commit(
      () => Object.assign(order, { state: next }),
      `Standing order to ${order.payee} is ${next}.`,
      showStanding,
    );
  const button = (text, onclick) => h("button", { type: "button", class: "plain small", onclick }, text);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, order.payee),
    h("td", { class: "num" }, money(order.amount)),
    h("td", {}, `day ${order.day}`),
    h("td", {}, order.state),
    h(
      "td",
      {},
      button(order.state === "active" ? "Pause" : "Resume", flip),
      " ",
      button("Change amount", () => changeAmount(order)),
      " ",
      button("Cancel order", () => cancelOrder(order)),
    ),
  );
}

function showStanding() {
  store.visit("standing");
  frame(
    h("h1", {}, "Standing orders"),
    store.app.standing.length
      ? table(
          "Monthly payments",
          ["Recipient", "Amount", "Day", "State", "Change"],
          store.app.standing.map(standingRow),
        )
      : h("p", { class: "empty" }, "No standing orders."),
  );
}
