// Issues, members and comments of the project, all from the seed.
"use strict";

const FEATURES = [
  "Export",
  "Login",
  "Search",
  "Upload",
  "Calendar sync",
  "Printing",
  "Dark theme",
  "Password reset",
  "Import",
  "Preview",
];
const SYMPTOMS = [
  "fails on slow networks",
  "shows an empty page",
  "is slow with many items",
  "loses the last change",
  "ignores the time zone",
  "cuts off long names",
];
const STATUS = ["Open", "In progress", "Review", "Closed"];
const PRIORITY = ["Low", "Medium", "High", "Urgent"];
const MILESTONES = ["None", "Spring", "Summer", "Autumn"];
const LABELS = ["bug", "design", "docs", "backend"];
const RESOLUTIONS = ["Fixed", "Duplicate", "Not planned", "Can not reproduce"];
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
const REMARKS = [
  "I see this as well.",
  "It started with the last release.",
  "A restart does not help.",
  "Happens once a day for me.",
];

function buildMembers() {
  const random = stream("members");
  return random
    .shuffle(FIRST.flatMap((first) => LAST.map((last) => `${first} ${last}`)))
    .slice(0, PARAMS.members || 5);
}

/** Look-alikes share the feature of the first issue and differ in the symptom only. */
function buildTitles(count) {
  const random = stream("titles");
  const all = random.shuffle(
    FEATURES.flatMap((feature) => SYMPTOMS.map((symptom) => ({ feature, symptom }))),
  );
  const { feature } = all[0];
  const alike = all.filter((title) => title.feature === feature).slice(0, 1 + (PARAMS.lookalikes || 0));
  const rest = all.filter((title) => title.feature !== feature).slice(0, count - alike.length);
  return random.shuffle([...alike, ...rest]).map((title) => `${title.feature} ${title.symptom}`);
}

const MEMBERS = buildMembers();
const ASSIGNEES = ["Nobody", ...MEMBERS];

function buildIssues() {
  const random = stream("issues");
  const count = PARAMS.items || 24;
  const votes = random.shuffle([...Array(120).keys()].map((step) => step + 1));
  const ages = random.shuffle([...Array(count).keys()].map((step) => step + 1));
  return buildTitles(count).map((title, index) => {
    const id = `B-${101 + index}`;
    const priority = random.pick(PRIORITY);
    return {
      id,
      title,
      status: random.pick(STATUS.slice(0, 3)),
      priority,
      assignee: random.pick(ASSIGNEES),
      milestone: random.pick(MILESTONES),
      labels: LABELS.filter(() => random.next() < 0.35),
      votes: votes[index],
      age: ages[index],
      watching: false,
      resolution: "",
      before: random.pick(PRIORITY.filter((other) => other !== priority)),
      remark: (PARAMS.notes || {})[id] || random.pick(REMARKS),
      reporter: random.pick(MEMBERS),
    };
  });
}

const store = new Store("tracker", () => ({ issues: buildIssues(), comments: [] }));
window.arenaState = () => store.snapshot({ members: MEMBERS });

const issueOf = (id) => store.app.issues.find((issue) => issue.id === id);
const nameOf = (issue) => `${issue.id} ${issue.title}`;
