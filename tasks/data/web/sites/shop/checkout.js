// Cart, offers, checkout with its confirmation dialog, and the page of a placed order.
"use strict";

function cartRow(line) {
  const product = productOf(line.product);
  const change = (value) => {
    line.qty = Number(value);
    store.notice = "Cart updated.";
    store.save();
    showCart();
  };
  const remove = () => {
    store.app.cart = store.app.cart.filter((item) => item !== line);
    store.notice = `${product.name} removed.`;
    store.save();
    showCart();
  };
  const qty = h(
    "select",
    {
      "aria-label": `Quantity of ${product.name}, ${line.colour}`,
      onchange: (event) => change(event.target.value),
    },
    [1, 2, 3, 4, 5].map((count) =>
      h("option", { value: count, selected: count === line.qty }, String(count)),
    ),
  );
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: `product.html?id=${product.id}` }, product.name)),
    h("td", {}, line.colour),
    h("td", {}, qty),
    h("td", { class: "num" }, money(product.price * line.qty)),
    h(
      "td",
      {},
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-label": `Remove ${product.name}, ${line.colour}`,
          onclick: remove,
        },
        "Remove",
      ),
    ),
  );
}

function cartTable() {
  const head = ["Product", "Colour", "Quantity", "Price", "Action"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  return h(
    "table",
    {},
    h("caption", {}, "Products in your cart"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, store.app.cart.map(cartRow)),
  );
}

function couponForm() {
  const apply = (event) => {
    event.preventDefault();
    const code = byId("coupon").value.trim().toUpperCase();
    const offer = OFFERS.find((candidate) => candidate.id === code);
    const { goods } = totals(store.app.cart, "", "");
    if (!offer || !offer.open) store.notice = `The code ${code} is not valid.`;
    else if (goods < offer.minimum) store.notice = `${code} needs goods for ${money(offer.minimum)} or more.`;
    else {
      store.app.coupon = code;
      store.notice = `Coupon ${code} applied.`;
    }
    store.save();
    showCart();
  };
  const drop = () => {
    store.app.coupon = "";
    store.notice = "Coupon removed.";
    store.save();
    showCart();
  };
  const { coupon } = store.app;
  return h(
    "form",
    { class: "toolbar", onsubmit: apply },
    textField("coupon", "Coupon code"),
    h("button", { type: "submit", class: "plain" }, "Apply coupon"),
    coupon ? h("button", { type: "button", class: "plain", onclick: drop }, `Remove coupon ${coupon}`) : null,
  );
}

function sums(delivery) {
  const { goods, discount, shipping, total } = totals(store.app.cart, store.app.coupon, delivery);
  const line = (name, amount) => [h("dt", {}, name), h("dd", {}, amount)];
  return h(
    "dl",
    { class: "sums" },
    line("Goods", money(goods)),
    discount ? line("Discount", `-${money(discount)}`) : [],
    delivery ? line("Delivery", money(shipping)) : [],
    line("Total", money(total)),
  );
}

function showCart() {
  store.visit("cart");
  if (!store.app.cart.length) {
    renderPage(
      h("h1", {}, "Cart"),
      h("p", { class: "empty" }, "Your cart is empty."),
      h("a", { href: "index.html" }, "Back to all products"),
    );
    return;
  }
  renderPage(
    h("h1", {}, "Cart"),
    cartTable(),
    couponForm(),
    sums(""),
    h("a", { class: "button", href: "checkout.html" }, "Go to checkout"),
  );
}

function showOffers() {
  store.visit("offers");
  const row = (offer) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, offer.id),
      h("td", {}, `${offer.percent} % off`),
      h("td", {}, offer.minimum ? `goods from ${money(offer.minimum)}` : "no minimum"),
      h("td", {}, offer.open ? "valid" : "expired"),
    );
  const head = ["Code", "Discount", "Condition", "State"].map((name) => h("th", { scope: "col" }, name));
  renderPage(
    h("h1", {}, "Offers"),
    h(
      "table",
      {},
      h("caption", {}, "Coupon codes"),
      h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, OFFERS.map(row)),
    ),
    h("p", {}, "Type a code in the cart. One code per order."),
  );
}

