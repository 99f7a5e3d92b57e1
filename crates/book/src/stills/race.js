// Two lanes of a warp without a barrier between their lines: in lockstep, and apart. And lanes that hand values on, where nothing can race.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const key = (step, lane) => `${step.pc}:${lane}`;

    // Of each read of shared memory by warp 0 behind the last barrier: who wrote what it found.
    const readsOf = ({ model, shown }) => {
        const { versions } = model.replay;
        const found = [];
        const from = shown.barriers[shown.barriers.length - 1];
        for (let i = from; i < shown.to; i += 1) {
            const step = model.steps[i];
            for (const { lane, cell, version } of step.warp === 0 ? step.reads : []) {
                const writer = versions.writer[version];
                const by = writer < 0 ? null : model.steps[writer].writes.find((one) => one.version === version);
                if (cell >= model.shared(0)) found.push({ i, step, lane, cell, value: versions.shown[version], writer: by && { i: writer, step: model.steps[writer], lane: by.lane } });
            }
        }
        return found;
    };
    // The lanes that the page tells of: the one that reads, and the one whose write it was meant to see.
    const [READER, WRITER] = [0, 8];
    // A read of theirs that comes before the write, if the run has one.
    const tooEarly = (lockstep, apart) => {
        const meant = new Map(readsOf(lockstep).map((read) => [key(read.step, read.lane), read]));
        for (const read of readsOf(apart).filter(({ lane }) => lane === READER)) {
            const { writer: by } = meant.get(key(read.step, read.lane)) || {};
            if (!by || by.lane !== WRITER) continue;
            const late = apart.model.steps.findIndex((step, i) => i > read.i && step.pc === by.step.pc && step.warp === 0 && step.writes.some(({ lane }) => lane === WRITER));
            if (late < 0) continue;
            const { version } = apart.model.steps[late].writes.find(({ lane }) => lane === WRITER);
            return { read, late, by, coming: apart.model.replay.versions.shown[version] };
        }
        return null;
    };
    const SEEDS = 100;
    const parted = (run, lockstep) => {
        for (let seed = 0; seed < SEEDS; seed += 1) {
            const apart = lab.open({ ...run, s: `independent:${seed}` });
            const found = tooEarly(lockstep, apart);
            if (found) return { apart, ...found };
        }
        throw new Error(`no seed of ${SEEDS} lets lane ${READER} run ahead of lane ${WRITER}`);
    };
    // What two lanes do in shared memory on two lines: one event for each line's reads, one for each write.
    const eventsOf = ({ model, shown }, lanes, lines) => {
        const events = [];
        for (let i = shown.from; i < shown.to; i += 1) {
            const step = model.steps[i];
            if (step.warp !== 0 || !lines.includes(model.code[step.pc].line) || i < shown.barriers[shown.barriers.length - 1]) continue;
            for (const lane of lanes) for (const kind of ["reads", "writes"]) {
                const words = step[kind].filter((one) => one.lane === lane).map(({ cell }) => cell - model.shared(0));
                const open = events.find((one) => one.lane === lane && one.kind === kind && one.line === model.code[step.pc].line);
                if (words.length && open) Object.assign(open, { i, words: [...new Set([...open.words, ...words])] });
                else if (words.length) events.push({ lane, kind, words, i, line: model.code[step.pc].line });
            }
        }
        return events.sort((a, b) => a.i - b.i);
    };

    lab.still("race", () => {
        const { opening } = lab.dataOf("ch05-unroll");
        const run = { slug: "ch05-unroll", v: opening.variant, n: opening.n, b: opening.block };
        const lockstep = lab.open({ ...run, s: "lockstep" });
        const { apart, read, by, coming } = parted(run, lockstep);
        const lanes = [read.lane, by.lane].sort((a, b) => a - b);
        const lines = [by.step, read.step].map((step) => lockstep.model.code[step.pc].line);
        const word = read.cell - apart.model.shared(0);
        const panels = [
            { title: text("bothTogether"), figure: lockstep, isRight: true, words: text("raceRight", { lane: read.lane, word }) },
            { title: text("ahead", { lane: read.lane }), figure: apart, isRight: false, words: text("raceWrong", { lane: read.lane, word, value: read.value, other: by.lane, meant: coming }) },
        ].map((panel) => ({ ...panel, events: eventsOf(panel.figure, lanes, lines) }));
        const values = ({ lane, words }) => ({ lane, words: words.map((one) => `[${one}]`).join(", ") });
        const nameOf = (event) => text(`race_${event.kind}`, values(event));
        const said = (event) => text(`raceSaid_${event.kind}`, values(event));
        const description = panels.map(({ title, events, words }) => `${title}: ${events.map(said).join(" ")} ${words}`).join(" ");
        return lab.picture({ title: text("raceTitle"), description, to: [apart, read.i + 1], draw: (pen, narrow) => {
            const width = narrow ? pen.width : pen.width / 2 - 16;
            let [y, most] = [0, 0];
            panels.forEach(({ title, events, isRight, words }, place) => {
                const x = narrow ? 0 : place * (width + 32);
                const middle = lanes.map((_, i) => x + width * (0.25 + 0.5 * i));
                const rows = [...new Set(events.map(({ i }) => i))];
                const rowOf = ({ i }) => y + 46 + rows.indexOf(i) * 36;
                pen.words(title, x + width / 2, y + 8, { align: "center", size: 12.5, bold: true });
                lanes.forEach((lane, i) => {
                    pen.words(text("lane", { lane }), middle[i], y + 27, { align: "center", size: 11.5, colour: inks.soft });
                    pen.line([[middle[i], y + 36], [middle[i], y + 46 + rows.length * 36]], { colour: inks.line });
                });
                const w = width * 0.44;
                const isKey = (one) => (one.lane === read.lane && one.kind === "reads" && one.line === lines[1]) || (one.lane === by.lane && one.kind === "writes" && one.line === lines[0]);
                const [write, late] = [events.find((one) => isKey(one) && one.kind === "writes"), events.find((one) => isKey(one) && one.kind === "reads")];
                const colour = isRight ? inks.right : inks.problem;
                const side = (one) => middle[lanes.indexOf(one.lane)] + (one.lane === lanes[0] ? w / 2 : -w / 2);
                pen.arrow(side(write), rowOf(write) + 13, side(late), rowOf(late) + 13, { colour, thick: 1.8, dash: isRight ? [] : [5, 3] });
                for (const one of events) {
                    const at = middle[lanes.indexOf(one.lane)];
                    pen.box(at - w / 2, rowOf(one), w, 26, { fill: inks.paper, stroke: isKey(one) ? colour : inks.wait, thick: isKey(one) ? 2 : 1 });
                    pen.words(nameOf(one), at, rowOf(one) + 13.5, { align: "center", size: 12, bold: isKey(one) });
                }
                const below = y + 46 + rows.length * 36 + 8;
                const height = below - y + pen.note(words, x + 4, below, width - 8, { size: 12, colour });
                if (narrow) y += height + 16;
                most = Math.max(most, height);
            });
            return narrow ? y : most;
        } });
    });

    // The last shuffles of a warp: the lanes that still matter, and those that add something nobody reads.
    const LANES = 8;
    lab.still("shuffle-down", () => {
        const figure = lab.open({ slug: "ch05-unroll", v: "unroll_shuffle", n: 128, b: 64 });
        const { model, view } = figure;
        const { needed } = model.replay;
        const steps = model.steps.map((step, i) => ({ step, i })).filter(({ step }) => step.sources && step.distance < LANES);
        const row = (label, at, edges) => {
            view.seek(at);
            const cells = Array.from({ length: LANES }, (_, column) => ({ column, ...view.laneValue(0, column), isLive: Boolean(needed[model.steps[view.lane[column]].made[column]]) }));
            return { label, cells, edges };
        };
        const rows = [row(text("register"), steps[0].i, [])];
        for (const { step, i } of steps) {
            const added = model.steps.findIndex((one, at) => at > i && one.warp === 0 && one.made && model.code[one.pc].kind === "compute");
            const made = row(text("offset", { distance: step.distance }), added + 1, []);
            made.edges = made.cells.filter(({ isLive }) => isLive).map(({ column }) => ({ to: column, from: [column, column + step.distance], thread: column }));
            rows.push(made);
        }
        const description = rows.map(({ label, cells }) => text("treeRow", { label, values: cells.map(({ shown, isLive }) => (isLive ? shown : text("unread", { shown }))).join(", ") })).join(" ");
        return lab.picture({ title: text("shuffleTitle"), description, to: [figure, steps[0].i], draw: (pen, narrow) => {
            const height = lab.drawTree(pen, rows.map((one) => ({ ...one, edges: one.edges.map((edge) => ({ ...edge, isQuiet: true })) })), { x: 0, y: 0, width: pen.width, columns: LANES, n: 128, narrow, names: (lane) => text(narrow ? "laneShort" : "lane", { lane }) });
            return height;
        } });
    });
})();
