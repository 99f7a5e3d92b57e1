// The link to a page's edition in another language keeps the reader's place: the lab's state in the address, and what stands at the top of
// the view. Without this script it leads to the top of the page.
(() => {
    "use strict";
    const links = [...document.querySelectorAll(".right-buttons a.edition")];
    const places = [...document.querySelectorAll("main :is(h1, h2, h3, h4, h5, h6, section, figure)[id]")];
    // The last place that begins at the top of the view, which the menu bar may cover, or above it.
    const BAR_PX = 80;
    const top = () => (scrollY > 0 && places.filter((place) => !place.closest("details:not([open])") && place.getBoundingClientRect().top < BAR_PX).at(-1)?.id) || "";
    // The menu bar may be out of view, and the page scrolls to its top when the keyboard comes there: this is where it came from.
    let left = "";
    addEventListener("keydown", ({ target }) => { if (!target.closest?.(".menu-bar")) left = top(); }, true);
    for (const link of links) {
        const page = link.getAttribute("href");
        const aim = (id) => {
            const isLab = location.hash.startsWith("#lab=");
            // The lab begins as it stands, and does not come into view by itself.
            link.href = page + (isLab ? `${location.hash.replace(/&top=[^&]*/, "")}&top=${id}` : id && `#${id}`);
        };
        link.addEventListener("pointerdown", () => aim(top()));
        link.addEventListener("click", ({ detail }) => aim(detail ? top() : left));
    }
    const id = location.hash.startsWith("#lab=") && new URLSearchParams(location.hash.slice(1)).get("top");
    const place = id && document.getElementById(id);
    if (!place) return;
    // The lab above it grows while it starts. Then, or when the reader moves, it is left alone.
    const keep = new ResizeObserver(() => place.scrollIntoView({ behavior: "instant" }));
    keep.observe(document.querySelector("main"));
    setTimeout(() => keep.disconnect(), 5000);
    for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(event, () => keep.disconnect(), { once: true, passive: true });
})();
