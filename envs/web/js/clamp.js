// Runs after the page's clock was replaced. Timers of 0 ms would make an advance of that clock endless. What the
// replaced clock derives from its own ticks (performance.now, animation frames, event times) starts at a random
// phase, because ticks ran on while the clock was being installed: derive all of it from Date instead.
(() => {
  if (window.__arena__.clamped) return;
  window.__arena__.clamped = true;
  const { setInterval, setTimeout, clearTimeout } = window;
  window.setInterval = (callback, delay, ...args) => setInterval(callback, Math.max(4, Number(delay) || 0), ...args);
  window.setTimeout = (callback, delay, ...args) => setTimeout(callback, Math.max(1, Number(delay) || 0), ...args);
  const start = Date.now();
  const now = () => Date.now() - start;
  performance.now = now;
  window.requestAnimationFrame = (callback) => setTimeout(() => callback(now()), 16 - (now() % 16));
  window.cancelAnimationFrame = (id) => clearTimeout(id);
  Object.defineProperty(Event.prototype, "timeStamp", { get: now, configurable: true });
})();
