// The booking wizard: department, practitioner, day and time, details, review. Nothing is booked before the end.
"use strict";

const draft = {
  step: 1,
  department: "",
  practitioner: "",
  mode: "",
  month: "May",
  day: 0,
  time: "",
  patient: PATIENTS[0],
  reason: "",
  interpreter: false,
  reminder: true,
  moving: null,
};
const STEPS = ["Department", "Practitioner", "Day and time", "Details", "Review"];
const personOf = (name) => PRACTITIONERS.find((person) => person.name === name);

function wizard(content, valid) {
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    problem.textContent = valid() || "";
    if (problem.textContent) return;
    draft.step += draft.moving && draft.step === 3 ? 2 : 1;
    showBook();
  };
  const back = () => {
    draft.step -= 1;
    showBook();
  };
  const trail = STEPS.map((name, index) =>
    h(
      "li",
      {
        "aria-current": index + 1 === draft.step ? "step" : null,
        class: index + 1 < draft.step ? "past" : null,
      },
      `${index + 1}. ${name}`,
    ),
  );
  frame(
    h("h1", {}, draft.moving ? "Move a visit" : "Book a visit"),
    h("ol", { class: "trail", "aria-label": "Steps" }, trail),
    h(
      "form",
      { class: "card", onsubmit: submit },
      content,
      problem,
      h(
        "div",
        { class: "row" },
        draft.step > 1 && !draft.moving
          ? h("button", { type: "button", class: "plain", onclick: back }, "Back")
          : null,
        h("button", { type: "submit" }, "Continue"),
      ),
    ),
  );
}

function stepDepartment() {
  const choices = DEPARTMENTS.map((name, index) =>
    tick("radio", `department-${index}`, "department", name, name === draft.department),
  );
  wizard(h("fieldset", { class: "tall" }, h("legend", {}, "Which department?"), choices), () => {
    draft.department = chosen("department");
    return draft.department ? "" : "Please choose a department.";
  });
}

function stepPractitioner() {
  const people = PRACTITIONERS.filter((person) => person.department === draft.department).map(
    (person) => person.name,
  );
  const modes = MODES.map((name, index) => tick("radio", `mode-${index}`, "mode", name, name === draft.mode));
  wizard(
    [
      selectField(
        "practitioner",
        "Practitioner",
        [["", "Choose a practitioner"], ...people],
        draft.practitioner,
      ),
      h("fieldset", {}, h("legend", {}, "Kind of visit"), modes),
      PARAMS.note ? h("p", { class: "remark" }, PARAMS.note) : null,
    ],
    () => {
      [draft.practitioner, draft.mode] = [byId("practitioner").value, chosen("mode")];
      return draft.practitioner && draft.mode ? "" : "Please choose a practitioner and the kind of visit.";
    },
  );
}

/** Free times come a moment after the day was chosen, like from a server. */
function loadTimes(box) {
  box.replaceChildren(
    h(
      "p",
      { class: "loading" },
      h("span", { class: "spinner", "aria-hidden": "true" }),
      "Looking for free times…",
    ),
  );
  const { month, day } = draft;
  setTimeout(() => {
    if (draft.month !== month || draft.day !== day) return;
    const choices = freeTimes(personOf(draft.practitioner), month, day).map((time, index) =>
      tick("radio", `time-${index}`, "time", time, false),
    );
    box.replaceChildren(h("fieldset", {}, h("legend", {}, `Free times on ${dateOf(month, day)}`), choices));
  }, 120);
}

