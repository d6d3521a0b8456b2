// What a person could act on in this state, in document order, and the text on the page. Defines
// __arena__.observe, .point, .enter, .choose and .probe; stamps nothing into the page.
(() => {
  const self = window.__arena__;
  if (self.observe) return;
  const FORM = new Set(["textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "spinbutton", "slider", "date", "file"]);
  const ACTIVE = new Set([...FORM, "button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem", "gridcell"]);
  const INPUT = { checkbox: "checkbox", radio: "radio", number: "spinbutton", range: "slider", search: "searchbox", file: "file",
    button: "button", submit: "button", reset: "button", image: "button", date: "date", time: "date", month: "date", week: "date", "datetime-local": "date" };
  const INLINE = new Set(["inline", "contents", "inline-block", "inline-flex", "ruby", "table-cell"]);
  const GROUPS = new Set(["TR", "LI", "ARTICLE", "SECTION", "FIELDSET", "DIALOG", "FORM", "NAV", "ASIDE", "FIGURE"]);
  const GROUP_ROLES = new Set(["row", "listitem", "article", "region", "group", "radiogroup", "dialog", "alertdialog", "form", "navigation"]);
  const SKIP = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "OPTION", "OPTGROUP"]);
  const squeeze = (text) => (text || "").replace(/\s+/g, " ").trim();
  const parentOf = (node) => node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);

  function roleOf(el) {
    const named = (el.getAttribute("role") || "").trim().split(/\s+/)[0];
    if (named && named !== "presentation" && named !== "none") return named;
    switch (el.tagName) {
      case "A": case "AREA": return el.hasAttribute("href") ? "link" : null;
      case "BUTTON": case "SUMMARY": return "button";
      case "SELECT": return el.multiple || el.size > 1 ? "listbox" : "combobox";
      case "TEXTAREA": return "textbox";
      case "INPUT": return el.type === "hidden" ? null : INPUT[el.type] || (el.list ? "combobox" : "textbox");
      default: return el.isContentEditable && !(el.parentElement && el.parentElement.isContentEditable) ? "textbox" : null;
    }
  }

  /** Text of a subtree for a name: image alternatives count, hidden parts and form fields do not. */
  function textOf(node, skip) {
    if (node === skip) return "";
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE && node.nodeType !== Node.DOCUMENT_FRAGMENT_NODE) return "";
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (SKIP.has(node.tagName) || node.tagName === "SELECT" || node.tagName === "TEXTAREA" || node.getAttribute("aria-hidden") === "true" || node.hidden) return "";
      if (node.hasAttribute("aria-label") && node !== skip) return ` ${node.getAttribute("aria-label")} `;
      if (node.tagName === "IMG") return ` ${node.alt} `;
      if (node.tagName === "title" && node.ownerSVGElement) return node.textContent;
      if (node.tagName === "SLOT") return node.assignedNodes({ flatten: true }).map((child) => textOf(child, skip)).join("");
    }
    const inner = [...(node.shadowRoot || node).childNodes].map((child) => textOf(child, skip)).join("");
    return node.nodeType === Node.ELEMENT_NODE && !INLINE.has(getComputedStyle(node).display) ? ` ${inner} ` : inner;
  }
  const inner = (el) => squeeze([...(el.shadowRoot || el).childNodes].map((child) => textOf(child)).join(""));

  function nameOf(el, role) {
    const ids = el.getAttribute("aria-labelledby");
    if (ids) {
      const text = squeeze(ids.split(/\s+/).map((id) => el.getRootNode().getElementById(id)).filter(Boolean).map((node) => textOf(node)).join(" "));
      if (text) return text;
    }
    const label = squeeze(el.getAttribute("aria-label"));
    if (label) return label;
    if (el.labels && el.labels.length) {
      const text = squeeze([...el.labels].map((node) => textOf(node, el)).join(" "));
      if (text) return text;
    }
    if (el.tagName === "INPUT" && ["button", "submit", "reset"].includes(el.type)) return squeeze(el.value) || (el.type === "button" ? "" : el.type === "submit" ? "Submit" : "Reset");
    if (el.tagName === "INPUT" && el.type === "image") return squeeze(el.alt) || "Submit";
    if (!FORM.has(role)) {
      const text = inner(el);
      if (text) return text;
    }
    return squeeze(el.getAttribute("placeholder")) || squeeze(el.title) || squeeze(el.getAttribute("name"));
  }

  function valueOf(el) {
    if (el.tagName === "SELECT") return [...el.selectedOptions].map((option) => squeeze(option.label)).join(", ");
    if (el.tagName === "INPUT") {
      if (el.type === "password") return "•".repeat(el.value.length);
      return ["checkbox", "radio", "button", "submit", "reset", "image", "file"].includes(el.type) ? null : el.value;
    }
    if (el.tagName === "TEXTAREA") return el.value;
    return el.isContentEditable ? squeeze(el.innerText) : null;
  }

  function stateOf(el) {
    const state = {};
    if (el.tagName === "INPUT" && (el.type === "checkbox" || el.type === "radio")) state.checked = el.indeterminate ? "mixed" : el.checked;
    if (el.tagName === "SUMMARY" && el.parentElement && el.parentElement.tagName === "DETAILS") state.expanded = el.parentElement.open;
    for (const flag of ["checked", "expanded", "selected", "pressed"]) {
      const value = el.getAttribute(`aria-${flag}`);
      if (value && state[flag] === undefined) state[flag] = value === "true" ? true : value === "false" ? false : value;
    }
    const current = el.getAttribute("aria-current");
    if (current && current !== "false") state.current = true;
    if (el.matches(":disabled") || el.getAttribute("aria-disabled") === "true") state.disabled = true;
    if (el.readOnly) state.readonly = true;
    return state;
  }

  /** Labels of the groups around an element, nearest first: row, list item, legend, dialog, heading of a section. */
  function scopesOf(el) {
    const found = [];
    for (let at = parentOf(el), depth = 0; at && at !== document.body && found.length < 4 && depth < 30; at = parentOf(at), depth += 1) {
      let label = "";
      const role = at.getAttribute("role");
      const heading = [...at.children].find((child) => /^(H[1-6]|LEGEND|CAPTION|FIGCAPTION)$/.test(child.tagName) || child.getAttribute("role") === "heading");
      if (GROUPS.has(at.tagName) || GROUP_ROLES.has(role)) {
        const ids = at.getAttribute("aria-labelledby");
        const by = ids && at.getRootNode().getElementById(ids.split(/\s+/)[0]);
        label = squeeze(at.getAttribute("aria-label")) || (by ? squeeze(textOf(by)) : "") || (heading ? squeeze(textOf(heading)) : "");
        if (!label && (at.tagName === "TR" || role === "row")) {
          const head = at.querySelector("th, [role=rowheader]");
          label = head ? squeeze(textOf(head)) : squeeze([...at.children].map((cell) => squeeze(cell.textContent)).find(Boolean));
        }
        if (!label && (at.tagName === "LI" || at.tagName === "ARTICLE" || role === "listitem")) {
          const head = at.querySelector("h1, h2, h3, h4, h5, h6");
          label = head ? squeeze(textOf(head)) : inner(at);
        }
      } else if (heading && !heading.contains(el)) label = squeeze(textOf(heading));
      label = label.slice(0, 80);
      if (label && !found.includes(label)) found.push(label);
    }
    return found;
  }

  // --- geometry: boxes in the top viewport, whatever frame an element is in
  function offsetOf(view) {
    let [x, y] = [0, 0];
    let clip = { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight };
    const chain = [];
    for (let at = view; at !== window; at = at.parent) chain.unshift(at.frameElement);
    for (const frame of chain) {
      const box = frame.getBoundingClientRect();
      x += box.left + frame.clientLeft;
      y += box.top + frame.clientTop;
      clip = { left: Math.max(clip.left, x), top: Math.max(clip.top, y), right: Math.min(clip.right, x + frame.clientWidth), bottom: Math.min(clip.bottom, y + frame.clientHeight) };
    }
    return { x, y, clip };
  }

  function deepest(x, y) {
    let root = document;
    let hit = null;
    for (let depth = 0; depth < 20; depth += 1) {
      const next = root.elementFromPoint(x, y);
      if (!next || next === hit) return hit;
      hit = next;
      if (hit.shadowRoot) root = hit.shadowRoot;
      else if (hit.tagName === "IFRAME" && hit.contentDocument) {
        const box = hit.getBoundingClientRect();
        x -= box.left + hit.clientLeft;
        y -= box.top + hit.clientTop;
        root = hit.contentDocument;
        if (!root.elementFromPoint(x, y)) return hit;
      } else return hit;
    }
    return hit;
  }

  function within(node, target) {
    for (let at = node; at; at = parentOf(at)) if (at === target || (at.tagName === "LABEL" && at.control === target)) return true;
    return false;
  }

  const describe = (node) => (node ? `${node.tagName.toLowerCase()}${node.id ? `#${node.id}` : ""}${node.classList && node.classList.length ? `.${[...node.classList].join(".")}` : ""}` : "nothing");

  /** Where to click: a point of the element that is in view and not covered. */
  function aim(el, surface) {
    const { x, y, clip } = offsetOf(el.ownerDocument.defaultView);
    let by = null;
    let seen = false;
    for (const rect of [...surface.getClientRects()].slice(0, 4)) {
      const left = Math.max(rect.left + x, clip.left), right = Math.min(rect.right + x, clip.right);
      const top = Math.max(rect.top + y, clip.top), bottom = Math.min(rect.bottom + y, clip.bottom);
      if (right - left < 2 || bottom - top < 2) continue;
      seen = true;
      for (const [fx, fy] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8]]) {
        const spot = { x: left + (right - left) * fx, y: top + (bottom - top) * fy };
        const hit = deepest(spot.x, spot.y);
        if (hit && within(hit, el)) return { inview: true, spot };
        by = by || describe(hit);
      }
    }
    return { inview: seen, spot: null, by };
  }

  /** A fixed layer over the whole viewport hides what is below the fold as well. */
  function veil() {
    const points = [[0.5, 0.5], [0.02, 0.02], [0.98, 0.02], [0.02, 0.98], [0.98, 0.98]];
    let layer = null;
    for (const [fx, fy] of points) {
      let at = deepest(window.innerWidth * fx, window.innerHeight * fy);
      while (at && at.ownerDocument === document && getComputedStyle(at).position !== "fixed") at = parentOf(at);
      if (!at || at.ownerDocument !== document || (layer && layer !== at && !within(layer, at) && !within(at, layer))) return null;
      layer = layer && within(layer, at) ? at : layer || at;
    }
    return layer;
  }

  function collect() {
    const found = [];
    const lines = [];
    let line = "";
    let size = 0;
    const LIMIT = 200000;
    const flush = () => {
      const text = squeeze(line).replace(/( \|)+$/, "");
      if (text) { lines.push(text); size += text.length + 1; }
      line = "";
    };
    let frames = 0;
    const add = (el, surface, role, frame) => found.push({ el, surface, role, frame });
    const shown = (el) => {
      const box = el.getBoundingClientRect();
      return box.width > 1 && box.height > 1;
    };
    function visit(node, pointer, frame, visible) {
      if (node.nodeType === Node.TEXT_NODE) {
        if (visible && size < LIMIT) line += node.data.length > LIMIT ? node.data.slice(0, LIMIT) : node.data;
        return;
      }
      if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName)) return;
      const style = getComputedStyle(node);
      if (style.display !== "contents" && !node.checkVisibility({ opacityProperty: true })) return;
      const seen = style.visibility === "visible";
      const block = !INLINE.has(style.display);
      if (block) flush();
      const role = roleOf(node);
      const points = style.cursor === "pointer";
      const top = node.tagName === "BODY" || node.tagName === "HTML";
      if (seen && !top) {
        const control = node.tagName === "LABEL" ? node.control : null;
        if (control && ["checkbox", "radio", "file"].includes(control.type) && !(control.checkVisibility({ opacityProperty: true }) && shown(control))) {
          if (shown(node)) add(control, node, roleOf(control), frame);
        } else if (role && ACTIVE.has(role)) {
          if (shown(node) || [...node.getClientRects()].some((box) => box.width > 1 && box.height > 1)) add(node, node, role, frame);
        } else if (!control && node.tagName !== "LABEL" && ((points && !pointer) || node.hasAttribute("onclick")) && shown(node)) add(node, node, "clickable", frame);
      }
      if (node.tagName === "IFRAME") {
        let page = null;
        try { page = node.contentDocument; } catch { page = null; }
        frames += 1;
        if (page && page.body && seen) visit(page.body, false, frames, true);
      } else if (node.tagName === "TEXTAREA" || node.tagName === "SELECT") {
        /* its value is told with the option */
      } else if (node.tagName === "BR") flush();
      else if (node.tagName === "IMG") { if (node.alt && seen) line += ` ${node.alt} `; }
      else if (node.tagName === "SLOT") {
        const given = node.assignedNodes({ flatten: true });
        for (const child of given.length ? given : node.childNodes) visit(child, points, frame, seen);
      } else for (const child of (node.shadowRoot || node).childNodes) visit(child, points, frame, seen);
      if (block) flush();
      else if (style.display === "table-cell") line += " | ";
      else if (style.display !== "inline" && style.display !== "contents") line += " ";
    }
    visit(document.body || document.documentElement, false, 0, true);
    flush();
    return { found, lines };
  }

  function optionsOf(el) {
    if (el.tagName !== "SELECT") return null;
    return [...el.options].slice(0, 400).map((option) => ({ label: squeeze(option.label), selected: option.selected, disabled: option.disabled || (option.parentElement.tagName === "OPTGROUP" && option.parentElement.disabled) }));
  }

  self.observe = () => {
    const { found, lines } = collect();
    const layer = veil();
    const kept = [];
    const covered = [];
    self.elements = [];
    for (const { el, surface, role, frame } of found) {
      const { inview, spot, by } = aim(el, surface);
      const hidden = inview ? !spot : layer !== null && !within(el.ownerDocument === document ? el : parentTop(el), layer);
      const name = nameOf(el, role).slice(0, 160);
      if (hidden) {
        if (covered.length < 200) covered.push({ role, name, by: by || describe(layer) });
        continue;
      }
      const box = surface.getBoundingClientRect();
      const { x, y } = offsetOf(el.ownerDocument.defaultView);
      self.elements.push({ el, surface });
      kept.push({
        role, name, tag: el.tagName.toLowerCase(), type: el.getAttribute("type") || "", value: valueOf(el), state: stateOf(el), scopes: scopesOf(el),
        box: [box.left + x, box.top + y, box.width, box.height].map(Math.round), inview, frame, options: optionsOf(el),
        href: el.href && typeof el.href === "string" ? el.href : null,
      });
    }
    const refused = new Set();
    let popups = 0;
    for (const frame of self.reachable()) {
      for (const name of frame.__arena__.refused) refused.add(name);
      popups += frame.__arena__.popups;
    }
    if (document.querySelector("video, audio")) refused.add("media");
    return { url: location.href, title: document.title, text: lines.join("\n"), elements: kept, covered, refused: [...refused], popups,
      scroll: [Math.round(window.scrollX), Math.round(window.scrollY)], viewport: [window.innerWidth, window.innerHeight] };
  };
  const parentTop = (el) => {
    let view = el.ownerDocument.defaultView;
    while (view.parent !== window && view !== window) view = view.parent;
    return view === window ? el : view.frameElement;
  };

  // --- acting: each returns { error } instead of acting on something that is gone or covered
  const get = (index) => {
    const entry = self.elements[index];
    return entry && entry.el.isConnected ? entry : null;
  };

  /** A point to click, in the top viewport; brings the element into view first when it must. */
  self.point = (index) => {
    const entry = get(index);
    if (!entry) return { error: "the element is gone" };
    let { spot, by } = aim(entry.el, entry.surface);
    let scrolled = false;
    if (!spot) {
      entry.surface.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      scrolled = true;
      ({ spot, by } = aim(entry.el, entry.surface));
    }
    return spot ? { ...spot, scrolled } : { error: `covered by ${by}`, scrolled };
  };

  const setter = (el) => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(el), "value").set;
  /** Focus a field with its content selected; fields that no keyboard fills are set here ("set": true). */
  self.enter = (index, value) => {
    const entry = get(index);
    if (!entry) return { error: "the element is gone" };
    const { el } = entry;
    const before = [window.scrollX, window.scrollY];
    el.focus({ preventScroll: false });
    const scrolled = before[0] !== window.scrollX || before[1] !== window.scrollY;
    const typed = ["date", "time", "month", "week", "datetime-local", "range", "color"].includes(el.type);
    if (el.tagName === "INPUT" && typed) {
      setter(el).call(el, value);
      el.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
      el.dispatchEvent(new Event("change", { bubbles: true, composed: true }));
      return { set: true, scrolled };
    }
    if (el.isContentEditable) el.ownerDocument.defaultView.getSelection().selectAllChildren(el);
    else el.select();
    return { set: false, scrolled };
  };

  self.choose = (index, option) => {
    const entry = get(index);
    if (!entry) return { error: "the element is gone" };
    const { el } = entry;
    const target = el.options[option];
    if (!target) return { error: "the option is gone" };
    el.focus();
    if (el.multiple) target.selected = !target.selected;
    else el.selectedIndex = option;
    el.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    el.dispatchEvent(new Event("change", { bubbles: true, composed: true }));
    return {};
  };

  /** Scroll by four fifths of a screen: the page, or else the largest scrollable part in view. */
  self.scroll = (direction) => {
    const room = (el) => el.scrollHeight - el.clientHeight > 4;
    let target = document.scrollingElement;
    if (!target || !room(target)) {
      const parts = [...document.querySelectorAll("*")].filter((el) => room(el) && /auto|scroll/.test(getComputedStyle(el).overflowY));
      const area = (el) => el.clientWidth * el.clientHeight;
      target = parts.sort((a, b) => area(b) - area(a))[0] || target;
    }
    if (target) target.scrollBy({ top: direction * 0.8 * target.clientHeight, behavior: "instant" });
    return {};
  };

  // --- probes: raw facts, judged elsewhere
  const short = (text) => (text.length > 400 ? text.slice(0, 400) : text);
  const probes = {
    url: () => ({ url: location.href }),
    state: ({ expr }) => {
      try {
        const state = typeof window.arenaState === "function" ? window.arenaState() : null;
        if (state === null) return { error: "the page has no arenaState()" };
        const value = new Function("state", `with (state) { return (${expr}); }`)(state);
        return { value: value === undefined ? null : JSON.parse(JSON.stringify(value)) };
      } catch (error) {
        return { error: String(error) };
      }
    },
    dom: ({ css }) => {
      try {
        const all = [...document.querySelectorAll(css)];
        const shown = all.filter((el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true }));
        return { count: all.length, visible: shown.length, texts: shown.slice(0, 50).map((el) => short(squeeze(el.innerText))), values: shown.slice(0, 50).map((el) => ("value" in el ? short(String(el.value)) : null)) };
      } catch (error) {
        return { error: String(error) };
      }
    },
    net: () => ({}),
    answer: () => ({}),
  };
  self.probe = (conditions) => conditions.map((condition) => probes[condition.kind](condition));
  self.appState = () => {
    try { return typeof window.arenaState === "function" ? JSON.stringify(window.arenaState()) : null; } catch (error) { return `error: ${error}`; }
  };
})();
