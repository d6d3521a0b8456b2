// The frame of every page (header, notice) and the choice of the page to show.
"use strict";

function topBar() {
  const count = store.app.cart.reduce((sum, line) => sum + line.qty, 0);
  const links = [
    ["index.html", "Products"],
    ["offers.html", "Offers"],
    ["wishlist.html", "Wish list"],
    ["cart.html", `Cart (${count})`],
  ];
  return h(
    "header",
    { class: "top" },
    h("a", { class: "brand", href: "index.html" }, "Larkspur Home"),
    h(
      "nav",
      { "aria-label": "Main" },
      links.map(([href, text]) => h("a", { href }, text)),
    ),
  );
}

function renderPage(...content) {
  const notice = store.takeNotice();
  document.body.replaceChildren(
    topBar(),
    h(
      "main",
      {},
      h("p", { class: "notice", role: "status", hidden: !notice }, notice),
      content.filter(Boolean),
    ),
  );
}

const PAGES = {
  catalogue: showCatalogue,
  product: showProduct,
  cart: showCart,
  offers: showOffers,
  wishlist: showWishlist,
  checkout: showCheckout,
  order: showOrder,
};
PAGES[document.body.dataset.page]();
