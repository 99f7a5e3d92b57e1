// Trees of additions, from runs of a few threads over eight numbers: a row of words after each round, and who added what to what.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const INPUT = [3, 1, 4, 1, 5, 9, 2, 6];

    // The words of a block's array after each round; `columns` are their places in the figure, `cells` the words that are shown.
    const rowsOf = (figure, cells) => {
        const { view, model } = figure;
        const columnOf = new Map(cells.map((cell, column) => [cell, column]));
        const row = (label, added) => ({
            label,
            cells: cells.map((cell, column) => ({ column, ...view.cell(cell) })),
            edges: added.map(({ thread, cell, sources }) => ({ thread, to: columnOf.get(cell), from: sources.map((one) => columnOf.get(one)).filter((one) => one !== undefined), given: sources })),
        });
        const rows = [];
        view.seek(figure.shown.from);
        if (columnOf.has(model.buffers[0].first)) rows.push(row(text("loaded"), []));
        for (const { from, to } of lab.phases(figure)) {
            const added = lab.additions(figure, from, to).filter(({ cell }) => columnOf.has(cell));
            if (added.length === 0) continue;
            view.seek(to);
            const apart = lab.distance(added.map((one) => ({ ...one, sources: one.sources.filter((cell) => columnOf.has(cell)) })));
            rows.push(row(apart ? text("stride", { apart }) : text("loaded"), added));
        }
        return rows;
    };

    const HEAD = 18;
    // Draws rows of words with arrows between them; gives the height.
    lab.drawTree = (pen, rows, { x, y, width, columns, n, narrow, isNamed = true, names = (column) => `[${column}]`, label = narrow ? 56 : 76 }) => {
        const step = (width - label) / columns;
        const w = Math.min(step - 6, 46);
        const [h, pitch] = narrow ? [24, 56] : [27, 60];
        const middle = (column) => x + label + (column + 0.5) * step;
        if (isNamed) for (let column = 0; column < columns; column += 1) pen.words(names(column), middle(column), y + 7, { align: "center", size: 11, colour: inks.soft });
        const top = (row) => y + (isNamed ? HEAD : 0) + row * pitch;
        rows.forEach(({ edges }, row) => {
            for (const { from, to } of row ? edges : []) for (const column of from) {
                pen.arrow(middle(column), top(row - 1) + h, middle(to), top(row) - 1, { colour: inks.read });
            }
        });
        rows.forEach(({ label: name, cells, edges }, row) => {
            pen.words(name, x, top(row) + h / 2, { size: narrow ? 11 : 12, bold: true });
            for (const { column, shown, inputs, isLive } of cells) {
                if (shown === undefined || shown === null) continue;
                const depth = Math.log2(inputs + 1) / Math.log2(n + 1);
                const isNew = edges.some(({ to, from }) => to === column && from.length);
                pen.box(middle(column) - w / 2, top(row), w, h, { fill: isLive ? inks.scale(depth) : inks.paper, stroke: isNew ? inks.read : inks.line, thick: isNew ? 1.8 : 1 });
                pen.words(shown, middle(column), top(row) + h / 2 + 0.5, { align: "center", size: 13, bold: isLive, colour: isLive ? inks.on(depth) : inks.soft });
            }
            for (const { to, thread, from, isQuiet } of edges) if (row && from.length && !isQuiet) pen.words(`t${thread}`, middle(to) - 7, top(row) - 12, { align: "right", size: 11, bold: true });
        });
        return top(rows.length - 1) + h + 3 - y;
    };

    // The same in words.
    const described = (rows) => rows.map(({ label, cells, edges }, row) => {
        const adds = edges.filter(({ from }) => from.length);
        if (!row || adds.length === 0) return text("treeRow", { label, values: cells.map(({ shown }) => shown).join(", ") });
        const said = adds.map(({ thread, to, from }) => text("treeAdd", { thread, to, from: from.filter((one) => one !== to).map((one) => `[${one}]`).join(", "), value: cells[to].shown }));
        return text("treeRow", { label, values: said.join("; ") });
    }).join(" ");

    const tree = (name, { slug, v, block }) => lab.still(name, () => {
        const figure = lab.open({ slug, v, n: 32, b: 32, small: { block, input: INPUT } });
        const { model } = figure;
        const first = model.sharedWords ? model.shared(0) : model.buffers[0].first;
        const rows = rowsOf(figure, INPUT.map((_, i) => first + i));
        const draw = (pen, narrow) => lab.drawTree(pen, rows, { x: 0, y: 0, width: pen.width, columns: 8, n: 8, narrow });
        return lab.picture({ title: text("treeTitle", { name: v }), description: described(rows), to: [figure], draw });
    });
    tree("tree-interleaved", { slug: "ch01-naive", v: "interleaved_modulo", block: 8 });
    tree("tree-strided", { slug: "ch02-divergence", v: "strided_index", block: 8 });
    tree("tree-convergent", { slug: "ch02-divergence", v: "convergent_global", block: 4 });

    // The tree of sixteen numbers as a figure that plays, a round a beat.
    const SIXTEEN = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
    const film = (rows) => (pen, narrow) => {
        const left = narrow ? 0 : 84;
        const step = (pen.width - left) / SIXTEEN.length;
        const [w, h, pitch] = narrow ? [step - 2, 24, 50] : [Math.min(step - 5, 34), 26, 52];
        const middle = (column) => left + (column + 0.5) * step;
        rows.forEach(({ label, cells, edges }, beat) => {
            const part = new lab.Pen(pen.width);
            const top = beat * pitch + 1;
            if (!narrow) part.words(label, 0, top + h / 2, { size: 12.5, bold: true });
            for (const { from, to } of beat ? edges : []) for (const column of from) {
                part.arrow(middle(column), top - pitch + h + 1, middle(to), top - 1, { colour: inks.read });
            }
            for (const { column, shown, inputs } of cells.filter(({ column }) => !beat || edges.some(({ to }) => to === column))) {
                const depth = Math.log2(inputs) / Math.log2(SIXTEEN.length);
                part.box(middle(column) - w / 2, top, w, h, { fill: inks.scale(depth), stroke: beat ? inks.read : inks.line, thick: beat ? 1.6 : 1 });
                part.words(shown, middle(column), top + h / 2 + 0.5, { align: "center", size: narrow ? 11.5 : 13, bold: true, colour: inks.on(depth) });
            }
            pen.written.push(`<g class="film-beat" data-beat="${beat}">${part.svg()}</g>`);
        });
        return (rows.length - 1) * pitch + h + 3;
    };
    lab.still("tree-plays", () => {
        const figure = lab.open({ slug: "ch01-naive", v: "interleaved_modulo", n: 32, b: 32, small: { block: SIXTEEN.length, input: SIXTEEN } });
        const first = figure.model.shared(0);
        const all = rowsOf(figure, SIXTEEN.map((_, i) => first + i));
        const rows = all.map((row, beat) => ({ ...row, label: beat ? text("filmRound", { beat }) : text("filmStart") }));
        const sentences = rows.map(({ cells, edges }, beat) => {
            const values = { beat, all: SIXTEEN.length, adds: edges.length, rounds: rows.length - 1, sum: cells[0].shown };
            return text(!beat ? "filmSaidStart" : beat === rows.length - 1 ? "filmSaidEnd" : "filmSaid", values);
        });
        const buttons = `<button type="button" data-play="${text("filmPlay")}" data-pause="${text("filmPause")}">${text("filmPlay")}</button><button type="button">${text("filmNext")}</button>`;
        return lab.picture({ title: text("filmTitle"), description: sentences.join(" "), draw: film(rows) })
            + `<ol class="film-said" hidden>${sentences.map((said) => `<li>${lab.escaped(said)}</li>`).join("")}</ol>\n`
            + `<div class="film-controls" hidden>${buttons}<p role="status"></p></div>\n`;
    });

    // Two elements a thread beside one: blocks of four threads, and the launch that follows where there are two of them.
    const blocksOf = (figure, columns) => {
        const { model } = figure;
        const input = { label: "in", edges: [], cells: INPUT.map((shown, column) => ({ column, shown, inputs: 1, isLive: true })) };
        const all = model.blocks.map((block) => {
            figure.choose(block);
            const first = model.shared(block.block);
            const rows = rowsOf(figure, Array.from({ length: columns }, (_, i) => first + i));
            const place = (column) => block.block * columns + column;
            return rows.map(({ label, cells, edges }, row) => ({
                label,
                cells: cells.map((cell) => ({ ...cell, column: place(cell.column) })),
                edges: edges.map(({ thread, to, from, given }) => ({ thread, to: place(to), from: row ? from.map(place) : given.map((cell) => cell - model.buffers[0].first) })),
            }));
        });
        const merged = all[0].map(({ label }, row) => ({ label, cells: all.flatMap((rows) => rows[row].cells), edges: all.flatMap((rows) => rows[row].edges) }));
        return [input, ...merged];
    };
    lab.still("first-add", () => {
        const one = lab.open({ slug: "ch03-sequential", v: "sequential", n: 32, b: 32, small: { block: 4, grid: 2, input: INPUT } });
        const two = lab.open({ slug: "ch04-first-add", v: "first_add", n: 64, b: 32, small: { block: 4, grid: 1, input: INPUT } });
        const sums = one.reply.json.outputs.sums0.slice(0, 2);
        const again = lab.open({ slug: "ch03-sequential", v: "sequential", n: 32, b: 32, small: { block: 4, grid: 1, input: sums } });
        const last = { label: text("again"), cells: [{ column: 0, shown: again.reply.json.outputs.sums0[0], inputs: 8, isLive: true }], edges: [{ thread: 0, to: 0, from: [0, 4] }] };
        const panels = [
            { title: text("firstAddOne"), rows: [...blocksOf(one, 4), last] },
            { title: text("firstAddTwo"), rows: blocksOf(two, 4) },
        ];
        const draw = (pen, narrow) => {
            const width = narrow ? pen.width : pen.width / 2 - 14;
            let y = 0;
            let most = 0;
            panels.forEach(({ title, rows }, i) => {
                const x = narrow ? 0 : i * (width + 28);
                pen.words(title, x, y + 8, { size: 12.5, bold: true });
                const height = 24 + lab.drawTree(pen, rows, { x, y: y + 24, width, columns: 8, n: 8, narrow: true, isNamed: false });
                if (narrow) y += height + 18;
                most = Math.max(most, height);
            });
            return narrow ? y : most;
        };
        return lab.picture({ title: text("firstAddTitle"), description: panels.map(({ title, rows }) => `${title}: ${described(rows)}`).join(" "), to: [two], draw });
    });
})();
