// Makes a page fit its window and the keyboard: a table that is too wide is set tighter, or else row under row; what still scrolls
// in a box of its own can be reached; a link into a fold opens it; the button of the sidebar is one. Without this script wide tables scroll.
(() => {
    "use strict";
    const main = document.querySelector("main");
    if (!main) return;
    const isTooWide = (box) => box.scrollWidth > box.clientWidth + 1;

    // Row under row, a table is no table any more for a screen reader unless it is told so.
    const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader", TD: "cell" };
    const setRoles = (table, isOn) => {
        for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
            if (isOn) part.setAttribute("role", ROLES[part.tagName]);
            else part.removeAttribute("role");
        }
    };
    const label = (table) => {
        const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
        for (const row of table.querySelectorAll("tbody tr")) {
            [...row.cells].forEach((cell, i) => { cell.dataset.label = heads[i] || ""; });
        }
    };
    // Names of kernels and counters break behind an underscore.
    for (const code of main.querySelectorAll(".table-wrapper :is(th, small) code")) {
        if (code.childElementCount === 0) code.replaceChildren(...code.textContent.split(/(?<=_)/).flatMap((part) => [part, document.createElement("wbr")]));
    }
    const fitTable = (box) => {
        const table = box.querySelector("table");
        if (!table || !box.checkVisibility()) return;
        box.classList.remove("is-tight", "is-stacked");
        setRoles(table, false);
        if (!isTooWide(box)) return;
        box.classList.add("is-tight");
        if (!isTooWide(box)) return;
        label(table);
        setRoles(table, true);
        box.classList.add("is-stacked");
    };
    const reach = (box) => {
        if (isTooWide(box)) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
    };
    const fit = () => {
        // Tables of the labs are the labs' own affair.
        for (const box of main.querySelectorAll(".table-wrapper")) if (!box.closest(".lab")) fitTable(box);
        for (const box of main.querySelectorAll("figure, .table-wrapper, pre > code")) if (!box.closest(".lab")) reach(box);
    };
    // Many folds may open at once: one look is enough.
    let waits = false;
    const later = () => {
        if (waits) return;
        waits = true;
        requestAnimationFrame(() => { waits = false; fit(); });
    };
    fit();
    addEventListener("load", later);
    document.fonts.ready.then(later);
    addEventListener("resize", later);
    document.addEventListener("toggle", later, true);

    // A link to a heading in a fold opens the fold, also in a browser that would not.
    const unfold = () => {
        const target = document.querySelector(":target");
        const folds = [...document.querySelectorAll("details:not([open])")].filter((fold) => fold.contains(target));
        if (!target || folds.length === 0) return;
        for (const fold of folds) fold.open = true;
        target.scrollIntoView();
    };
    unfold();
    addEventListener("hashchange", unfold);

    // mdBook has a label where a button is meant, which a keyboard cannot reach.
    const button = document.getElementById("mdbook-sidebar-toggle");
    if (button && button.tagName === "LABEL") {
        button.setAttribute("role", "button");
        button.tabIndex = 0;
        button.addEventListener("keydown", (event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            button.click();
        });
    }
})();
