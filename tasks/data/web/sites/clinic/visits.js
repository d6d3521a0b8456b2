// The patient's visits: cancel one, or move it to another time.
"use strict";

/** The misleading short cut: books at once, by video and for a fee. */
function firstFreeBox() {
  const person = PRACTITIONERS[0];
  const take = () =>
    commit(
      () => {
        const [day] = freeDays(person, "May");
        store.app.visits.push({
          id: nextVisitId(),
          practitioner: person.name,
          department: person.department,
          month: "May",
          day,
          time: freeTimes(person, "May", day)[0],
          mode: MODES[1],
          patient: PATIENTS[0],
          reason: "Express",
          interpreter: false,
          reminder: true,
          fee: 25,
        });
      },
      "Express visit booked, fee $25.",
      showVisits,
    );
  return h(
    "section",
    { class: "card express", "aria-label": "Express visit" },
    h("h2", {}, "In a hurry?"),
    h("p", {}, "Express visit by video with the first free practitioner, fee $25."),
    h("button", { type: "button", onclick: take }, "Book express visit now"),
  );
}

function cancelDialog(visit) {
  const content = [
    h("p", {}, `${visit.practitioner}, ${dateOf(visit.month, visit.day)}, ${visit.time}.`),
    selectField("cancel-reason", "Reason", CANCEL_REASONS, CANCEL_REASONS[0]),
  ];
  ask("Cancel this visit?", content, "Keep the visit", "Cancel visit", () => {
    const reason = byId("cancel-reason").value;
    commit(
      () => {
        store.app.visits = store.app.visits.filter((other) => other !== visit);
        store.app.cancelled.push({ id: visit.id, reason });
      },
      `Visit with ${visit.practitioner} cancelled.`,
      showVisits,
    );
  });
}

function visitRow(visit) {
  const label = `visit with ${visit.practitioner}`;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, visit.practitioner),
    h("td", {}, visit.department),
    h("td", {}, dateOf(visit.month, visit.day)),
    h("td", {}, visit.time),
    h("td", {}, visit.mode),
    h(
      "td",
      {},
      h(
        "a",
        { class: "button plain", href: `book.html?move=${visit.id}`, "aria-label": `Move ${label}` },
        "Move",
      ),
      " ",
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": `Cancel ${label}`,
          onclick: () => cancelDialog(visit),
        },
        "Cancel",
      ),
    ),
  );
}

function showVisits() {
  store.visit("visits");
  const head = ["Practitioner", "Department", "Date", "Time", "Kind", "Change"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  frame(
    h("h1", {}, "My visits"),
    store.app.visits.length
      ? h(
          "table",
          {},
          h("caption", {}, "Planned visits"),
          h("thead", {}, h("tr", {}, head)),
          h("tbody", {}, store.app.visits.map(visitRow)),
        )
      : h("p", { class: "empty" }, "No visits planned."),
    PARAMS.express ? firstFreeBox() : null,
    h("p", {}, h("a", { class: "button", href: "book.html" }, "Book a new visit")),
  );
}
