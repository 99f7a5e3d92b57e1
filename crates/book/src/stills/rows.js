// Chapter 10: which words one load of a warp reads in a matrix, and who takes which part of a row, a column, a list of steps.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const COLUMNS = 64;
    // Parts bars by lines in the colour of the paper, which weigh less than a box for each part.
    const parted = (pen, x, w, count, top, bottom, but = count) => {
        for (let k = 1; k < count; k += 1) if (k % but) pen.line([[x + k * w, top], [x + k * w, bottom]], { colour: inks.paper, thick: 1.2 });
    };

    // The first load of warp 0: a run of the lab's own case, whose rows have 64 words of four bytes.
    const loadOf = (v) => {
        const figure = lab.open({ slug: "ch10-rows", v, n: 2048, b: 256 });
        const { model } = figure;
        const step = model.steps.find((one) => one.warp === 0 && one.reads.length && /^ld\.global/.test(model.code[one.pc].opcode));
        const words = step.reads.map(({ lane, cell }) => ({ lane, word: cell - model.buffers[0].first }));
        const [access] = step.accesses;
        return { figure, words, sectors: access.sectors, bytes: 4 * new Set(words.map(({ word }) => word)).size };
    };
    const load = (name, v) => lab.still(name, () => {
        const { figure, words, sectors, bytes } = loadOf(v);
        const last = Math.max(...words.map(({ word }) => Math.floor(word / COLUMNS)));
        const rows = Math.max(4, last + 1);
        const said = text("rowsSaid", { v, rows: last + 1, sectors, bytes, fetched: 32 * sectors });
        return lab.picture({ title: text("rowsTitle", { v }), description: said, to: [figure], draw: (pen, narrow) => {
            const label = narrow ? 40 : 52;
            const w = (pen.width - label) / COLUMNS;
            const h = rows > 8 ? 6 : 14;
            let y = pen.note(said, 0, 8, pen.width, { size: 12 }) + 6;
            for (let row = 0; row < rows; row += 1) {
                const top = y + row * (h + 2);
                if (rows <= 8 || row === 0 || row === rows - 1) pen.words(text("rowName", { row }), 0, top + h / 2, { size: 11, colour: inks.soft });
                if (rows <= 8) pen.box(label, top, COLUMNS * w, h, { stroke: inks.line });
            }
            // Many rows, of each of which a lane reads the same word, are columns that lines part.
            if (rows > 8) {
                pen.box(label, y, COLUMNS * w, rows * (h + 2) - 2, { stroke: inks.line });
                pen.box(label, y, 8 * w, rows * (h + 2) - 2, { fill: inks.scale(0.2), stroke: inks.ink });
                pen.box(label + (words[0].word % COLUMNS) * w, y, w, rows * (h + 2) - 2, { fill: inks.read });
                for (let row = 1; row < rows; row += 1) pen.line([[label, y + row * (h + 2) - 1], [label + COLUMNS * w, y + row * (h + 2) - 1]], { colour: inks.paper, thick: 2 });
                return y + rows * (h + 2) + lab.noted(pen, text("rowsKey"), y + rows * (h + 2));
            }
            for (const sector of new Set(words.map(({ word }) => Math.floor(word / 8)))) {
                const [row, k] = [Math.floor(sector / 8), (sector % 8) * 8];
                pen.box(label + k * w, y + row * (h + 2), 8 * w, h, { fill: inks.scale(0.2), stroke: inks.ink });
            }
            const spans = [];
            for (const word of words.map((one) => one.word).sort((a, b) => a - b)) {
                const span = spans[spans.length - 1];
                if (span && span.end === word && word % COLUMNS) span.end += 1;
                else spans.push({ word, end: word + 1 });
            }
            for (const { word, end } of spans) {
                const [x, top] = [label + (word % COLUMNS) * w, y + Math.floor(word / COLUMNS) * (h + 2) + 1];
                pen.box(x + 0.4, top, (end - word) * w - 0.8, h - 2, { fill: inks.read });
            }
            parted(pen, label, w, spans[0].end - spans[0].word, y + 1, y + rows * (h + 2), 8);
            y += rows * (h + 2);
            return y + lab.noted(pen, text("rowsKey"), y);
        } });
    });
    load("rows-thread", "thread_a_row");
    load("rows-groups", "groups");

    // A block of 256 threads over a row of 64 elements: which warps load anything.
    lab.still("rows-block", () => {
        const figure = lab.open({ slug: "ch10-rows", v: "block_a_row", n: 2048, b: 256 });
        const { model, shown } = figure;
        const lanes = new Array(model.warps).fill(0);
        for (const step of model.steps.slice(shown.from, shown.to)) {
            if (/^ld\.global/.test(model.code[step.pc].opcode)) lanes[step.warp] |= step.active;
        }
        const loads = lanes.map((mask) => lab.count(mask));
        const idle = loads.filter((count) => count === 0).length;
        const said = text("rowBlockSaid", { busy: loads.length - idle, idle });
        return lab.picture({ title: text("rowBlockTitle"), description: said, to: [figure], draw: (pen, narrow) => {
            const columns = narrow ? 4 : 8;
            const w = pen.width / columns;
            loads.forEach((count, warp) => {
                const [x, y] = [(warp % columns) * w, Math.floor(warp / columns) * 46];
                pen.words(text("warpName", { warp }), x + 2, y + 8, { size: 11, bold: count > 0 });
                pen.box(x + 1, y + 18, w - 4, 22, count ? { fill: inks.read } : { stroke: inks.wait, dash: [2, 2] });
                pen.words(count ? text("warpLoads", { count }) : text("warpIdentity"), x + w / 2 - 1, y + 29.5, { align: "center", size: 11, colour: count ? inks.paper : inks.soft });
            });
            const y = (8 / columns) * 46;
            return y + lab.noted(pen, said, y);
        } });
    });

    lab.still("xor-offsets", () => {
        const rows = [{ name: text("loaded"), values: [3, 1, 4, 1, 5, 9, 2, 6] }];
        for (const offset of [4, 2, 1]) {
            const { values } = rows[rows.length - 1];
            rows.push({ name: text("xorBy", { offset }), offset, values: values.map((value, lane) => value + values[lane ^ offset]) });
        }
        const said = rows.map(({ name, values }) => text("treeRow", { label: name, values: values.join(", ") })).join(" ");
        return lab.picture({ title: text("xorTitle"), description: said, draw: (pen, narrow) => {
            const label = narrow ? 56 : 90;
            const w = (pen.width - label) / 8;
            const top = (row) => 18 + row * 58;
            const x = (lane) => label + (lane + 0.5) * w;
            for (let lane = 0; lane < 8; lane += 1) pen.words(narrow ? lane : text("lane", { lane }), x(lane), 7, { align: "center", size: 11, colour: inks.soft });
            rows.forEach(({ name, offset, values }, row) => {
                if (offset) for (let lane = 0; lane < 8; lane += 1) pen.line([[x(lane ^ offset), top(row - 1) + 24], [x(lane), top(row)]], { colour: inks.read, thick: 1.1 });
                pen.words(name, 0, top(row) + 12, { size: narrow ? 11 : 12, bold: true });
                lab.boxes(pen, values, { x: label, y: top(row), w, gap: 6, size: 13, style: { fill: inks.scale(0.1 * (row + 1)), stroke: inks.line, ink: inks.on(0.1 * (row + 1)) } });
            });
            return top(3) + 30 + lab.noted(pen, text("xorKey"), top(3) + 28);
        } });
    });

    lab.still("odd-elements", () => {
        const cols = 63;
        const rows = [0, 1, 2, 3].map((row) => {
            const head = (4 - ((row * cols) % 4)) % 4;
            const vectors = Math.floor((cols - head) / 4);
            return { row, past: (row * cols * 4) % 16, head, vectors, tail: cols - head - 4 * vectors };
        });
        const said = rows.map((row) => text("oddSaid", row)).join(" ");
        return lab.picture({ title: text("oddTitle"), description: said, draw: (pen, narrow) => {
            // Sixteen-byte places stand under each other: a row begins in one of four columns.
            const shown = narrow ? 8 : 12;
            const label = narrow ? 36 : 52;
            const gap = 20;
            const w = (pen.width - label - gap) / (2 * shown);
            rows.forEach((row, r) => {
                const y = 4 + r * 30;
                pen.words(text("rowName", { row: row.row }), 0, y + 11, { size: 11, bold: true });
                const draw = (place, at) => {
                    const isOdd = place < row.head || place >= row.head + 4 * row.vectors;
                    pen.box(at + 1, y, w - 2, 22, isOdd ? { fill: inks.paper, stroke: inks.write, thick: 1.8 } : { fill: inks.read });
                    if (isOdd || (place - row.head) % 4 === 0) pen.words(place, at + w / 2, y + 11.5, { align: "center", size: narrow ? 9.5 : 11, colour: isOdd ? inks.ink : inks.paper });
                };
                const begin = row.past / 4;
                for (let k = begin; k < shown; k += 1) draw(k - begin, label + k * w);
                const end = label + shown * w + gap;
                const back = (begin + cols) % 4 || 4;
                const first = cols - (shown - 4 + back);
                for (let place = first; place < cols; place += 1) draw(place, end + (place - first) * w);
                pen.words("…", label + shown * w + gap / 2, y + 10, { align: "center", size: 13 });
            });
            for (let k = 0; k <= shown; k += 4) for (const x of [label, label + shown * w + gap]) pen.line([[x + k * w, 0], [x + k * w, 124]], { colour: inks.soft, dash: [2, 3] });
            return 128 + lab.noted(pen, text("oddKey"), 126);
        } });
    });

    lab.still("parts", () => {
        const [rows, parts, last] = [8, 24, 7];
        const said = text("partsSaid", { rows, parts, blocks: rows * parts, ticket: parts - 1 });
        return lab.picture({ title: text("partsTitle", { rows, parts }), description: said, draw: (pen, narrow) => {
            const label = narrow ? 38 : 52;
            const w = (pen.width - label) / parts;
            for (let row = 0; row < rows; row += 1) {
                const y = row * 17 + (row > 0 ? 26 : 0);
                pen.words(text("rowName", { row }), 0, y + 7, { size: 11, bold: row === 0 });
                pen.box(label, y, parts * w, 13, { fill: inks.scale(0.2) });
                if (row === 0) pen.box(label + last * w, y, w, 13, { fill: inks.write });
                if (row === 0) pen.words(text("partsLast", { ticket: parts - 1 }), label + (last + 0.5) * w, 27, { size: 11.5, bold: true });
            }
            const y = rows * 17 + 26;
            parted(pen, label, w, parts, 0, 13);
            parted(pen, label, w, parts, 43, y - 4);
            return y + lab.noted(pen, said, y);
        } });
    });

    lab.still("columns", () => {
        const [lanes, each, ways] = [32, 4, 8];
        const said = text("columnsSaid", { lanes, each, columns: lanes * each, rows: ways });
        return lab.picture({ title: text("columnsTitle"), description: said, draw: (pen, narrow) => {
            const label = narrow ? 46 : 66;
            const w = (pen.width - label) / lanes;
            pen.words(text("lane0"), label, 7, { size: 11, colour: inks.soft });
            pen.words("31", pen.width - 2, 7, { align: "right", size: 11, colour: inks.soft });
            for (let row = 0; row < ways; row += 1) {
                const y = 18 + row * 15;
                pen.words(text("warpName", { warp: row }), 0, y + 6, { size: 11 });
                pen.box(label, y, lanes * w, 11, { fill: inks.read });
                pen.box(label + 5 * w, y, w, 11, { fill: inks.write });
            }
            const y = 18 + ways * 15;
            parted(pen, label, w, lanes, 18, y - 4);
            pen.arrow(label + 5.5 * w, y, label + 5.5 * w, y + 18, { colour: inks.write });
            pen.words(text("columnsMeet", { rows: ways, each }), label + 7 * w, y + 9, { size: narrow ? 10.5 : 11.5 });
            pen.box(label, y + 20, lanes * w, 11, { fill: inks.scale(0.2) });
            pen.box(label + 5 * w, y + 20, w, 11, { fill: inks.write });
            parted(pen, label, w, lanes, y + 20, y + 31);
            pen.words(text("columnsOut"), 0, y + 26, { size: 11, bold: true });
            return y + 36 + lab.noted(pen, said, y + 36);
        } });
    });

    lab.still("merge-path", () => {
        const offsets = [0, 3, 3, 7];
        const [rows, elements, each] = [offsets.length - 1, offsets[offsets.length - 1], 4];
        const steps = [];
        for (let row = 0; row < rows; row += 1) {
            for (let k = offsets[row]; k < offsets[row + 1]; k += 1) steps.push("e");
            steps.push("|");
        }
        const at = (step) => {
            const ended = steps.slice(0, step).filter((one) => one === "|").length;
            return { step, row: ended, element: step - ended };
        };
        const cuts = [];
        for (let step = 0; step < steps.length; step += each) cuts.push(at(step));
        const said = text("pathSaid", { list: steps.join(" "), cuts: cuts.map((cut) => text("pathCut", cut)).join("; ") });
        return lab.picture({ title: text("pathTitle"), description: said, draw: (pen, narrow) => {
            const label = narrow ? 46 : 60;
            const w = Math.min(74, (pen.width - label - 10) / elements);
            const h = 40;
            const [x, y] = [(element) => label + element * w, (row) => 26 + row * h];
            for (let element = 0; element <= elements; element += 1) {
                pen.line([[x(element), y(0)], [x(element), y(rows)]], { colour: inks.line });
                if (element < elements) pen.words(`in[${element}]`, x(element + 0.5), 12, { align: "center", size: 11, colour: inks.soft });
            }
            for (let row = 0; row <= rows; row += 1) {
                pen.line([[x(0), y(row)], [x(elements), y(row)]], { colour: inks.line });
                if (row < rows) pen.words(text("rowName", { row }), 0, y(row + 0.5), { size: 11, colour: inks.soft });
            }
            const points = Array.from({ length: steps.length + 1 }, (_, step) => at(step));
            pen.line(points.map(({ row, element }) => [x(element), y(row)]), { colour: inks.read, thick: 3 });
            for (const { step, row, element } of cuts) {
                pen.box(x(element) - 5, y(row) - 5, 10, 10, { fill: inks.write });
                const isLate = element > elements / 2;
                pen.words(text("pathStep", { step }), x(element) + (isLate ? -9 : 9), y(row) + 14, { align: isLate ? "right" : "left", size: 11, bold: true });
            }
            return y(rows) + 10 + lab.noted(pen, text("pathKey", { each }), y(rows) + 8);
        } });
    });
})();
