// Runs first in every page that the gate looks at: fixes the theme and writes down everything that goes wrong.
(() => {
  const theme = new URLSearchParams(location.search).get("__probe");
  const read = Storage.prototype.getItem;
  Storage.prototype.getItem = function (key) {
    return key === "mdbook-theme" ? theme : read.call(this, key);
  };
  const errors = (window.__errors = []);
  const log = console.error;
  console.error = (...words) => {
    errors.push("console error: " + words.join(" "));
    log(...words);
  };
  const failed = (event) => {
    const source = event.target && (event.target.src || event.target.href);
    errors.push(source ? "cannot load " + source : "script error: " + event.message);
  };
  window.addEventListener("error", failed, true);
  window.addEventListener("unhandledrejection", (event) => errors.push("unhandled rejection: " + event.reason));
  document.addEventListener("securitypolicyviolation", (event) =>
    errors.push("loads " + event.blockedURI + " (" + event.effectiveDirective + "): the book must read offline"));
})();
