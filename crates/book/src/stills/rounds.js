// A run's rounds as rows and its warps as columns: which lanes add, which warps only come along to wait, which have ended.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    // Of each round with work: its name, whether a barrier ends it, and of each warp the lanes at work and those whose result is used.
    const roundsOf = (figure) => {
        const { model, shown } = figure;
        const rows = [];
        let start = shown.from;
        let from = shown.from;
        const all = lab.additions(figure, shown.from, shown.to);
        const endOf = lastWork(figure);
        for (const to of shown.ends.round) {
            const row = workIn(figure, all, from, to);
            const previous = rows[rows.length - 1];
            const isBarrier = shown.barriers.some((barrier) => barrier > start && barrier <= to);
            if (row && row.kind === "load" && previous && previous.kind === "load" && !previous.isBarrier) merge(previous, row);
            else if (row) rows.push({ ...row, from, ended: endOf.map((end) => end < from), isBarrier });
            if (isBarrier && rows.length) rows[rows.length - 1].isBarrier = true;
            if (row || isBarrier) start = to;
            from = to;
        }
        return rows;
    };
    // The last step in which each warp does more than test.
    const lastWork = ({ model, shown }) => {
        const last = new Array(model.warps).fill(-1);
        for (let i = shown.from; i < shown.to; i += 1) {
            const step = model.steps[i];
            if (step.reads.length || step.writes.length || step.sources || model.code[step.pc].isBarrier) last[step.warp] = i;
        }
        return last;
    };
    const merge = (into, { warps }) => into.warps.forEach((warp, i) => {
        for (const key of ["work", "used", "issued"]) warp[key] |= warps[i][key];
    });
    const workIn = ({ model, shown }, all, from, to) => {
        const { needed, versions } = model.replay;
        const isShared = (cell) => cell >= model.shared(0);
        const warps = Array.from({ length: model.warps }, () => ({ work: 0, used: 0, issued: 0 }));
        const kinds = new Set();
        const [added, read] = [[], []];
        let apart = 0;
        for (let i = from; i < to; i += 1) {
            const step = model.steps[i];
            const warp = warps[step.warp];
            warp.issued += 1;
            const { kind } = model.code[step.pc];
            const take = (lanes, isUsed) => lab.lanes(lanes, (k) => { warp.work |= 1 << k; if (isUsed(k)) warp.used |= 1 << k; });
            if (step.sources && kind === "shuffle") {
                take(step.reach, (k) => needed[step.made[k]]);
                apart = step.distance;
                kinds.add("shuffle");
            } else if (step.writes.some(({ cell }) => isShared(cell))) {
                const used = new Set(step.writes.filter(({ version }) => needed[versions.value[version]]).map(({ lane }) => lane));
                take(step.active, (k) => used.has(k));
                added.push(...all.filter((one) => one.step === step));
                kinds.add("store");
            } else if (kind === "load" && step.reads.some(({ cell }) => cell < model.n)) {
                const used = new Set(step.reads.filter(({ value }) => needed[value]).map(({ lane }) => lane));
                take(step.active, (k) => used.has(k));
                kinds.add("load");
            } else if (kind === "load") {
                read.push(...step.reads.filter(({ cell }) => isShared(cell)).map((one) => ({ ...one, warp: step.warp, mine: model.shared(shown.block) + step.warp * 32 + one.lane })));
            }
        }
        const foreign = added.map((one) => ({ ...one, sources: one.sources.filter(isShared) }));
        if (kinds.has("shuffle")) return { kind: "shuffle", apart, warps };
        if (kinds.has("store") && lab.distance(foreign)) return { kind: "add", apart: lab.distance(foreign), warps };
        if (kinds.has("load")) return { kind: "load", apart: 0, warps };
        if (kinds.has("store")) return { kind: "store", apart: 0, warps };
        // The last addition of some kernels goes straight to the result: the neighbour's word is read, and nothing written here.
        const isLast = !all.some(({ cell, step }) => isShared(cell) && model.steps.indexOf(step) >= from);
        const others = read.filter(({ cell, mine }) => cell !== mine);
        if (!isLast || others.length === 0 || new Set(others.map(({ cell, mine }) => cell - mine)).size !== 1) return null;
        for (const { warp, lane, value } of others) {
            warps[warp].work |= 1 << lane;
            if (needed[value]) warps[warp].used |= 1 << lane;
        }
        return { kind: "add", apart: others[0].cell - others[0].mine, warps };
    };
    const NAMES = { load: "rowLoad", store: "rowStore", add: "rowAdd", shuffle: "rowShuffle" };
    const nameOf = ({ kind, apart }) => text(NAMES[kind], { apart });

    // One warp in one round: a tick a lane.
    const cell = (pen, x, y, w, h, { work, used }, colour, hasEnded) => {
        if (!work && hasEnded) return;
        pen.box(x, y, w, h, { stroke: work ? inks.ink : inks.wait, thick: work ? 1.2 : 1, dash: work ? [] : [2, 2] });
        const tick = (w - 2) / 32;
        let first = -1;
        const is = (mask, k) => (mask >>> k) & 1;
        for (let k = 0; k <= 32; k += 1) {
            const state = k < 32 && is(work, k) ? (is(used, k) ? 2 : 1) : 0;
            if (first >= 0 && state !== first >> 6) {
                const from = first & 63;
                pen.box(x + 1 + from * tick, y + 1.5, Math.max(1.4, (k - from) * tick - (k - from === 1 ? 0.15 : 0)), h - 3, { fill: first >> 6 === 2 ? colour : inks.scale(0.3) });
                first = -1;
            }
            if (first < 0 && state) first = (state << 6) | k;
        }
    };

    // A panel of rounds; gives its height.
    const panel = (pen, { title, rows, warps, strips }, { x, y, width, narrow }) => {
        const label = narrow ? 54 : 60;
        const step = (width - label) / warps;
        const h = strips > 1 ? 11 : 15;
        const pitch = strips > 1 ? 32 : 24;
        let top = y;
        if (title) pen.words(title, x, top + 7, { size: 12.5, bold: true });
        top += title ? 20 : 0;
        for (let warp = 0; warp < warps; warp += 1) pen.words(narrow || step < 50 ? `w${warp}` : text("warp", { warp }), x + label + (warp + 0.5) * step, top + 6, { align: "center", size: 10.5, colour: inks.soft });
        top += 16;
        rows.forEach((group, i) => {
            const ys = top + i * pitch;
            pen.words(nameOf(group[0]), x, ys + (h * group.length) / 2, { size: 11.5, bold: true });
            group.forEach((row, strip) => row.warps.forEach((one, warp) => {
                cell(pen, x + label + warp * step + 2, ys + strip * (h + 3), step - 4, h, one, strip ? inks.read : group.length > 1 ? inks.write : inks.read, row.ended[warp]);
            }));
            if (group.length === 1 && group[0].isBarrier) pen.line([[x + label, ys + h + 4.5], [x + width, ys + h + 4.5]], { colour: inks.problem, thick: 1.6 });
        });
        return top + rows.length * pitch - y;
    };
    const key = (pen, words, y) => 6 + pen.note(words, 0, y + 8, pen.width, { size: 11.5, colour: inks.soft });

    const counted = (rows) => rows.map((row) => {
        const warps = row.warps.filter(({ work }) => work).length;
        const lanes = row.warps.reduce((sum, { work }) => sum + lab.count(work), 0);
        return text("roundSaid", { name: nameOf(row), lanes, warps });
    }).join(" ");

    lab.still("lanes-interleaved", () => {
        const figure = lab.open({ slug: "ch01-naive", v: "interleaved_modulo", n: 256, b: 256 });
        const rows = roundsOf(figure).filter(({ kind }) => kind === "add");
        return lab.picture({ title: text("lanesTitle", { name: "interleaved_modulo" }), description: counted(rows), to: [figure, rows[0].to], draw: (pen, narrow) => {
            const height = panel(pen, { rows: rows.map((row) => [row]).map(([row]) => [{ ...row, isBarrier: false }]), warps: 8 }, { x: 0, y: 0, width: pen.width, narrow });
            return height + key(pen, text("lanesKey"), height);
        } });
    });
    lab.still("lanes-gathered", () => {
        const figures = [["ch01-naive", "interleaved_modulo"], ["ch02-divergence", "strided_index"]].map(([slug, v]) => lab.open({ slug, v, n: 256, b: 256 }));
        const [spread, gathered] = figures.map((figure) => roundsOf(figure).filter(({ kind }) => kind === "add"));
        const rows = spread.map((row, i) => [row, gathered[i]]);
        const description = `${text("upperStrip")} ${counted(spread)} ${text("lowerStrip")} ${counted(gathered)}`;
        return lab.picture({ title: text("gatheredTitle"), description, to: [figures[1], gathered[0].to], draw: (pen, narrow) => {
            const height = panel(pen, { rows, warps: 8, strips: 2 }, { x: 0, y: 0, width: pen.width, narrow });
            return height + key(pen, text("gatheredKey"), height);
        } });
    });

    // Two runs side by side, or one under the other.
    const beside = (name, title, runs, keyWords) => lab.still(name, () => {
        const panels = runs.map(({ title: words, ...run }) => {
            const figure = lab.open(run);
            const rows = roundsOf(figure);
            const barriers = rows.filter(({ isBarrier }) => isBarrier).length;
            return { title: text(words, { barriers }), rows: rows.map((row) => [row]), all: rows, warps: figure.model.warps, figure };
        });
        const last = panels[panels.length - 1];
        return lab.picture({ title: text(title), to: [last.figure, last.all[0].to], description: panels.map((one) => `${one.title}. ${counted(one.all)}`).join(" "), draw: (pen, narrow) => {
            const width = narrow ? pen.width : pen.width / 2 - 12;
            let [y, most] = [0, 0];
            panels.forEach((one, i) => {
                const height = panel(pen, one, { x: narrow ? 0 : i * (width + 24), y, width, narrow });
                if (narrow) y += height + 12;
                most = Math.max(most, height);
            });
            const bottom = narrow ? y : most;
            return bottom + key(pen, text(keyWords), bottom);
        } });
    });
    beside("last-warp", "lastWarpTitle", [
        { title: "loopToTheEnd", slug: "ch04-first-add", v: "first_add", n: 512, b: 256 },
        { title: "lastWarpUnrolled", slug: "ch05-unroll", v: "unroll_syncwarp", n: 512, b: 256 },
    ], "lastWarpKey");
    beside("two-trees", "twoTreesTitle", [
        { title: "unrolledTree", slug: "ch06-templates", v: "template_unrolled", n: 512, b: 256 },
        { title: "shuffleTree", slug: "ch06-templates", v: "template_shuffle", n: 512, b: 256 },
    ], "lastWarpKey");
})();
