// Departments, practitioners, free times and the patient's visits, all from the seed.
"use strict";

const DEPARTMENTS = ["General medicine", "Physiotherapy", "Dermatology", "Dental care", "Eye care"];
const COMPLAINTS = [
  "headaches",
  "a vaccination",
  "a travel check",
  "dizziness",
  "a second opinion",
  "trouble sleeping",
];
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
const LAST = ["Meadow", "Hill", "Brook", "Field", "Stone", "Wood", "Lake", "Marsh"];
const YEAR = 2026;
const MONTHS = [
  ["May", 31, 4],
  ["June", 30, 0],
  ["July", 31, 2],
  ["August", 31, 5],
];
const MODES = ["At the clinic", "By video"];
const PATIENTS = ["Myself", "My daughter", "My son"];
const CANCEL_REASONS = ["I feel better", "The time does not suit me", "I go elsewhere"];
const TIMES = ["08:20", "09:00", "09:40", "10:20", "11:00", "13:20", "14:00", "14:40", "15:20"];

/** Look-alikes work in the first department and differ from its first practitioner by one letter. */
function buildPractitioners() {
  const random = stream("practitioners");
  const names = random.shuffle(FIRST.flatMap((first) => LAST.map((last) => `${first} ${last}`)));
  const twins = [`${names[0]}s`, `${names[0]}er`, `${names[0]}y`].slice(0, PARAMS.lookalikes || 0);
  const people = DEPARTMENTS.flatMap((department, index) => {
    const own = names.slice(index * 3, index * 3 + 3);
    return (index ? own : random.shuffle([...own, ...twins])).map((name) => ({
      name: `Dr ${name}`,
      department,
    }));
  });
  return people.map((person, index) => ({ id: `d${index + 1}`, ...person }));
}

/** Free days of a practitioner in a month, and the free times of a day. */
function freeDays(practitioner, month) {
  if ((PARAMS.full || []).includes(`${practitioner.id}:${month}`)) return [];
  const random = stream(`days:${practitioner.id}:${month}`);
  const [, length] = MONTHS.find(([name]) => name === month);
  return random
    .shuffle([...Array(length).keys()].map((step) => step + 1))
    .slice(0, 7)
    .sort((a, b) => a - b);
}

function freeTimes(practitioner, month, day) {
  const random = stream(`times:${practitioner.id}:${month}:${day}`);
  return random.shuffle(TIMES).slice(0, random.int(3, 5)).sort();
}

/** Which department treats which complaint; the help page tells. */
function buildGuide() {
  const random = stream("guide");
  return random.shuffle(COMPLAINTS).map((complaint) => ({ complaint, department: random.pick(DEPARTMENTS) }));
}

function buildVisits() {
  const random = stream("visits");
  return random
    .shuffle(PRACTITIONERS)
    .slice(0, PARAMS.visits || 3)
    .map((practitioner, index) => {
      const month = MONTHS[Math.min(index, 1)][0];
      const day = random.pick(freeDays(practitioner, month));
      return {
        id: `v${index + 1}`,
        practitioner: practitioner.name,
        department: practitioner.department,
        month,
        day,
        time: random.pick(TIMES),
        mode: MODES[0],
        patient: PATIENTS[0],
        reason: "Check-up",
        interpreter: false,
        reminder: true,
        fee: 0,
      };
    });
}

const PRACTITIONERS = buildPractitioners();
const GUIDE = buildGuide();

const store = new Store("clinic", () => ({
  visits: buildVisits(),
  cancelled: [],
  profile: {
    phone: "555 0100",
    city: "Lisbon",
    reminder: "Text message",
    ahead: 1,
    research: false,
    sharing: PARAMS.sharing !== false,
    newsletter: true,
  },
}));
window.arenaState = () => {
  const free = Object.fromEntries(
    PRACTITIONERS.map((person) => [
      person.id,
      Object.fromEntries(
        MONTHS.map(([month]) => [
          month,
          freeDays(person, month).map((day) => [day, freeTimes(person, month, day)]),
        ]),
      ),
    ]),
  );
  return store.snapshot({ practitioners: PRACTITIONERS, guide: GUIDE, free });
};

/** Ids go on after those of the seeded visits, also when some of these were cancelled. */
function nextVisitId() {
  const seeded = store.start.visits.length;
  return `v${seeded + 1 + store.app.visits.filter((visit) => Number(visit.id.slice(1)) > seeded).length}`;
}

const dateOf = (month, day) => `${day} ${month} ${YEAR}`;
