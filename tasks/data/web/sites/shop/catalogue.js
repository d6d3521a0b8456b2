// The catalogue page (search, filter, sort, pages) and the product page.
"use strict";

const view = { text: "", category: "All categories", sort: "Featured", page: 1 };
const SORTS = {
  Featured: () => 0,
  "Price: low to high": (a, b) => a.price - b.price,
  "Price: high to low": (a, b) => b.price - a.price,
  "Best rated": (a, b) => b.rating - a.rating,
};

const ART = {
  Lighting: "M32 6 L50 34 H14 Z M30 34 h4 v18 h10 v4 H20 v-4 h10 z",
  Kitchen:
    "M14 18 h30 v28 a8 8 0 0 1 -8 8 h-14 a8 8 0 0 1 -8 -8 z M44 24 h6 a4 4 0 0 1 4 4 v8 a4 4 0 0 1 -4 4 h-6 z",
  Office: "M10 14 h44 v28 h-44 z M28 42 h8 v8 h10 v4 h-28 v-4 h10 z",
  Garden:
    "M18 34 h28 l-5 22 h-18 z M31 34 c-14 -4 -14 -18 -14 -22 c8 2 14 8 15 14 c1 -8 7 -14 15 -16 c0 8 -2 20 -14 24 z",
  Bedroom: "M8 30 h48 v16 h-4 v8 h-6 v-8 h-28 v8 h-6 v-8 h-4 z M14 18 h14 v9 h-14 z M34 18 h14 v9 h-14 z",
};

function artwork(product) {
  const box = h("div", { class: `art art-${product.category.toLowerCase()}`, "aria-hidden": "true" });
  box.innerHTML = `<svg viewBox="0 0 64 64" width="64" height="64"><path d="${ART[product.category]}"/></svg>`;
  return box;
}

const stockText = (product) => (product.stock ? `${product.stock} in stock` : "Sold out");

/** The misleading short cut: an order at once, with Express delivery and the newsletter. */
function oneClickButton(product, qty, colour) {
  const buy = () =>
    placeOrder({
      items: [{ product: product.id, colour: colour(), qty: qty() }],
      name: "Saved profile",
      city: "Saved profile",
      delivery: "Express",
      payment: "Card",
      gift: false,
      newsletter: true,
      coupon: "",
      total: product.price * qty() + 12,
    });
  return h(
    "button",
    { type: "button", class: "hot", "aria-label": `Buy ${product.name} with one click`, onclick: buy },
    "Buy with one click",
  );
}

function card(product) {
  const add = () => {
    addToCart(product.id, product.colours[0], 1);
    showCatalogue();
  };
  const heading = h("h2", {}, h("a", { href: `product.html?id=${product.id}` }, product.name));
  const label = `Add ${product.name} to cart`;
  return h(
    "li",
    { class: "card" },
    artwork(product),
    heading,
    h(
      "p",
      { class: "meta" },
      h("strong", {}, money(product.price)),
      ` · ★ ${product.rating.toFixed(1)} · ${stockText(product)}`,
    ),
    product.stock
      ? h("button", { type: "button", "aria-label": label, onclick: add }, "Add to cart")
      : h("p", { class: "gone" }, "Sold out"),
    product.stock && PARAMS.one_click === "cards"
      ? oneClickButton(
          product,
          () => 1,
          () => product.colours[0],
        )
      : null,
  );
}

function matches() {
  const words = view.text.toLowerCase().split(" ").filter(Boolean);
  return PRODUCTS.filter(
    (product) => view.category === "All categories" || product.category === view.category,
  )
    .filter((product) => words.every((word) => product.name.toLowerCase().includes(word)))
    .sort(SORTS[view.sort]);
}

function toolbar() {
  const update = (field) => (value) => {
    view[field] = value;
    view.page = 1;
    showCatalogue();
  };
  const search = textField("search", "Search products", view.text);
  const submit = (event) => {
    event.preventDefault();
    store.visit(`search:${byId("search").value}`);
    update("text")(byId("search").value);
  };
  return h(
    "form",
    { class: "toolbar", onsubmit: submit },
    search,
    h("button", { type: "submit", class: "plain" }, "Search"),
    selectField("category", "Category", ["All categories", ...CATEGORIES], view.category, update("category")),
    selectField("sort", "Sort by", Object.keys(SORTS), view.sort, update("sort")),
  );
}