/** The order as the form describes it, or null with a message when a field is empty. */
function readOrder() {
  const [name, city] = [byId("name").value.trim(), byId("city").value.trim()];
  const delivery = document.querySelector("input[name=delivery]:checked");
  if (!name || !city || !delivery) {
    byId("problem").textContent = "Please fill in name, city and delivery.";
    return null;
  }
  byId("problem").textContent = "";
  return {
    items: store.app.cart.map(({ product, colour, qty }) => ({ product, colour, qty })),
    name,
    city,
    delivery: delivery.value,
    payment: byId("payment").value,
    gift: byId("gift").checked,
    newsletter: byId("newsletter").checked,
    coupon: store.app.coupon,
    total: totals(store.app.cart, store.app.coupon, delivery.value).total,
  };
}

function confirmOrder(event) {
  event.preventDefault();
  const order = readOrder();
  if (!order) return;
  const place = () => {
    store.app.cart = [];
    store.app.coupon = "";
    placeOrder(order);
  };
  const close = () => dialog.remove();
  const dialog = h(
    "dialog",
    { "aria-labelledby": "confirm-title" },
    h("h2", { id: "confirm-title" }, "Place this order?"),
    h(
      "p",
      {},
      `For ${order.name}, ${order.city}. ${order.delivery} delivery, paid by ${order.payment.toLowerCase()}.`,
    ),
    h(
      "p",
      {},
      `Gift wrap: ${order.gift ? "yes" : "no"}. Offers by e-mail: ${order.newsletter ? "yes" : "no"}.`,
    ),
    sums(order.delivery),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "plain", onclick: close }, "Back to the form"),
      h("button", { type: "button", onclick: place }, "Place order"),
    ),
  );
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
}

function showCheckout() {
  store.visit("checkout");
  if (!store.app.cart.length) {
    renderPage(h("h1", {}, "Checkout"), h("p", { class: "empty" }, "Your cart is empty."));
    return;
  }
  const ways = DELIVERY.map(([name, price], index) => {
    const choice = tick("radio", `delivery-${index}`, "delivery", name, false);
    choice.append(h("span", { class: "hint" }, price ? `${money(price)}` : "free"));
    return choice;
  });
  renderPage(
    h("h1", {}, "Checkout"),
    h(
      "form",
      { class: "sheet", onsubmit: confirmOrder },
      h("div", { class: "pair" }, textField("name", "Full name"), textField("city", "City")),
      h("fieldset", {}, h("legend", {}, "Delivery"), ways),
      selectField("payment", "Payment", PAYMENT, "Card"),
      tick("checkbox", "gift", "gift", "Gift wrap", false),
      tick("checkbox", "newsletter", "newsletter", "Send me offers by e-mail", true),
      h("p", { id: "problem", role: "alert", class: "problem" }),
      h("button", { type: "submit" }, "Review order"),
    ),
  );
}

function showOrder() {
  const order = store.app.orders.find((candidate) => candidate.id === query("id"));
  store.visit(`order:${order.id}`);
  renderPage(
    h("h1", { class: "ok" }, "Order placed"),
    h("p", {}, `Thank you, ${order.name}. Your order ${order.id} is on its way to ${order.city}.`),
    h(
      "ul",
      {},
      order.items.map((item) => h("li", {}, `${item.qty} × ${productOf(item.product).name}, ${item.colour}`)),
    ),
    h("p", {}, `Total ${money(order.total)}, ${order.delivery} delivery.`),
  );
}

function showWishlist() {
  store.visit("wishlist");
  const remove = (id) => () => {
    store.app.wishlist = store.app.wishlist.filter((saved) => saved.id !== id);
    store.save();
    showWishlist();
  };
  const row = ({ id }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: `product.html?id=${id}` }, productOf(id).name)),
      h("td", { class: "num" }, money(productOf(id).price)),
      h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-label": `Remove ${productOf(id).name}`,
            onclick: remove(id),
          },
          "Remove",
        ),
      ),
    );
  const head = ["Product", "Price", "Action"].map((name) => h("th", { scope: "col" }, name));
  renderPage(
    h("h1", {}, "Wish list"),
    store.app.wishlist.length
      ? h(
          "table",
          {},
          h("caption", {}, "Saved products"),
          h("thead", {}, h("tr", {}, head)),
          h("tbody", {}, store.app.wishlist.map(row)),
        )
      : h("p", { class: "empty" }, "Nothing saved yet."),
  );
}
