// Runs first in every document, before the page's clock is replaced: seeded randomness, counters of what is
// still in flight (so that the driver can wait for quiet), and refusal of what cannot be replayed.
(() => {
  if (Object.hasOwn(window, "__arena__")) return;
  const real = {
    setTimeout: window.setTimeout.bind(window),
    frame: window.requestAnimationFrame.bind(window),
    now: performance.now.bind(performance),
  };
  const self = {
    inflight: 0,
    navigating: false,
    frames: false,
    refused: new Set(),
    popups: 0,
    seed: 1,
    token: `${performance.timeOrigin}:${location.href}`,
    elements: [],
    covered: [],
    real,
  };
  Object.defineProperty(window, "__arena__", { value: self, enumerable: false });

  // --- randomness: one mulberry32 per document, seeded by the episode and the document's path
  let state = null;
  const next = () => {
    if (state === null) {
      state = self.seed >>> 0;
      for (const letter of location.pathname + location.search) state = Math.imul(state ^ letter.codePointAt(0), 0x9e3779b1) >>> 0;
    }
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  Math.random = () => next() / 4294967296;
  if (window.crypto) {
    const fill = (array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i += 1) bytes[i] = next() & 255;
      return array;
    };
    Crypto.prototype.getRandomValues = fill;
    Crypto.prototype.randomUUID = () => {
      const bytes = fill(new Uint8Array(16));
      bytes[6] = (bytes[6] & 15) | 64;
      bytes[8] = (bytes[8] & 63) | 128;
      const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    };
  }

  // --- requests in flight: fetch with its body readers, XHR, scripts that the page adds
  const counted = (promise) => {
    self.inflight += 1;
    const done = () => { self.inflight -= 1; };
    promise.then(done, done);
    return promise;
  };
  const fetch = window.fetch;
  window.fetch = function (...args) { return counted(fetch.apply(this, args)); };
  for (const reader of ["json", "text", "arrayBuffer", "blob", "formData", "bytes"]) {
    const read = Response.prototype[reader];
    if (read) Response.prototype[reader] = function (...args) { return counted(read.apply(this, args)); };
  }
  const send = XMLHttpRequest.prototype.send;
  XMLHttpRequest.prototype.send = function (...args) {
    self.inflight += 1;
    this.addEventListener("loadend", () => { self.inflight -= 1; }, { once: true });
    return send.apply(this, args);
  };
  new MutationObserver((records) => {
    for (const record of records) for (const node of record.addedNodes) {
      if (node.nodeName !== "SCRIPT" || !node.src || document.readyState === "loading") continue;
      self.inflight += 1;
      let open = true;
      const done = () => { if (open) { open = false; self.inflight -= 1; } };
      node.addEventListener("load", done);
      node.addEventListener("error", done);
    }
  }).observe(document, { childList: true, subtree: true });

  // --- a navigation to another document that has begun but not committed
  if (window.navigation) {
    navigation.addEventListener("navigate", (event) => {
      if (event.hashChange || event.destination.sameDocument || event.downloadRequest !== null) return;
      self.navigating = true;
    });
    for (const end of ["navigatesuccess", "navigateerror"]) navigation.addEventListener(end, () => { self.navigating = false; });
  }

  // --- observers fire in rendering frames: remember that the page uses them, so that the gate waits for frames
  for (const name of ["IntersectionObserver", "ResizeObserver"]) {
    window[name] = new Proxy(window[name], {
      construct(target, args, made) { self.frames = true; return Reflect.construct(target, args, made); },
    });
  }

  // --- what has its own clock or its own windows
  const refuse = (name) => class { constructor() { self.refused.add(name); throw new DOMException(`${name} is refused: it cannot be replayed`, "NotSupportedError"); } };
  window.Worker = refuse("Worker");
  window.SharedWorker = refuse("SharedWorker");
  if (navigator.serviceWorker) {
    ServiceWorkerContainer.prototype.register = () => {
      self.refused.add("ServiceWorker");
      return Promise.reject(new DOMException("ServiceWorker is refused: it cannot be replayed", "NotSupportedError"));
    };
  }
  window.open = () => { self.popups += 1; return null; };
  // There is one tab: what would open another opens here.
  const here = (node) => {
    if (!node || !node.target || /^_(self|top|parent)$/i.test(node.target)) return;
    node.target = "_self";
    self.popups += 1;
  };
  document.addEventListener("click", (event) => here(event.composedPath().find((node) => /^(A|AREA)$/.test(node.tagName))), true);
  document.addEventListener("submit", (event) => here(event.target), true);

  // --- still pictures
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent !important; scroll-behavior: auto !important; }");
  document.adoptedStyleSheets = [sheet];
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    root.adoptedStyleSheets = [sheet];
    return root;
  };

  // --- the quiet gate
  const reachable = () => {
    const found = [];
    const visit = (frame) => {
      try {
        if (frame.__arena__) found.push(frame);
        for (let i = 0; i < frame.frames.length; i += 1) visit(frame.frames[i]);
      } catch { /* another origin */ }
    };
    visit(window);
    return found;
  };
  self.reachable = reachable;
  const busy = () => reachable().some(({ document: page, __arena__: arena }) =>
    arena.inflight > 0 || arena.navigating || page.readyState !== "complete" || [...page.images].some((image) => !image.complete && image.loading !== "lazy"));
  const sleep = (ms) => new Promise((resolve) => real.setTimeout(resolve, ms));
  const rendered = () => new Promise((resolve) => {
    real.setTimeout(resolve, 250);
    real.frame(() => real.frame(() => real.setTimeout(resolve, 0)));
  });
  /** Wait until nothing is in flight at two looks in a row; `limit` in real milliseconds. */
  self.gate = async (limit, scrolled) => {
    const begun = real.now();
    let quiet = 0;
    while (quiet < 2) {
      if (scrolled || reachable().some((frame) => frame.__arena__.frames)) { await rendered(); scrolled = false; }
      await sleep(0);
      quiet = busy() ? 0 : quiet + 1;
      if (quiet === 0 && real.now() - begun > limit) return { token: self.token, quiet: false };
    }
    return { token: self.token, quiet: true };
  };
})();
