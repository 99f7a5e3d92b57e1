// The small figures at the top of part two's chapters: their markup, beside this file, with what their scripts show first.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const idea = (name, slots = () => ({})) => lab.still(`idea-${name}`, () => {
        const { plan, ...others } = slots();
        const filled = { still: lab.idea.still(name, plan), plan, ...others };
        return readText(`crates/book/src/stills/idea-${name}.html`).replace(/\{(\w+)\}/g, (_, slot) => filled[slot]);
    });
    idea("operator");
    idea("softmax");
    idea("norm");
    idea("accuracy");
    // The map of the plan: an area for each way to take a row, and its name.
    idea("rows", () => {
        const { plan, stops, most, areas } = JSON.parse(rowsMap());
        const names = { t: "areaThread", g: "areaGroup", w: "areaWarp", b: "areaBlock", p: "areaParts" };
        const at = (stop) => Math.round((100 * (stop + 0.5)) / stops);
        return {
            plan,
            stops,
            last: stops - 1,
            most: lab.number(most),
            areas: areas.map(({ letter, path }) => `<path class="idea-${letter}" d="${path}"/>`).join(""),
            names: areas.map(({ letter, x, y }) => `<span class="idea-on-${letter}" style="left:${at(x)}%;bottom:${at(y)}%">${text(names[letter])}</span>`).join("\n"),
        };
    });
})();
