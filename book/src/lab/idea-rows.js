// What takes a row of a matrix: the team that the chapter's own plan chooses for the rows and columns of two sliders. The plan comes
// with the page (`crates/course/src/rows.rs`).
(() => {
    "use strict";
    const { text, number, idea } = reductionLab;
    // `g8*3` is 8 lanes at three stops; `p24x4192` is 24 blocks with up to 4192 elements each.
    const compute = ({ rows, cols, data }) => {
        const [stops, columns] = data.split("|").map((part, i) => part.split(i ? ";" : " "));
        const teams = columns[cols].split(" ").flatMap((run) => Array(Number(run.split("*")[1])).fill(run));
        const [, kind, count, length] = /^([tgbp])(\d*)x?(\d*)/.exec(teams[rows]);
        return { rows: Number(stops[rows]), cols: Number(stops[cols]), kind, count: Number(count), length: Number(length), most: stops.length };
    };
    // A warp's lanes, a block's warps or a row's blocks, and how many of them have one row: a shade each.
    const teamOf = ({ kind, count }) => {
        if (kind === "b") return ["rowsWarps", count / 32, count / 32];
        return kind === "p" ? ["rowsBlocks", count, count] : ["rowsLanes", 32, count || 1];
    };
    const show = (state) => {
        const here = compute(state);
        const { rows, cols, kind, count, length, most } = here;
        const words = { rows, cols, bytes: 4 * cols, count, together: 32 / count, length };
        const [name, all, each] = teamOf(here);
        const key = { t: "rowsThread", g: count === 32 ? "rowsWarp" : "rowsGroup", b: "rowsBlock", p: "rowsParts" }[kind];
        const at = (stop) => `${(100 * (stop + 0.5)) / most}%`;
        return {
            below: `<div class="idea-team" style="--all:${all};--each:${each}"></div><small>${text(name, { count: all })}</small>`,
            say: text(key, words),
            values: { rows: number(rows), cols: number(cols) },
            style: { "--across": at(state.cols), "--up": at(state.rows) },
        };
    };
    // A touch on the map moves the sliders.
    const wire = (figure) => {
        const map = figure.querySelector(".idea-map");
        const move = (event) => {
            if (!event.buttons) return;
            const box = map.getBoundingClientRect();
            const places = { cols: (event.clientX - box.left) / box.width, rows: (box.bottom - event.clientY) / box.height };
            for (const [name, place] of Object.entries(places)) {
                const slider = figure.querySelector(`[data-set="${name}"]`);
                slider.value = Math.floor(place * (Number(slider.max) + 1));
                slider.dispatchEvent(new Event("input"));
            }
        };
        map.addEventListener("pointerdown", move);
        map.addEventListener("pointermove", move);
    };
    idea.define("rows", { start: { rows: 31, cols: 11 }, compute, show, wire });
})();
