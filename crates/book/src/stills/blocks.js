// Whole grids: launches that follow each other, who takes which elements, and ways for blocks to meet.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const noted = (pen, words, y, more = {}) => 4 + pen.note(words, 0, y + 9, pen.width, { size: 11.5, colour: inks.soft, ...more });

    // Where a block's threads load from the input.
    const slice = (figure, block) => {
        const { model } = figure;
        const { from, to } = model.blocks.find((one) => one.block === block);
        const read = model.steps.slice(from, to).flatMap((step) => step.reads).map(({ cell }) => cell).filter((cell) => cell < model.n);
        return { first: Math.min(...read), last: Math.max(...read) };
    };
    lab.still("passes", () => {
        const figure = lab.open({ slug: "ch01-naive", v: "interleaved_modulo", n: 128, b: 32 });
        const { outputs } = figure.reply.json;
        const grids = figure.chosen.launches.map(({ grid }) => grid[0]);
        if (grids.join() !== "4,1") throw new Error("not two launches of 4 blocks and 1");
        const parts = Array.from({ length: 4 }, (_, block) => ({ ...slice(figure, block), sum: outputs.sums0[block] }));
        const result = outputs.sums1[0];
        const description = `${parts.map((part, block) => text("passSaid", { block, ...part })).join(" ")} ${text("passEnd", { result })}`;
        return lab.picture({ title: text("passesTitle"), description, to: [figure], draw: (pen, narrow) => {
            const w = pen.width / 4;
            const [size, x] = [narrow ? 10.5 : 12, (k) => (k + 0.5) * w];
            pen.words(text("launchOf", { launch: 1, blocks: 4 }), 0, 8, { size: 12.5, bold: true });
            parts.forEach(({ first, last, sum }, k) => {
                pen.box(x(k) - w / 2 + 4, 22, w - 8, 26, { fill: inks.scale(0.1), stroke: inks.line });
                pen.words(text(narrow ? "sliceShort" : "slice", { first, last }), x(k), 35.5, { align: "center", size });
                pen.arrow(x(k), 48, x(k), 65, { colour: inks.read });
                pen.box(x(k) - w / 2 + 4, 66, w - 8, 26, { stroke: inks.ink });
                pen.words(text("blockName", { block: k }), x(k), 79.5, { align: "center", size });
                pen.arrow(x(k), 92, x(k), 109, { colour: inks.write });
                pen.box(x(k) - 26, 110, 52, 24, { fill: inks.scale(0.5), stroke: inks.write, thick: 1.6 });
                pen.words(sum, x(k), 122.5, { align: "center", size: 12.5, bold: true, colour: inks.on(0.5) });
            });
            const [at, y] = [pen.width / 2, 178];
            parts.forEach((_, k) => pen.arrow(x(k), 134, at + (k - 1.5) * (w / 6), y - 1, { colour: inks.read }));
            pen.line([[0, 148], [pen.width, 148]], { colour: inks.problem, dash: [6, 4], thick: 1.6 });
            pen.words(text("launchOf", { launch: 2, blocks: 1 }), 0, y + 13, { size: narrow ? 11.5 : 12.5, bold: true });
            pen.box(at - w / 2 + 4, y, w - 8, 26, { stroke: inks.ink });
            pen.words(text("blockName", { block: 0 }), at, y + 13.5, { align: "center", size });
            pen.arrow(at + w / 2 - 4, y + 13, at + w / 2 + 22, y + 13, { colour: inks.write });
            pen.box(at + w / 2 + 23, y, 58, 26, { fill: inks.scale(1), stroke: inks.write, thick: 1.6 });
            pen.words(result, at + w / 2 + 52, y + 13.5, { align: "center", size: 13, bold: true, colour: inks.on(1) });
            return y + 30 + noted(pen, text("endOfLaunch"), y + 32);
        } });
    });

    // Groups of 32 elements, each of which a warp takes with one load: whose they are, and in which order a warp takes them.
    const groupsOf = (figure) => {
        const { model } = figure;
        const groups = new Map();
        const loads = new Map();
        for (const step of model.recorded) {
            const read = step.reads.filter(({ cell }) => cell < model.n);
            if (read.length === 0) continue;
            const warp = `${step.block}:${step.warp}`;
            loads.set(warp, (loads.get(warp) || 0) + 1);
            for (const { cell } of read) groups.set(cell >> 5, { block: step.block, load: loads.get(warp) });
        }
        return Array.from({ length: model.n / 32 }, (_, group) => groups.get(group));
    };
    lab.still("coarsening", () => {
        const rows = [["segmented_atomic", null], ["coarsened", null], ["grid_stride", 2]].map(([v, g]) => {
            const figure = lab.open({ slug: "ch07-coarsening", v, n: 1024, b: 64, g });
            const groups = groupsOf(figure);
            const blocks = new Set(groups.map(({ block }) => block)).size;
            return { v, figure, groups, blocks, loads: Math.max(...groups.map(({ load }) => load)) };
        });
        const nameOf = ({ v, blocks, loads }) => text("dealt", { v, blocks, loads });
        const description = rows.map((row) => `${nameOf(row)}: ${row.groups.map(({ block, load }, group) => text("groupSaid", { group, block, load })).join("; ")}.`).join(" ");
        return lab.picture({ title: text("coarseningTitle"), description, to: [rows[2].figure], draw: (pen, narrow) => {
            const columns = narrow ? 16 : 32;
            const w = pen.width / columns;
            const most = Math.max(...rows.map(({ loads }) => loads));
            let y = 0;
            for (const row of rows) {
                y += pen.note(nameOf(row), 0, y + 8, pen.width, { size: 12, bold: true }) + 4;
                row.groups.forEach(({ block, load }, k) => {
                    const [x, top] = [(k % columns) * w, y + Math.floor(k / columns) * 26];
                    const depth = most > 1 ? (load - 1) / (most - 1) : 0;
                    pen.box(x + 0.5, top, w - 1, 22, { fill: inks.scale(depth), stroke: inks.line });
                    pen.words(block, x + w / 2, top + 11.5, { align: "center", size: 12, bold: true, colour: inks.on(depth) });
                });
                y += (32 / columns) * 26 + 10;
            }
            return y + noted(pen, text("coarseningKey"), y - 6);
        } });
    });
})();
