// How often a row comes from memory, of a run: what one block loads and stores between its barriers. And how what two parts of a row
// know becomes one.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    // Sectors of the row, of weights and biases, and of results, in each part of the block's work.
    const tripsOf = ({ model, shown, ...figure }) => lab.phases({ shown, ...figure }).map(({ from, to }) => {
        const found = { row: 0, weights: 0, out: 0 };
        for (const step of model.steps.slice(from, to)) {
            const isLoad = model.code[step.pc].kind === "load";
            for (const { space, mask, addresses, sectors } of step.accesses) {
                if (space !== "global") continue;
                const address = addresses[31 - Math.clz32(mask)];
                const at = model.buffers.findIndex((one) => address >= one.address && address < one.address + one.len * one.bytes);
                found[isLoad ? (at === 0 ? "row" : "weights") : "out"] += sectors;
            }
        }
        return found;
    });
    // What the block has at the end of each part; the last part is the results.
    const trips = (name, { slug, v, finds }) => lab.still(name, () => {
        const figure = lab.open({ slug, v, n: 256, b: 256 });
        const parts = tripsOf(figure);
        if (parts.length !== finds.length) throw new Error(`${v}: ${parts.length} parts, ${finds.length} names`);
        const said = ({ row, weights, out }) => [
            row ? text("tripRow", { row }) : text("tripNone"),
            weights ? text("tripWeights", { weights }) : "",
            out ? text("tripOut", { out }) : "",
        ].filter(Boolean);
        const description = parts.map((part, k) => `${text(finds[k])}: ${said(part).join(", ")}.`).join(" ");
        return lab.picture({ title: text("tripsTitle", { v }), description, to: [figure], draw: (pen, narrow) => {
            const w = pen.width / parts.length;
            const size = narrow ? 10.5 : 12;
            pen.box(0.5, 1, pen.width - 1, 24, { fill: inks.scale(0.2), stroke: inks.line });
            pen.words(text("tripMemory"), pen.width / 2, 13.5, { align: "center", size });
            parts.forEach((part, k) => {
                const middle = (k + 0.5) * w;
                pen.box(k * w + 8, 48, w - 16, 26, { fill: inks.scale(part.out ? 0 : 0.1), stroke: inks.ink });
                pen.words(text(finds[k]), middle, 61.5, { align: "center", size: size + 0.5, bold: true });
                said(part).forEach((words, i) => pen.words(words, middle, 84 + i * 15, { align: "center", size, colour: inks.soft }));
            });
            // Two arrows where a part of the work both loads and stores.
            parts.forEach(({ row, out }, k) => {
                const [middle, aside] = [(k + 0.5) * w, row && out ? w / 6 : 0];
                if (row) pen.arrow(middle - aside, 26, middle - aside, 47, { colour: inks.read, thick: 1.8 });
                if (out) pen.arrow(middle + aside, 47, middle + aside, 26, { colour: inks.write, thick: 1.8 });
                if (k) pen.line([[k * w, 30], [k * w, 90]], { colour: inks.problem, dash: [5, 4], thick: 1.8 });
            });
            const most = Math.max(...parts.map((part) => said(part).length));
            return 84 + most * 15 + lab.noted(pen, text("tripsKey"), 78 + most * 15);
        } });
    });
    const softmax = { three_passes: ["tripMaximum", "tripSum", "tripResults"], two_passes: ["tripPair", "tripResults"], held: ["tripPair", "tripResults"] };
    for (const [v, finds] of Object.entries(softmax)) trips(`softmax-${v.replace("_", "-")}`, { slug: "ch11-softmax", v, finds });
    const norms = { three_passes: ["tripMean", "tripVariance", "tripResults"], two_passes: ["tripMoments", "tripResults"], held: ["tripMoments", "tripResults"] };
    for (const [v, finds] of Object.entries(norms)) trips(`norm-${v.replace("_", "-")}`, { slug: "ch12-norms", v, finds });

    // Eight elements, merged in pairs of parts: every part is a few numbers, one below the other.
    const brief = (x) => String(Number(x.toFixed(3)));
    const merging = (name, { title, key, row, leaf, merge, said }) => lab.still(name, () => {
        const levels = [row.map((x, at) => ({ values: leaf(x), at: at + 0.5 }))];
        while (levels[0].length > 1) {
            const below = levels[0];
            levels.unshift(below.filter((_, k) => k % 2 === 0).map((a, k) => {
                const b = below[2 * k + 1];
                return { values: merge(a.values, b.values), at: (a.at + b.at) / 2 };
            }));
        }
        levels.reverse();
        const description = levels.map((level) => `${level.map(({ values }) => text(said, values.map(brief))).join(", ")}.`).join(" ");
        return lab.picture({ title: text(title), description, draw: (pen, narrow) => {
            const step = pen.width / row.length;
            const [w, line] = [Math.min(step - 4, 64), narrow ? 14 : 16];
            const h = levels[0][0].values.length * line + 4;
            const pitch = h + 24;
            const x = ({ at }) => at * step;
            row.forEach((value, k) => pen.words(value, (k + 0.5) * step, 7, { align: "center", size: 12, bold: true }));
            const top = (depth) => 18 + depth * pitch;
            levels.forEach((level, depth) => {
                const shade = depth / (levels.length - 1);
                for (const part of level) {
                    pen.box(x(part) - w / 2, top(depth), w, h, { fill: inks.scale(shade), stroke: inks.line });
                    part.values.forEach((value, i) => pen.words(brief(value), x(part), top(depth) + 3 + (i + 0.5) * line, { align: "center", size: narrow ? 11 : 12.5, bold: i === 0, colour: inks.on(shade) }));
                }
            });
            levels.slice(1).forEach((level, depth) => level.forEach((part, k) => {
                for (const from of [levels[depth][2 * k], levels[depth][2 * k + 1]]) pen.arrow(x(from), top(depth) + h, x(part), top(depth + 1) - 1, { colour: inks.read });
            }));
            const bottom = 18 + levels.length * pitch - 24;
            return bottom + lab.noted(pen, text(key), bottom);
        } });
    });
    merging("softmax-pairs", {
        title: "pairsTitle", key: "pairsKey", said: "pairSaid", row: [2, 1, 0, 3, -1, 1, 0, 2],
        leaf: (x) => [x, 1],
        merge: ([m, s], [n, t]) => {
            const larger = Math.max(m, n);
            return [larger, s * Math.exp(m - larger) + t * Math.exp(n - larger)];
        },
    });
    merging("norm-moments", {
        title: "momentsTitle", key: "momentsKey", said: "momentsSaid", row: [1, 3, 5, 3, 0, 2, 7, 3],
        leaf: (x) => [1, x, 0],
        merge: ([n, mean, squares], [count, other, more]) => {
            const [all, apart] = [n + count, other - mean];
            return [all, mean + (apart * count) / all, squares + more + (apart * apart * n * count) / all];
        },
    });
})();
