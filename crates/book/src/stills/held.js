// Rows that are held: how many a multiprocessor has room for, how the blocks of a cluster meet, and what goes down the columns.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    // Those of a multiprocessor.
    const REGISTERS = 65536;
    // What ptxas gave a kernel, and how many of its blocks fit.
    const instance = (file, kernel) => {
        const threads = Number(/t(\d+)v/.exec(kernel)[1]);
        const known = JSON.parse(resident(file, kernel, threads))?.kernels[kernel];
        if (!known) throw new Error(`measurements/instances.tsv has no ${kernel} of today's ${file}.cu`);
        const { registers: each, blocks: { [threads]: [blocks] } } = known;
        // Registers are dealt out to warps, in steps of 256.
        return { threads, each, blocks, given: Math.ceil(each / 8) * 8 };
    };
    // Each line is a kernel: the registers of all its blocks on a multiprocessor, and in them what they hold of their rows.
    lab.still("softmax-held-rows", () => {
        const kernels = [[1024, "large_softmax_t64v4"], [4096, "large_softmax_t128v8"], [8192, "large_softmax_t256v8"], [16384, "large_softmax_t256v16"]];
        const rows = kernels.map(([cols, name]) => {
            const kernel = `block_${name}_f32`;
            const { threads, each, given, blocks } = instance("ch11-softmax", kernel);
            const share = 4 * cols;
            if (threads * Number(/v(\d+)_/.exec(kernel)[1]) * 16 < share) throw new Error(`${kernel} does not hold ${cols} floats`);
            const held = text("kilobytes", { held: (blocks * share) / 1024 });
            return { threads, given, blocks, share, said: text("heldRows", { cols, threads, each, held, rows: blocks }) };
        });
        return lab.picture({ title: text("heldTitle"), description: rows.map(({ said }) => said).join(" "), draw: (pen, narrow) => {
            let y = 0;
            for (const { threads, given, blocks, share, said } of rows) {
                y += pen.note(said, 0, y + 8, pen.width, { size: 12 }) + 4;
                const full = pen.width - 2;
                pen.box(1, y, full, 22, { stroke: inks.wait, dash: [2, 2] });
                const w = (full * threads * given) / REGISTERS;
                for (let k = 0; k < blocks; k += 1) {
                    const gap = narrow ? 0.5 : 1;
                    pen.box(1 + k * w + gap, y + 2, w - 2 * gap, 18, { stroke: inks.ink });
                    pen.box(1 + k * w + gap, y + 2, (full * share) / (4 * REGISTERS) - gap, 18, { fill: inks.read });
                }
                y += 22 + 10;
            }
            return y + lab.noted(pen, text("heldKey"), y - 6);
        } });
    });

    // The blocks of a cluster: each writes its pair into the shared memory of all.
    const CLUSTER = 8;
    lab.still("softmax-cluster", () => lab.picture({ title: text("clusterTitle"), description: text("clusterSaid"), draw: (pen, narrow) => {
        const w = pen.width / CLUSTER;
        const cell = (w - (narrow ? 4 : 12)) / CLUSTER;
        const WRITER = 2;
        const blocks = Array.from({ length: CLUSTER }, (_, block) => ({ block, middle: (block + 0.5) * w, isWriter: block === WRITER }));
        const left = ({ middle }) => middle - (CLUSTER * cell) / 2;
        for (const { block, middle, isWriter } of blocks) {
            pen.box(middle - w / 2 + 3, 1, w - 6, 28, { fill: inks.scale(isWriter ? 0.3 : 0), stroke: isWriter ? inks.ink : inks.line });
            pen.words(text(narrow ? "clusterShort" : "blockName", { block }), middle, 15.5, { align: "center", size: narrow ? 11 : 12, bold: isWriter });
        }
        for (const one of blocks) pen.box(left(one), 84, CLUSTER * cell, 20, { fill: inks.scale(0.1), stroke: inks.line });
        for (const one of blocks) pen.line([[left(one) + (WRITER + 0.5) * cell, 85], [left(one) + (WRITER + 0.5) * cell, 103]], { colour: inks.read, thick: cell });
        for (const one of blocks) pen.arrow((WRITER + 0.5) * w, 30, left(one) + (WRITER + 0.5) * cell, 83, { colour: inks.write });
        return 104 + lab.noted(pen, text("clusterKey"), 104);
    } }));

    // A sum and a norm by two kernels, and by one: what comes from memory and goes there.
    lab.still("norm-added", () => lab.picture({ title: text("addedTitle"), description: `${text("addedTwo")} ${text("addedOne")}`, draw: (pen, narrow) => {
        const panels = [
            { title: "addedTwo", kernels: [{ name: "addedSum", in: ["x", "z"], out: ["x + z"] }, { name: "addedNorm", in: ["x + z"], out: ["y"] }] },
            { title: "addedOne", kernels: [{ name: "addedBoth", in: ["x", "z"], out: ["y", "x + z"] }] },
        ];
        const width = narrow ? pen.width : pen.width / 2 - 14;
        const arrows = [];
        panels.forEach(({ title, kernels }, i) => {
            const [x0, y0] = narrow ? [0, i * 116] : [i * (width + 28), 0];
            pen.words(text(title), x0, y0 + 8, { size: 12, bold: true });
            const w = width / kernels.length;
            kernels.forEach((kernel, k) => {
                const x = x0 + k * w;
                pen.box(x + 6, y0 + 54, w - 12, 20, { stroke: inks.ink });
                pen.words(text(kernel.name), x + w / 2, y0 + 64.5, { align: "center", size: 12, bold: true });
                const row = (names, y, isIn) => names.forEach((name, n) => {
                    const middle = x + ((n + 0.5) * w) / names.length;
                    const wide = Math.min(w / names.length - 8, 64);
                    pen.box(middle - wide / 2, y, wide, 18, { fill: inks.scale(0.2), stroke: inks.line });
                    pen.words(name, middle, y + 9.5, { align: "center", size: 12 });
                    const [top, end] = isIn ? [y + 18, y + 33] : [y - 16, y - 1];
                    arrows.push([middle, top, middle, end, { colour: isIn ? inks.read : inks.write }]);
                });
                row(kernel.in, y0 + 20, true);
                row(kernel.out, y0 + 91, false);
            });
        });
        for (const arrow of arrows) pen.arrow(...arrow);
        return narrow ? 228 : 112;
    } }));

    // The way back: six rows of eight columns, two blocks that take them in turns, and the sums that stay with the columns.
    const [ROWS, COLUMNS, TEAMS] = [6, 8, 2];
    lab.still("norm-way-back", () => lab.picture({ title: text("backTitle"), description: text("backSaid"), draw: (pen, narrow) => {
        const label = narrow ? 66 : 120;
        const found = narrow ? 84 : 190;
        const w = (pen.width - label - found) / COLUMNS;
        const size = narrow ? 10.5 : 12;
        const x = (column) => label + column * w;
        const cells = (y, style) => { for (let column = 0; column < COLUMNS; column += 1) pen.box(x(column) + 1, y, w - 2, 16, style); };
        const arrows = [];
        let y = 0;
        for (let team = 0; team < TEAMS; team += 1) {
            pen.words(text("blockName", { block: team }), 0, y + 8, { size, bold: true });
            y += 18;
            for (let row = team; row < ROWS; row += TEAMS) {
                pen.words(text("backRow", { row }), 8, y + 8, { size });
                cells(y, { fill: inks.scale(0.1), stroke: inks.line });
                arrows.push([x(COLUMNS) + 3, y + 8, x(COLUMNS) + 20, y + 8, { colour: inks.read }]);
                pen.words(text(narrow ? "backMeansShort" : "backMeans"), x(COLUMNS) + 24, y + 8, { size });
                y += 20;
            }
            for (let column = 0; column < COLUMNS; column += 1) arrows.push([x(column) + w / 2, y - 2, x(column) + w / 2, y + 13, { colour: inks.write }]);
            y += 14;
            pen.words(text(narrow ? "backSumsShort" : "backSums"), 8, y + 8, { size });
            cells(y, { fill: inks.scale(0.5), stroke: inks.write });
            y += 26;
        }
        const end = y;
        y += 8;
        pen.words(text("backLaunch"), 8, y + 8, { size, bold: true });
        cells(y, { fill: inks.scale(1), stroke: inks.write });
        pen.words(text(narrow ? "backGradientShort" : "backGradient"), x(COLUMNS) + 6, y + 8, { size });
        for (const arrow of arrows) pen.arrow(...arrow);
        pen.line([[0, end], [pen.width, end]], { colour: inks.problem, dash: [6, 4], thick: 1.6 });
        return y + 18 + lab.noted(pen, text("backKey"), y + 16);
    } }));
})();
