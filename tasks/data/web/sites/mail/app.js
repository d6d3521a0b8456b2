// The frame (side bar, search) and the hash routes.
"use strict";

function sideBar(current) {
  const links = Object.entries(FOLDERS).map(([folder, name]) => {
    const unread = folder === "inbox" ? inFolder(folder).filter(isUnread).length : 0;
    return h(
      "a",
      {
        href: `#/folder/${folder}/1`,
        "aria-current": folder === current ? "page" : null,
        "aria-label": name,
      },
      h("span", {}, name),
      unread ? h("span", { class: "count" }, String(unread)) : null,
    );
  });
  return h(
    "nav",
    { class: "side", "aria-label": "Folders" },
    h("p", { class: "brand" }, "Pigeon"),
    h("button", { type: "button", onclick: () => compose("", "", null) }, "Compose"),
    links,
    h(
      "a",
      { href: "#/settings/General", "aria-current": current === "settings" ? "page" : null },
      "Settings",
    ),
  );
}

function searchForm() {
  const submit = (event) => {
    event.preventDefault();
    const text = byId("search").value.trim();
    if (text) go(`#/search/${encodeURIComponent(text)}`);
  };
  return h(
    "form",
    { class: "search", role: "search", onsubmit: submit },
    h("label", { for: "search", class: "hidden" }, "Search mail"),
    h("input", { id: "search", type: "text", autocomplete: "off", placeholder: "Search mail" }),
    h("button", { type: "submit", class: "plain" }, "Search"),
  );
}

function frame(current, ...content) {
  const notice = store.takeNotice();
  document.body.replaceChildren(
    sideBar(current),
    h(
      "main",
      {},
      PARAMS.search === false ? null : searchForm(),
      h("p", { class: "notice", role: "status", hidden: !notice }, notice),
      content.filter(Boolean),
    ),
  );
}

function show() {
  const [, route, what, page] = location.hash.split("/");
  if (route === "message" && messageOf(what)) showMessage(what);
  else if (route === "settings" && SETTINGS[what]) showSettings(what);
  else if (route === "search" && what) showSearch(decodeURIComponent(what));
  else showFolder(FOLDERS[what] ? what : "inbox", Number(page) || 1);
}

/** Go to a hash route within the same task, so that the page never shows an old route for a moment. */
function go(hash) {
  if (location.hash !== hash) history.pushState(null, "", hash);
  show();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
window.addEventListener("popstate", show);
show();
