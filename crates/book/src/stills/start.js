// What the labs' scripts expect of a browser, as far as drawing needs it.
(() => {
    "use strict";
    globalThis.reductionLab = { waiting: new Map(), root: "" };
    globalThis.window = { devicePixelRatio: 1 };
    globalThis.matchMedia = () => ({ matches: true });
    const grouped = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    globalThis.Intl = { NumberFormat: class { format(value) { return grouped(value); } } };
})();
