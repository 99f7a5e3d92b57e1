// The search is loaded when it is wanted: what it needs weighs more than most pages. `cargo course book` leaves its scripts in the page
// with a type that browsers do not load; where they are loaded already, this does nothing.
(() => {
    "use strict";
    const later = [...document.querySelectorAll('script[type="text/later"]')];
    if (later.length === 0) return;
    const toggle = document.getElementById("mdbook-search-toggle");
    const one = (src) => new Promise((done, failed) => {
        document.head.append(Object.assign(document.createElement("script"), { src, async: false, onload: done, onerror: failed }));
    });
    let loading = null;
    // Each of them leaves something that the next one takes; the order is that of the page.
    const load = () => (loading ||= Promise.all(later.map((script) => one(script.dataset.src))));
    const isTyping = ({ target }) => /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable;
    const onClick = (event) => {
        event.stopImmediatePropagation();
        load().then(forget).then(() => toggle.click());
    };
    const onKey = (event) => {
        if ((event.key !== "s" && event.key !== "/") || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isTyping(event)) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        load().then(forget).then(() => toggle.click());
    };
    const forget = () => {
        toggle?.removeEventListener("click", onClick, true);
        removeEventListener("keydown", onKey, true);
    };
    toggle?.addEventListener("click", onClick, true);
    addEventListener("keydown", onKey, true);
    // A page that a search led to marks what was looked for.
    if (/[?&](search|highlight)=/.test(location.search)) load().then(forget);
})();
