// Links to the glossary show what their term means: to a mouse that points at them, to a keyboard that comes by, to a first
// touch (a second one follows the link). Escape puts it away. Without this script the browser shows the same words as a title.
(() => {
    "use strict";
    const GAP_PX = 6;
    const links = [...document.querySelectorAll('main a[title][href*="glossary"]')];
    if (links.length === 0) return;

    const box = Object.assign(document.createElement("div"), { className: "term-meaning", id: "term-meaning", hidden: true });
    box.setAttribute("role", "tooltip");
    document.body.append(box);
    let shown = null;
    let timer = 0;

    // Words between backquotes are code.
    const write = (text) => {
        box.replaceChildren(...text.split("`").map((part, i) => {
            if (i % 2 === 0) return part;
            return Object.assign(document.createElement("code"), { textContent: part });
        }));
    };
    // Under the link's first line, or over it where there is no room; never past the window's sides.
    const place = (link) => {
        const at = link.getClientRects()[0] || link.getBoundingClientRect();
        box.style.left = box.style.top = "0px";
        const { width, height } = box.getBoundingClientRect();
        const left = Math.max(GAP_PX, Math.min(at.left, document.documentElement.clientWidth - width - GAP_PX));
        const fits = at.bottom + GAP_PX + height < innerHeight || at.top < height + GAP_PX;
        const top = fits ? at.bottom + GAP_PX : at.top - GAP_PX - height;
        box.style.left = `${left + scrollX}px`;
        box.style.top = `${top + scrollY}px`;
    };
    const hide = () => {
        clearTimeout(timer);
        if (!shown) return;
        shown.removeAttribute("aria-describedby");
        shown = null;
        box.hidden = true;
    };
    const show = (link, more) => {
        hide();
        write(more ? `${link.dataset.meaning} ${more}` : link.dataset.meaning);
        box.hidden = false;
        link.setAttribute("aria-describedby", box.id);
        shown = link;
        place(link);
    };
    const later = (act, ms) => {
        clearTimeout(timer);
        timer = setTimeout(act, ms);
    };

    for (const link of links) {
        link.dataset.meaning = link.title;
        link.removeAttribute("title");
        let touch = false;
        link.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") later(() => show(link), 120); });
        link.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") later(hide, 250); });
        link.addEventListener("pointerdown", (event) => { touch = event.pointerType !== "mouse"; });
        link.addEventListener("focus", () => { if (link.matches(":focus-visible")) show(link); });
        link.addEventListener("blur", hide);
        link.addEventListener("click", (event) => {
            const isFirst = touch && shown !== link;
            touch = false;
            if (!isFirst) return;
            event.preventDefault();
            show(link, window.reductionWords.tapAgain);
        });
    }
    // Who moves the mouse onto the words may read them.
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => later(hide, 250));
    document.addEventListener("pointerdown", (event) => { if (shown && !shown.contains(event.target) && !box.contains(event.target)) hide(); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    addEventListener("resize", hide);
})();
