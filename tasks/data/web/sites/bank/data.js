// Accounts, statements, payees, standing orders and cards, all from the seed.
"use strict";

const PLACES = [
  "Birch",
  "Cedar",
  "Harbour",
  "Summit",
  "Valley",
  "Lagoon",
  "Meadow",
  "Orchard",
  "Quarry",
  "Ridge",
];
const TRADES = ["Water", "Rentals", "Insurance", "Internet", "Fitness", "School", "Garage", "Market"];
const MONTHS = ["January", "February", "March", "April"];
const REASONS = ["I do not know this payment", "The amount is wrong", "It was charged twice"];
const SPEEDS = ["Standard", "Instant"];
const DAILY = [500, 1000, 2000, 5000];

function tradeNames(count) {
  const random = stream("trades");
  return random
    .shuffle(PLACES.flatMap((place) => TRADES.map((trade) => `${place} ${trade}`)))
    .slice(0, count);
}

/** Look-alike payees share the first payee's name and differ by one more word. */
function buildPayees() {
  const random = stream("payees");
  const names = tradeNames(PARAMS.payees || 5);
  const twins = ["Group", "Services", "Holding"]
    .slice(0, PARAMS.lookalikes || 0)
    .map((word) => `${names[0]} ${word}`);
  const all = [...names, ...twins, ...(PARAMS.extra_payees || [])];
  return random
    .shuffle(all)
    .map((name, index) => ({ id: `b${index + 1}`, name, number: `${random.int(1000, 9999)}` }));
}

function buildAccounts() {
  const random = stream("accounts");
  return ["Everyday account", "Savings account", "Household account"]
    .slice(0, PARAMS.accounts || 3)
    .map((name, index) => ({
      id: `a${index + 1}`,
      name,
      number: `40 ${random.int(1000, 9999)} ${random.int(1000, 9999)}`,
      opening: random.int(1800, 6400),
    }));
}

/** Statement entries, newest first; every amount is different, so that "the largest" is one entry. */
function buildEntries(accounts) {
  const random = stream("entries");
  const names = tradeNames(14);
  const amounts = random.shuffle([...Array(380).keys()].map((step) => step + 8));
  const count = PARAMS.entries || 24;
  const entries = [];
  for (const account of accounts) {
    for (let index = 0; index < count; index += 1) {
      const age = Math.floor((index * 110) / count);
      const day = 111 - age;
      entries.push({
        id: `${account.id}e${index + 1}`,
        account: account.id,
        month: MONTHS[Math.floor(day / 28)] || MONTHS[3],
        day: (day % 28) + 1,
        text: random.pick(names),
        amount: amounts[entries.length] + random.int(0, 99) / 100,
      });
    }
  }
  return entries;
}

function buildStanding(payees) {
  const random = stream("standing");
  return random
    .shuffle(payees)
    .slice(0, PARAMS.standing || 3)
    .map((payee, index) => ({
      id: `s${index + 1}`,
      payee: payee.name,
      amount: random.int(3, 40) * 10,
      day: random.int(1, 28),
      state: index === 1 ? "paused" : "active",
    }));
}

const ACCOUNTS = buildAccounts();
const PAYEES = buildPayees();
const ENTRIES = buildEntries(ACCOUNTS);
const NOTICES = (PARAMS.notices || ["Our branches are closed on public holidays."]).map((text, index) => ({
  id: `n${index + 1}`,
  text,
}));

const store = new Store("bank", () => ({
  transfers: [],
  standing: buildStanding(PAYEES),
  cards: [
    { id: "c1", name: "Blue debit card", frozen: PARAMS.frozen === "c1", limit: 1000 },
    { id: "c2", name: "Gold credit card", frozen: PARAMS.frozen === "c2", limit: 2000 },
  ],
  limits: { daily: PARAMS.daily || 2000, online: 1000 },
  alerts: { login: true, large: false, low: PARAMS.low !== false, threshold: 100 },
  disputes: [],
}));
window.arenaState = () =>
  store.snapshot({ accounts: ACCOUNTS, payees: PAYEES, entries: ENTRIES, notices: NOTICES });

const money = (amount) => `$${amount.toFixed(2)}`;
const accountOf = (id) => ACCOUNTS.find((account) => account.id === id);
const sentFrom = (id) =>
  store.app.transfers
    .filter((transfer) => transfer.from === id)
    .reduce((sum, transfer) => sum + transfer.amount + transfer.fee, 0);
const balanceOf = (account) => account.opening - sentFrom(account.id);

function addTransfer(transfer) {
  store.app.transfers.push({ id: `t${store.app.transfers.length + 1}`, ...transfer });
  store.notice = `${money(transfer.amount)} sent to ${transfer.to}.`;
  store.save();
  location.href = "index.html";
}