function calendar(box) {
  const index = MONTHS.findIndex(([name]) => name === draft.month);
  const [month, length, blank] = MONTHS[index];
  const free = freeDays(personOf(draft.practitioner), month);
  store.visit(`calendar:${personOf(draft.practitioner).id}:${month}`);
  const go = (step) => () => {
    Object.assign(draft, { month: MONTHS[index + step][0], day: 0 });
    showBook();
  };
  const choose = (day) => (event) => {
    draft.day = day;
    for (const other of document.querySelectorAll(".days button"))
      other.setAttribute("aria-pressed", String(other === event.target));
    loadTimes(box);
  };
  const cells = [...Array(length).keys()]
    .map((step) => step + 1)
    .map((day) =>
      free.includes(day)
        ? h(
            "button",
            {
              type: "button",
              "aria-pressed": "false",
              "aria-label": dateOf(month, day),
              onclick: choose(day),
            },
            String(day),
          )
        : h("span", {}, String(day)),
    );
  return h(
    "section",
    { class: "calendar", "aria-label": "Calendar" },
    h(
      "div",
      { class: "months" },
      h(
        "button",
        { type: "button", class: "plain", disabled: index === 0, onclick: go(-1) },
        "Previous month",
      ),
      h("strong", {}, `${month} ${YEAR}`),
      h(
        "button",
        { type: "button", class: "plain", disabled: index === MONTHS.length - 1, onclick: go(1) },
        "Next month",
      ),
    ),
    h(
      "div",
      { class: "days" },
      ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map((name) => h("b", {}, name)),
      Array.from({ length: blank }, () => h("i", {})),
      cells,
    ),
    free.length ? null : h("p", { class: "remark" }, `No free day in ${month}.`),
  );
}

function stepTime() {
  const box = h(
    "div",
    { class: "times", "aria-live": "polite" },
    h("p", { class: "soft" }, "Choose a free day."),
  );
  wizard(h("div", { class: "pair" }, calendar(box), box), () => {
    draft.time = chosen("time");
    return draft.day && draft.time ? "" : "Please choose a day and a time.";
  });
}

function stepDetails() {
  wizard(
    [
      selectField("patient", "Who is the visit for?", PATIENTS, draft.patient),
      textField("reason", "Reason for the visit", draft.reason),
      tick("checkbox", "interpreter", "interpreter", "I need an interpreter", draft.interpreter),
      tick("checkbox", "reminder", "reminder", "Remind me the day before", draft.reminder),
    ],
    () => {
      Object.assign(draft, {
        patient: byId("patient").value,
        reason: byId("reason").value.trim(),
        interpreter: byId("interpreter").checked,
        reminder: byId("reminder").checked,
      });
      return draft.reason ? "" : "Please tell the reason for the visit.";
    },
  );
}

/** Book the draft, or move the visit that is being moved. */
function finish() {
  const { practitioner, department, month, day, time, mode, patient, reason, interpreter, reminder, moving } =
    draft;
  if (moving)
    Object.assign(
      store.app.visits.find((visit) => visit.id === moving),
      { month, day, time },
    );
  else
    store.app.visits.push({
      id: nextVisitId(),
      practitioner,
      department,
      month,
      day,
      time,
      mode,
      patient,
      reason,
      interpreter,
      reminder,
      fee: 0,
    });
  store.notice = `Your visit on ${dateOf(month, day)} at ${time} is booked.`;
  store.save();
  location.href = "index.html";
}

function stepReview() {
  const line = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  const facts = h(
    "dl",
    { class: "facts" },
    line("Practitioner", `${draft.practitioner}, ${draft.department}`),
    line("Time", `${dateOf(draft.month, draft.day)}, ${draft.time}`),
    line("Kind", draft.mode),
    draft.moving
      ? []
      : [
          line("For", draft.patient),
          line("Reason", draft.reason),
          line("Interpreter", draft.interpreter ? "yes" : "no"),
          line("Reminder", draft.reminder ? "yes" : "no"),
        ],
  );
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    if (byId("consent").checked) finish();
    else problem.textContent = "Please agree to the rules of the clinic.";
  };
  const back = () => {
    draft.step = draft.moving ? 3 : 4;
    showBook();
  };
  frame(
    h("h1", {}, "Review"),
    h(
      "form",
      { class: "card", onsubmit: submit },
      facts,
      tick("checkbox", "consent", "consent", "I agree to the rules of the clinic", false),
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "plain", onclick: back }, "Back"),
        h("button", { type: "submit" }, draft.moving ? "Confirm new time" : "Confirm booking"),
      ),
    ),
  );
}

function showBook() {
  const moving = draft.moving ? null : store.app.visits.find((visit) => visit.id === query("move"));
  if (moving)
    Object.assign(draft, {
      step: 3,
      moving: moving.id,
      practitioner: moving.practitioner,
      department: moving.department,
      mode: moving.mode,
      month: moving.month,
    });
  if (draft.step === 3) draft.day = 0;
  store.visit(`book:${draft.step}`);
  [stepDepartment, stepPractitioner, stepTime, stepDetails, stepReview][draft.step - 1]();
}
