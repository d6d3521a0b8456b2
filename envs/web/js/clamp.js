// Runs after the page's clock was replaced: timers of 0 ms would make an advance of that clock endless, and
// performance.now flickers under a paused clock.
(() => {
  if (window.__arena__.clamped) return;
  window.__arena__.clamped = true;
  const { setInterval, setTimeout } = window;
  window.setInterval = (callback, delay, ...args) => setInterval(callback, Math.max(4, Number(delay) || 0), ...args);
  window.setTimeout = (callback, delay, ...args) => setTimeout(callback, Math.max(1, Number(delay) || 0), ...args);
  const start = Date.now();
  performance.now = () => Date.now() - start;
})();
