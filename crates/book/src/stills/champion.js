// The champion's page: a message and its slot, how the slot is put back, columns of sums, lines of the cache, launches that overlap.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    lab.still("slot", () => lab.picture({ title: text("slotTitle"), description: text("slotKey"), draw: (pen, narrow) => {
        const w = pen.width / 4;
        for (let k = 0; k < 4; k += 1) {
            const isRead = k < 2;
            pen.words(text("slotWord", { k }), (k + 0.5) * w, 8, { align: "center", size: 11, colour: inks.soft });
            pen.box(k * w + 2, 18, w - 4, 30, isRead ? { fill: inks.scale(0.1), stroke: inks.read, thick: 1.8 } : { stroke: inks.wait, dash: [2, 2] });
            pen.box(k * w + 2, 18, narrow ? 16 : 34, 30, { fill: isRead ? inks.write : inks.wait });
            pen.words(narrow ? "1" : text("slotFlag"), k * w + (narrow ? 10 : 19), 33.5, { align: "center", size: 11, bold: true, colour: inks.paper });
            pen.words(text("slotSum"), k * w + w / 2 + (narrow ? 8 : 17), 33.5, { align: "center", size: 12, colour: isRead ? inks.ink : inks.soft });
        }
        return 58 + lab.noted(pen, text("slotKey"), 56);
    } }));

    // Who writes the word of a block after whom: two launches, in the order that the accesses have.
    lab.still("put-back", () => {
        const events = [["sends", "block"], ["looks", "zero"], ["clears", "zero"], ["sends", "block"]];
        const said = events.map(([does, by], k) => text("putBackEvent", { k: k + 1, by: text(`putBack_${by}`), does: text(`putBack_${does}`) })).join(" ");
        return lab.picture({ title: text("putBackTitle"), description: said, draw: (pen, narrow) => {
            const w = pen.width / 4;
            events.forEach(([does, by], k) => {
                const y = by === "zero" ? 58 : 0;
                pen.box(k * w + 3, y, w - 6, 34, does === "looks" ? { stroke: inks.read, thick: 1.8 } : { fill: inks.scale(0.1), stroke: inks.write, thick: 1.8 });
                pen.words(text(`putBack_${by}`), (k + 0.5) * w, y + 11, { align: "center", size: 11, colour: inks.soft });
                pen.words(text(`putBack_${does}`), (k + 0.5) * w, y + 24, { align: "center", size: narrow ? 11 : 12, bold: true });
            });
            pen.arrow(0.5 * w, 35, 1.3 * w, 57, { colour: inks.read });
            pen.arrow(2 * w - 3, 75, 2 * w + 3, 75, { colour: inks.ink });
            pen.arrow(2.7 * w, 57, 3.5 * w, 35, { colour: inks.ink });
            pen.line([[3 * w, 0], [3 * w, 92]], { colour: inks.wait, dash: [4, 3] });
            return 98 + lab.noted(pen, text("putBackKey"), 96);
        } });
    });

    lab.still("sum-columns", () => {
        const [threads, lanes, vector] = [256, 32, 4];
        const rows = threads / vector / lanes;
        const said = text("sumColumnsSaid", { threads, vectors: threads / vector, rows });
        return lab.picture({ title: text("sumColumnsTitle"), description: said, draw: (pen, narrow) => {
            const w = pen.width / lanes;
            pen.words(text("lane0"), 0, 7, { size: 11, colour: inks.soft });
            pen.words("31", pen.width - 2, 7, { align: "right", size: 11, colour: inks.soft });
            for (let row = 0; row < rows; row += 1) for (let lane = 0; lane < lanes; lane += 1) {
                const [x, y] = [lane * w, 18 + row * 30];
                for (let k = 0; k < vector; k += 1) pen.box(x + 0.5, y + k * 6, w - 2, 5, { fill: lane === 0 ? inks.write : inks.scale(0.3) });
            }
            const y = 18 + rows * 30;
            pen.words(text("sumColumnsLane", { first: 0, second: lanes }), narrow ? 0 : w + 6, y + 6, { size: 11.5, bold: true });
            return y + 14 + lab.noted(pen, said, y + 14);
        } });
    });

    lab.still("lines", () => {
        const [past, count] = [52, 202];
        const head = (128 - past) / 4;
        const vectors = Math.floor((count - head) / 4);
        const parts = [{ name: "head", count: head }, { name: "body", count: vectors * 4 }, { name: "tail", count: count - head - 4 * vectors }];
        const said = text("linesSaid", { count, past, head, vectors, tail: parts[2].count });
        return lab.picture({ title: text("linesTitle"), description: said, draw: (pen) => {
            const words = Math.ceil((past / 4 + count) / 32) * 32;
            const w = pen.width / words;
            let word = past / 4;
            for (const { name, count: many } of parts) {
                pen.box(word * w, 16, many * w, 22, name === "body" ? { fill: inks.read } : { fill: inks.paper, stroke: inks.write, thick: 1.8 });
                word += many;
            }
            for (let line = 0; line <= words / 32; line += 1) {
                const x = Math.min(Math.max(line * 32 * w, 0.5), pen.width - 0.5);
                pen.line([[x, 8], [x, 46]], { colour: inks.ink });
                if (line < words / 32) pen.words(text("linesLine", { line }), x + 4, 53, { size: 11, colour: inks.soft });
            }
            return 62 + lab.noted(pen, said, 60);
        } });
    });

    lab.still("overlap", () => lab.picture({ title: text("overlapTitle"), description: text("overlapSaid"), draw: (pen, narrow) => {
        const size = narrow ? 10.5 : 12;
        const w = pen.width;
        const bar = (words, from, to, y, style) => {
            pen.box(from * w, y, (to - from) * w - 2, 26, style);
            pen.words(words, ((from + to) * w) / 2 - 1, y + 13.5, { align: "center", size });
        };
        pen.words(text("overlapFirst"), 0, 8, { size: 12, bold: true });
        bar(text("overlapWork"), 0, 0.62, 18, { fill: inks.scale(0.1), stroke: inks.line });
        pen.words(text("overlapSecond"), narrow ? 0 : 0.36 * w, 56, { size: 12, bold: true });
        bar(text("overlapEarly"), 0.36, 0.62, 66, { stroke: inks.read, thick: 1.8 });
        bar(text("overlapWork"), 0.62, 1, 66, { fill: inks.scale(0.1), stroke: inks.line });
        pen.line([[0.62 * w - 1, 12], [0.62 * w - 1, 98]], { colour: inks.problem, thick: 1.8, dash: [4, 3] });
        return 102 + lab.noted(pen, text("overlapSaid"), 98);
    } }));
})();
