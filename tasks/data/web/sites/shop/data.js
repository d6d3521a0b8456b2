// The catalogue, offers and start state of the shop, all from the seed.
"use strict";

const CATEGORIES = ["Lighting", "Kitchen", "Office", "Garden", "Bedroom"];
const NOUNS = {
  Lighting: ["desk lamp", "floor lamp", "wall light", "lantern", "reading light"],
  Kitchen: ["mug", "kettle", "chopping board", "storage jar", "teapot"],
  Office: ["pen tray", "monitor stand", "bookend", "notebook holder", "drawer unit"],
  Garden: ["planter", "watering can", "bird feeder", "bench cushion", "hand trowel"],
  Bedroom: ["throw blanket", "side table", "pillow cover", "wall mirror", "coat hook"],
};
const MATERIALS = [
  "Maple",
  "Copper",
  "Linen",
  "Slate",
  "Oak",
  "Ceramic",
  "Bamboo",
  "Steel",
  "Cork",
  "Walnut",
];
const COLOURS = ["Sand", "Moss", "Ink", "Clay", "Frost"];
const VARIANTS = ["mini", "set of two", "refurbished", "classic", "plus"];
const DELIVERY = [
  ["Standard", 0],
  ["Express", 12],
  ["Pick-up point", 4],
];
const PAYMENT = ["Card", "Invoice", "Gift card"];

/** Look-alikes share the first product's name and category and differ by a suffix only. */
function productNames(count, lookalikes) {
  const random = stream("names");
  const all = [];
  for (const category of CATEGORIES) {
    for (const noun of NOUNS[category]) {
      for (const material of MATERIALS) all.push({ category, name: `${material} ${noun}` });
    }
  }
  const chosen = random.shuffle(all).slice(0, count - lookalikes);
  const twins = random.shuffle(VARIANTS).slice(0, lookalikes);
  for (const suffix of twins) chosen.push({ ...chosen[0], name: `${chosen[0].name} ${suffix}` });
  return lookalikes ? random.shuffle(chosen) : chosen;
}

function buildProducts() {
  const random = stream("products");
  const names = productNames(PARAMS.items || 24, PARAMS.lookalikes || 0);
  const prices = random.shuffle([...Array(190).keys()].map((step) => step + 9)).slice(0, names.length);
  const soldOut = PARAMS.sold_out || [];
  return names.map(({ category, name }, index) => {
    const id = `p${index + 1}`;
    return {
      id,
      name,
      category,
      price: prices[index],
      rating: (30 + random.int(0, 19)) / 10,
      stock: soldOut.includes(id) ? 0 : random.int(6, 40),
      colours: random.shuffle(COLOURS).slice(0, 3),
      days: random.int(1, 9),
      warranty: random.int(1, 5),
      note: (PARAMS.notes || {})[id] || "",
    };
  });
}

function buildOffers() {
  const random = stream("offers");
  const words = random.shuffle(["SPRING", "COSY", "NEST", "BRIGHT", "TIDY", "FRESH"]);
  const percents = random.shuffle([5, 8, 10, 12, 15, 20]);
  const minimums = random.shuffle([0, 20, 30, 40, 400, 500]);
  return words.slice(0, 5).map((word, index) => {
    const percent = percents[index];
    return { id: `${word}${percent}`, percent, minimum: minimums[index], open: index !== 1 };
  });
}

const PRODUCTS = buildProducts();
const OFFERS = buildOffers();
const productOf = (id) => PRODUCTS.find((product) => product.id === id);

const store = new Store("shop", () => ({
  cart: (PARAMS.cart || []).map(([product, colour, qty]) => ({
    id: `${product}/${colour}`,
    product,
    colour,
    qty,
  })),
  wishlist: (PARAMS.wishlist || []).map((id) => ({ id })),
  coupon: "",
  orders: [],
  newsletter: false,
}));
window.arenaState = () => store.snapshot({ products: PRODUCTS, offers: OFFERS });

const money = (amount) => `$${amount.toFixed(2)}`;

/** Price of a cart with coupon and delivery, in dollars. */
function totals(cart, coupon, delivery) {
  const goods = cart.reduce((sum, line) => sum + productOf(line.product).price * line.qty, 0);
  const offer = OFFERS.find((candidate) => candidate.id === coupon);
  const discount = offer ? Math.round(goods * offer.percent) / 100 : 0;
  const shipping = (DELIVERY.find(([name]) => name === delivery) || ["", 0])[1];
  return { goods, discount, shipping, total: goods - discount + shipping };
}

function addToCart(product, colour, qty) {
  const id = `${product}/${colour}`;
  const line = store.app.cart.find((item) => item.id === id);
  if (line) line.qty += qty;
  else store.app.cart.push({ id, product, colour, qty });
  store.notice = `${productOf(product).name} added to the cart.`;
  store.save();
}

function placeOrder(order) {
  const id = `o${store.app.orders.length + 1}`;
  store.app.orders.push({ id, ...order });
  if (order.newsletter) store.app.newsletter = true;
  store.save();
  location.href = `order.html?id=${id}`;
}
