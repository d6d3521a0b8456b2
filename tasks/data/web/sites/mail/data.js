// Messages, rules and settings of the mailbox, all from the seed.
"use strict";

const FIRST = [
  "Ada",
  "Noor",
  "Tomas",
  "Mina",
  "Jonas",
  "Lucia",
  "Omar",
  "Greta",
  "Ivo",
  "Selma",
  "Pavel",
  "Rosa",
];
const LAST = ["Meadow", "Hill", "Brook", "Field", "Stone", "Wood", "Lake", "Marsh", "Dale", "Ford"];
const ROOMS = ["Birch", "Cedar", "Elm", "Hazel", "Linden", "Rowan"];
const LABELS = ["Work", "Travel", "Bills", "Family"];
const FOLDERS = {
  inbox: "Inbox",
  starred: "Starred",
  archive: "Archive",
  sent: "Sent",
  spam: "Spam",
  trash: "Trash",
};
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Kinds of mail: subject and body from one number, one amount and one room. */
const KINDS = [
  (n, amount) => [
    `Invoice ${n}`,
    `Please find invoice ${n}. The amount due is $${amount}. Payment is due within 14 days.`,
  ],
  (n, amount, room) => [
    `Planning meeting ${n}`,
    `The planning meeting ${n} takes place in room ${room}. Please bring your notes.`,
  ],
  (n) => [`Parcel ${n} is ready`, `Your parcel ${n} waits at the pick-up point for seven days.`],
  (n, amount, room) => [
    `Draft ${n} of the travel plan`,
    `Here is draft ${n} of the travel plan. We start from hall ${room}. The budget is $${amount}.`,
  ],
  (n) => [
    `Question about ticket ${n}`,
    `Could you look at ticket ${n} this week? The customer waits for an answer.`,
  ],
  (n, amount) => [`Order ${n} confirmed`, `Thank you for order ${n}. The total is $${amount}.`],
];

function people(count) {
  const random = stream("people");
  const all = FIRST.flatMap((first) => LAST.map((last) => `${first} ${last}`));
  return random.shuffle(all).slice(0, count);
}

const addressOf = (name) => `${name.toLowerCase().replace(" ", ".")}@mail.test`;

/** Look-alike senders write mail of the same kind, with one letter more in their family name. */
function buildMessages() {
  const random = stream("messages");
  const count = PARAMS.items || 20;
  const senders = people(Math.min(12, count));
  const numbers = random.shuffle([...Array(900).keys()].map((step) => step + 1100));
  const messages = [];
  for (let index = 0; index < count; index += 1) {
    const twin = index > 0 && index <= (PARAMS.lookalikes || 0);
    const kind = twin ? messages[0].kind : random.int(0, KINDS.length - 1);
    const from =
      twin && index % 2 ? `${messages[0].from}s` : twin ? messages[0].from : senders[index % senders.length];
    const [amount, room] = [random.int(20, 900), random.pick(ROOMS)];
    const [subject, body] = KINDS[kind](numbers[index], amount, room);
    messages.push({ kind, from, subject, body, amount, room, unread: random.next() < 0.4 });
  }
  const placed = PARAMS.lookalikes ? random.shuffle(messages) : messages;
  return placed.map((message, index) => {
    const id = `m${index + 1}`;
    const note = (PARAMS.notes || {})[id];
    const age = 300 - Math.floor((index * 280) / count) - random.int(0, 3);
    return {
      id,
      ...message,
      body: note ? `${message.body}\n\n${note}` : message.body,
      date: `${MONTHS[Math.floor(age / 28)]} ${(age % 28) + 1}`,
      folder: (PARAMS.folders || {})[id] || "inbox",
      starred: (PARAMS.starred || []).includes(id),
      labels: (PARAMS.labels || {})[id] || [],
    };
  });
}

function buildRules() {
  const random = stream("rules");
  return random
    .shuffle(people(12))
    .slice(0, PARAMS.rules || 3)
    .map((name, index) => ({
      id: `r${index + 1}`,
      from: addressOf(name),
      action: ["Move to archive", "Add star", "Move to trash"][index % 3],
      on: index !== 1,
    }));
}

const store = new Store("mail", () => ({
  messages: buildMessages(),
  sent: [],
  rules: buildRules(),
  settings: {
    density: "Comfortable",
    pageSize: PARAMS.page_size || 8,
    away: Boolean(PARAMS.away),
    awayText: PARAMS.away ? "I am out of office." : "",
    forward: PARAMS.forward || "",
    notifyNew: true,
    notifyWeekly: true,
    sound: false,
  },
}));
const contacts = people(Math.min(12, PARAMS.items || 20)).map((name) => ({ name, address: addressOf(name) }));
window.arenaState = () => store.snapshot({ contacts });

const messageOf = (id) => store.app.messages.find((message) => message.id === id);
const isUnread = (message) => message.unread && !store.visited.includes(`message:${message.id}`);

/** Change a message, tell the user, and show the page again or go to another one. */
function act(message, changes, notice, target) {
  Object.assign(message, changes);
  store.notice = notice;
  store.save();
  go(target || location.hash);
}

function sendMail(to, subject, body, reply) {
  store.app.sent.push({ id: `s${store.app.sent.length + 1}`, to, subject, body, reply });
  store.notice = `Message sent to ${to}.`;
  store.save();
  show();
}
