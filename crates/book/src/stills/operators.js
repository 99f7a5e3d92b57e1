// Chapter 9: what operators hold, what changes nothing for them, how their values travel and merge.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    lab.noted = (pen, words, y) => 4 + pen.note(words, 0, y + 9, pen.width, { size: 11.5, colour: inks.soft });
    // Boxes beside each other, each with a word; a null is a gap. `style` is one for all, or a function of the place.
    lab.boxes = (pen, words, { x, y, w, h = 24, size = 12, gap = 2, style = { stroke: inks.line } }) => words.forEach((word, k) => {
        if (word === null) return;
        const one = typeof style === "function" ? style(k) : style;
        pen.box(x + k * w + gap / 2, y, w - gap, h, one);
        pen.words(word, x + (k + 0.5) * w, y + h / 2 + 0.5, { align: "center", size, bold: one.bold, colour: one.ink || inks.ink });
    });
    const said = (value) => (Number.isNaN(value) ? "NaN" : String(value).replace("-", "−"));

    lab.still("identity", () => {
        const input = [3, 1, 4, 1, 5];
        const rows = [
            { name: "sum", nothing: 0, shown: "0", combine: (a, b) => a + b },
            { name: "product", nothing: 1, shown: "1", combine: (a, b) => a * b },
            { name: "max", nothing: -(2 ** 31), shown: "−2³¹", combine: (a, b) => Math.max(a, b) },
        ].map((row) => ({ ...row, result: [...input, row.nothing, row.nothing, row.nothing].reduce(row.combine) }));
        const description = rows.map((row) => text("identitySaid", { name: row.name, nothing: row.shown, result: row.result })).join(" ");
        return lab.picture({ title: text("identityTitle"), description, draw: (pen, narrow) => {
            const [label, end] = narrow ? [60, 42] : [84, 90];
            const w = (pen.width - label - end) / 8;
            rows.forEach((row, i) => {
                const y = i * 34;
                pen.words(row.name, 0, y + 12, { size: 12, bold: true });
                const words = [...input, row.shown, row.shown, row.shown];
                lab.boxes(pen, words, { x: label, y, w, size: narrow ? 10.5 : 13, style: (k) => (k < 5 ? { fill: inks.scale(0.1), stroke: inks.line } : { stroke: inks.wait, dash: [2, 2], ink: inks.soft }) });
                pen.arrow(pen.width - end + 4, y + 12, pen.width - end + 18, y + 12, { colour: inks.read });
                pen.words(row.result, pen.width - end + 23, y + 12, { size: 13, bold: true });
            });
            return 100 + lab.noted(pen, text("identityKey"), 98);
        } });
    });

    lab.still("value-words", () => {
        const all = [["sum", ["sum"]], ["argmax", ["key", "~index"]], ["meanvar", ["count", "mean", "squares"]]].map(([name, words]) => ({ words, said: text("wordsSaid", { name, words: words.length }) }));
        return lab.picture({ title: text("wordsTitle"), description: all.map((one) => one.said).join(" "), draw: (pen, narrow) => {
            const width = narrow ? pen.width : pen.width / 3;
            const w = narrow ? 62 : 56;
            all.forEach(({ words, said: head }, i) => {
                const [x, y] = narrow ? [0, i * 98] : [i * width, 0];
                pen.words(head, x, y + 8, { size: 12, bold: true });
                for (const [lane, top] of [[16, y + 20], [0, y + 62]]) {
                    pen.words(text("lane", { lane }), x, top + 12, { size: 11, colour: inks.soft });
                    lab.boxes(pen, words, { x: x + 48, y: top, w, size: 11, style: lane ? { stroke: inks.line } : { fill: inks.scale(0.1), stroke: inks.read } });
                }
                words.forEach((_, k) => pen.arrow(x + 48 + (k + 0.5) * w, y + 44, x + 48 + (k + 0.5) * w, y + 61, { colour: inks.read }));
            });
            const end = (narrow ? 2 * 98 : 0) + 92;
            return end + lab.noted(pen, text("wordsKey"), end);
        } });
    });

    lab.still("tie", () => {
        const input = [3, 9, 2, 9];
        const hex = (word) => (word >>> 0).toString(16).padStart(8, "0");
        const rows = input.map((x, i) => ({ x, i, key: hex(x ^ 0x80000000), place: hex(~i) }));
        const best = rows.reduce((a, b) => (a.key + a.place > b.key + b.place ? a : b));
        const description = `${rows.map((row) => text("tieRow", row)).join(" ")} ${text("tieSaid", { x: best.x, i: best.i })}`;
        return lab.picture({ title: text("tieTitle"), description, draw: (pen, narrow) => {
            const [label, w] = narrow ? [76, 92] : [110, 120];
            pen.words(text("tieElement"), 0, 8, { size: 11, colour: inks.soft });
            ["key", "~index"].forEach((head, k) => pen.words(head, label + (k + 0.5) * w, 8, { align: "center", size: 11, colour: inks.soft }));
            rows.forEach((row, r) => {
                const y = 18 + r * 28;
                const isBest = row === best;
                pen.words(`in[${row.i}] = ${row.x}`, 0, y + 12, { size: 12, bold: isBest });
                lab.boxes(pen, [row.key, row.place], { x: label, y, w, gap: 0, size: narrow ? 11.5 : 13, style: isBest ? { fill: inks.scale(0.1), stroke: inks.read, thick: 1.8, bold: true } : { stroke: inks.line } });
                if (isBest) pen.words(text("tieWins"), label + 2 * w + 10, y + 12, { size: 12, bold: true });
            });
            return 130 + lab.noted(pen, text("tieKey"), 130);
        } });
    });

    lab.still("nan-rules", () => {
        const [a, b, c] = [5, NaN, 3];
        const rules = [
            { name: "a > b ? a : b", of: (x, y) => (x > y ? x : y) },
            { name: "max", of: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)) },
            { name: "maximum", of: Math.max },
        ].map(({ name, of }) => ({ name, results: [of(of(a, b), c), of(a, of(b, c))].map(said) }));
        const heads = ["((5, NaN), 3)", "(5, (NaN, 3))"];
        const description = rules.map(({ name, results }) => text("nanSaid", { name, left: results[0], right: results[1] })).join(" ");
        return lab.picture({ title: text("nanTitle"), description, draw: (pen, narrow) => {
            const [label, w] = narrow ? [100, 116] : [150, 150];
            heads.forEach((head, k) => pen.words(head, label + (k + 0.5) * w, 9, { align: "center", size: 12, bold: true }));
            rules.forEach(({ name, results }, r) => {
                const y = 22 + r * 30;
                pen.words(name, 0, y + 12, { size: 12, bold: true });
                const isSame = results[0] === results[1];
                lab.boxes(pen, results, { x: label, y, w, gap: 6, size: 13, style: { stroke: isSame ? inks.right : inks.problem, thick: 1.8, bold: true } });
                if (!narrow) pen.words(text(isSame ? "nanSame" : "nanDiffers"), label + 2 * w + 14, y + 12, { size: 12, colour: inks.soft });
            });
            return 112 + lab.noted(pen, text("nanKey"), 110);
        } });
    });

    lab.still("bytes", () => {
        const bytes = [7, -2, 5, 1];
        const total = bytes.reduce((sum, byte) => sum + byte, 0);
        const loads = [["fold", 1], ["vectors", 16]].map(([name, each]) => ({ name, bytes: 32 * each, sectors: each }));
        const description = `${loads.map((load) => text("bytesSaid", load)).join(" ")} ${text("bytesAdd", { bytes: bytes.map(said).join(", "), total })}`;
        return lab.picture({ title: text("bytesTitle"), description, draw: (pen, narrow) => {
            const w = pen.width / 16;
            let y = 0;
            for (const load of loads) {
                y += pen.note(text("bytesSaid", load), 0, y + 8, pen.width, { size: 12 }) + 4;
                for (let k = 0; k < 16; k += 1) pen.box(k * w + 0.5, y, w - 2, 16, k < load.sectors ? { fill: inks.read } : { stroke: inks.wait, dash: [2, 2] });
                y += 26;
            }
            pen.words("dp4a", 0, y + 12, { size: 12, bold: true });
            const [x, cell] = [narrow ? 44 : 60, narrow ? 30 : 36];
            lab.boxes(pen, bytes.map(said), { x, y, w: cell, style: { fill: inks.scale(0.1), stroke: inks.line } });
            lab.boxes(pen, [1, 1, 1, 1], { x, y: y + 28, w: cell, style: { stroke: inks.line } });
            const end = x + 4 * cell;
            pen.words("·", x - 8, y + 40, { size: 14, align: "center" });
            pen.arrow(end + 6, y + 26, end + 26, y + 26, { colour: inks.read });
            pen.words(text("bytesSum", { total }), end + 32, y + 26, { size: 12, bold: true });
            return y + 56 + lab.noted(pen, text("bytesKey"), y + 56);
        } });
    });

    lab.still("two-means", () => {
        const moments = (numbers) => {
            const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
            return { numbers, count: numbers.length, mean, squares: numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) };
        };
        const [a, b] = [moments([1, 3]), moments([7, 9])];
        const apart = b.mean - a.mean;
        const share = b.count / (a.count + b.count);
        const all = { count: a.count + b.count, mean: a.mean + apart * share, squares: a.squares + b.squares + apart * apart * a.count * share };
        if (all.squares !== moments([...a.numbers, ...b.numbers]).squares) throw new Error("the merge is not the whole");
        const told = ({ numbers, count, mean, squares }) => text("meansPart", { numbers: numbers.join(", "), count, mean, squares });
        const between = apart * apart * a.count * share;
        const description = [told(a), told(b), text("meansAll", { ...all, a: a.squares, b: b.squares, between })].join(" ");
        return lab.picture({ title: text("meansTitle"), description, draw: (pen, narrow) => {
            const x = (value) => 14 + (value / 10) * (pen.width - 28);
            const line = 66;
            pen.line([[x(0), line], [x(10), line]], { colour: inks.soft });
            for (let value = 0; value <= 10; value += 1) {
                pen.line([[x(value), line - 3], [x(value), line + 3]], { colour: inks.soft });
                pen.words(value, x(value), line + 14, { align: "center", size: 11, colour: inks.soft });
            }
            for (const { numbers, mean } of [a, b]) {
                for (const value of numbers) pen.box(x(value) - 6, line - 6, 12, 12, { fill: inks.read });
                pen.line([[x(mean), line - 26], [x(mean), line + 4]], { colour: inks.ink, thick: 2 });
                pen.words(text("meansMean", { mean }), x(mean), line - 34, { align: "center", size: 12, bold: true });
            }
            pen.line([[x(a.mean), 12], [x(b.mean), 12]], { colour: inks.write, thick: 1.6 });
            pen.line([[x(a.mean), 7], [x(a.mean), 17]], { colour: inks.write, thick: 1.6 });
            pen.line([[x(b.mean), 7], [x(b.mean), 17]], { colour: inks.write, thick: 1.6 });
            pen.words(text("meansApart", { apart }), x(all.mean), 22, { align: "center", size: 12 });
            return 92 + pen.note(text("meansAll", { ...all, a: a.squares, b: b.squares, between }), 0, 100, pen.width, { size: narrow ? 11.5 : 12.5 });
        } });
    });

    lab.still("flags", () => {
        const values = [[2, 5, 8], [2, 4, 2], [2, 6, 18]];
        const names = ["count", "mean", "squares"];
        const description = `${values.map((value, k) => text("flagsSaid", { block: k + 1, value: value.join(", ") })).join(" ")} ${text("flagsKey")}`;
        return lab.picture({ title: text("flagsTitle"), description, draw: (pen, narrow) => {
            const label = narrow ? 54 : 90;
            const w = (pen.width - label - (narrow ? 0 : 150)) / 4;
            names.forEach((name, k) => pen.words(name, label + (k + 0.5) * w, 8, { align: "center", size: 11, colour: inks.soft }));
            values.forEach((value, r) => {
                const y = 18 + r * 34;
                pen.words(text("blockName", { block: r + 1 }), 0, y + 13, { size: narrow ? 11.5 : 12, bold: true });
                for (let k = 0; k < 4; k += 1) {
                    const is = k < 3;
                    pen.box(label + k * w + 1, y, w - 2, 26, is ? { fill: inks.scale(0.1), stroke: inks.line } : { stroke: inks.wait, dash: [2, 2] });
                    if (!is) continue;
                    pen.box(label + k * w + 1, y, narrow ? 14 : 20, 26, { fill: inks.write });
                    pen.words("1", label + k * w + (narrow ? 8 : 11), y + 13.5, { align: "center", size: 12, bold: true, colour: inks.paper });
                    pen.words(value[k], label + k * w + w / 2 + (narrow ? 6 : 10), y + 13.5, { align: "center", size: 13 });
                }
                if (!narrow) {
                    pen.arrow(label + 4 * w + 4, y + 13, label + 4 * w + 44, 18 + 34 + 13 + (r - 1) * 6, { colour: inks.read });
                }
            });
            if (!narrow) pen.words(text("flagsTake"), label + 4 * w + 52, 18 + 34 + 13, { size: 12, bold: true });
            return 122 + lab.noted(pen, text("flagsKey"), 118);
        } });
    });
})();
