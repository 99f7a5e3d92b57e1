// Diagrams of the machine: where things are in a multiprocessor, and how many warps its registers leave room for.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const noted = (pen, words, y) => 4 + pen.note(words, 0, y + 9, pen.width, { size: 11.5, colour: inks.soft });

    lab.still("machine", () => lab.picture({
        title: text("machineTitle"),
        description: text("machineSaid"),
        draw: (pen, narrow) => {
            const W = pen.width;
            const size = narrow ? 11 : 12.5;
            const named = (words, x, y, more = {}) => pen.words(words, x, y, { size, ...more });
            pen.box(1, 1, W - 2, 240, { stroke: inks.ink, thick: 1.6 });
            named(text("machineSm"), 12, 16, { bold: true });
            const schedulers = 4;
            const w = (W - 24) / schedulers;
            for (let k = 0; k < schedulers; k += 1) {
                const x = 12 + k * w;
                pen.box(x + 2, 30, w - 4, 100, { stroke: inks.wait });
                pen.words(text(narrow ? "schedulerShort" : "scheduler", { k }), x + w / 2, 42, { align: "center", size: narrow ? 10.5 : 12 });
                // A warp that issues: 32 lanes; below, those that wait for their turn.
                const tick = (w - 16) / 32;
                for (let lane = 0; lane < 32; lane += 1) pen.box(x + 8 + lane * tick, 54, Math.max(1.2, tick - 0.8), 14, { fill: inks.read });
                for (let row = 1; row < 5; row += 1) pen.box(x + 8, 54 + row * 14 + 4, w - 16, 9, { stroke: inks.wait, dash: [2, 2] });
            }
            let y = 140;
            pen.box(14, y, W - 28, 26, { fill: inks.scale(0.1), stroke: inks.line });
            named(text("machineRegisters"), W / 2, y + 13.5, { align: "center" });
            y += 34;
            const bank = (W - 28) / 32;
            for (let k = 0; k < 32; k += 1) pen.box(14 + k * bank + 0.5, y, bank - 1, 24, { fill: inks.scale(0.3), stroke: inks.line });
            y += 24;
            y += pen.note(text("machineShared"), 14, y + 10, W - 28, { size }) + 4;
            const end = 241;
            named(text("machineOthers"), W - 12, 16, { align: "right", size: narrow ? 10.5 : 11.5, colour: inks.soft });
            y = end + 22;
            pen.arrow(W / 2 - 6, y, W / 2 - 6, end + 2, { colour: inks.read });
            pen.arrow(W / 2 + 6, end + 2, W / 2 + 6, y, { colour: inks.write });
            pen.box(14, y, W - 28, 26, { fill: inks.scale(0.2), stroke: inks.line });
            named(text("machineCache"), W / 2, y + 13.5, { align: "center" });
            pen.arrow(W / 2 - 6, y + 46, W / 2 - 6, y + 27, { colour: inks.read });
            pen.arrow(W / 2 + 6, y + 27, W / 2 + 6, y + 46, { colour: inks.write });
            y += 46;
            pen.box(1, y, W - 2, 32, { fill: inks.scale(0.2), stroke: inks.ink, thick: 1.6 });
            named(text("machineMemory"), W / 2, y + 16.5, { align: "center", bold: true });
            return y + 36 + noted(pen, text("machineKey"), y + 36);
        },
    }));

    // Registers are dealt out to whole warps; the rest is division.
    const [REGISTERS, PLACES] = [65536, 64];
    const warpsOf = (each) => Math.min(PLACES, Math.floor(REGISTERS / (32 * each)));
    lab.still("occupancy", () => {
        const rows = [32, 64, 128].map((each) => ({ each, warps: warpsOf(each) }));
        const said = ({ each, warps }) => text("occupancySaid", { each, warps, threads: warps * 32, share: (100 * warps) / PLACES });
        return lab.picture({ title: text("occupancyTitle"), description: rows.map(said).join(" "), draw: (pen, narrow) => {
            const columns = narrow ? 32 : 64;
            const w = pen.width / columns;
            let y = 0;
            for (const row of rows) {
                y += pen.note(said(row), 0, y + 8, pen.width, { size: 12 }) + 4;
                for (let k = 0; k < PLACES; k += 1) {
                    const [x, top] = [(k % columns) * w, y + Math.floor(k / columns) * 15];
                    pen.box(x + 0.5, top, w - 1.5, 12, k < row.warps ? { fill: inks.read } : { stroke: inks.wait, dash: [2, 2] });
                }
                y += (PLACES / columns) * 15 + 6;
            }
            return y + noted(pen, text("occupancyKey"), y - 2);
        } });
    });
})();