function pager(pages) {
  const go = (step) => () => {
    view.page += step;
    showCatalogue();
  };
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    h(
      "button",
      { type: "button", class: "plain", disabled: view.page === 1, onclick: go(-1) },
      "Previous page",
    ),
    h("span", {}, `Page ${view.page} of ${pages}`),
    h(
      "button",
      { type: "button", class: "plain", disabled: view.page === pages, onclick: go(1) },
      "Next page",
    ),
  );
}

function showCatalogue() {
  const size = PARAMS.per_page || 8;
  const found = matches();
  const pages = Math.max(1, Math.ceil(found.length / size));
  const shown = found.slice((view.page - 1) * size, view.page * size);
  store.visit(`catalogue:${view.category}:${view.page}`);
  renderPage(
    h("div", { class: "headline" }, h("h1", {}, "All products"), h("p", {}, `${found.length} products`)),
    PARAMS.toolbar === false ? null : toolbar(),
    PARAMS.banner ? h("p", { class: "banner" }, PARAMS.banner) : null,
    shown.length
      ? h("ul", { class: "grid" }, shown.map(card))
      : h("p", { class: "empty" }, "No product matches."),
    pages > 1 ? pager(pages) : null,
  );
}

function tabs(product) {
  const panels = {
    Description: [
      h("p", {}, `${product.name}, made in small batches. Category: ${product.category}.`),
      product.note ? h("p", {}, product.note) : null,
    ],
    Delivery: [h("p", {}, `Leaves our store within ${product.days} ${product.days === 1 ? "day" : "days"}.`)],
    Warranty: [
      h(
        "p",
        {},
        `${product.warranty} ${product.warranty === 1 ? "year" : "years"} of warranty, returns within 30 days.`,
      ),
    ],
  };
  const list = h("div", { role: "tablist", "aria-label": "Product information", class: "tabs" });
  const body = h("div", { role: "tabpanel", id: "panel", class: "panel" });
  const show = (name) => {
    for (const tab of list.children) tab.setAttribute("aria-selected", String(tab.textContent === name));
    body.setAttribute("aria-label", name);
    body.replaceChildren(...panels[name].filter(Boolean));
    store.visit(`tab:${product.id}:${name}`);
  };
  for (const name of Object.keys(panels)) {
    list.append(
      h("button", { type: "button", role: "tab", "aria-controls": "panel", onclick: () => show(name) }, name),
    );
  }
  show("Description");
  return h("section", { class: "info" }, list, body);
}

function buyBox(product) {
  const colour = () => document.querySelector("input[name=colour]:checked").value;
  const qty = () => Number(byId("qty").value);
  const add = () => {
    addToCart(product.id, colour(), qty());
    location.href = "cart.html";
  };
  const saved = store.app.wishlist.some(({ id }) => id === product.id);
  const toggle = () => {
    const others = store.app.wishlist.filter(({ id }) => id !== product.id);
    store.app.wishlist = saved ? others : [...others, { id: product.id }];
    store.save();
    showProduct();
  };
  const colours = product.colours.map((name, index) =>
    tick("radio", `colour-${index}`, "colour", name, index === 0),
  );
  return h(
    "div",
    { class: "buy" },
    h("fieldset", {}, h("legend", {}, "Colour"), colours),
    selectField("qty", "Quantity", [1, 2, 3, 4, 5], 1),
    product.stock
      ? h("button", { type: "button", onclick: add }, "Add to cart")
      : h("p", { class: "gone" }, "Sold out: this product can not be ordered."),
    product.stock && PARAMS.one_click ? oneClickButton(product, qty, colour) : null,
    h(
      "button",
      { type: "button", class: "plain", "aria-pressed": String(saved), onclick: toggle },
      saved ? "Remove from wish list" : "Save to wish list",
    ),
  );
}

function showProduct() {
  const product = productOf(query("id"));
  document.title = `${product.name} · Larkspur Home`;
  store.visit(`product:${product.id}`);
  renderPage(
    h("p", { class: "crumbs" }, h("a", { href: "index.html" }, "Back to all products")),
    h(
      "div",
      { class: "product" },
      artwork(product),
      h(
        "div",
        {},
        h("h1", {}, product.name),
        h(
          "p",
          { class: "meta" },
          h("strong", {}, money(product.price)),
          ` · ★ ${product.rating.toFixed(1)} · ${stockText(product)}`,
        ),
        buyBox(product),
      ),
    ),
    tabs(product),
  );
}
