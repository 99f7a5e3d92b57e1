// The stage of several devices: the memory of each rank, one below the other, with the arrays that the run touches; the lanes of the rank that
// is shown; and lines for what this beat moves. What crosses from one memory to another is drawn strong, what stays in one, thin. And
// what happens between ranks. Only pages with ranks load this.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const COLUMNS = 32;
    // Between the last column and the frame.
    const PAD = 7;
    const ROWS = [[20, 17], [36, 13], [72, 8], [Infinity, 5]];
    const GLYPHS = { notStarted: "", runs: "▸", waits: "‖", spins: "↻", done: "✓" };

    // Words of an array that the run touches, cut where a gap is, or a part that another rank writes begins.
    const touchedRows = (model, buffer, columns) => {
        const isWhole = model.arrayOf(buffer.first).what === "in" || model.arrayOf(buffer.first).what === "out";
        const isCut = /^(stage|words)$/.test(model.arrayOf(buffer.first).what);
        const cells = [];
        for (let cell = buffer.first; cell < buffer.first + buffer.len; cell += 1) if (isWhole || model.touched.has(cell)) cells.push(cell);
        const rows = [];
        for (const cell of cells) {
            const last = rows[rows.length - 1];
            const goesOn = last && last[last.length - 1] === cell - 1 && last.length < columns && (!isCut || model.sender(last[0]) === model.sender(cell));
            if (goesOn) last.push(cell);
            else rows.push([cell]);
        }
        return rows;
    };
    // Rows of each rank: arrays in the order in which data goes through them.
    const rowsOf = (model, columns) => {
        const { ranks } = model.chosen;
        const ORDER = ["in", "stage", "words", "flags", "out"];
        return Array.from({ length: ranks }, (_, rank) => ORDER.flatMap((what) => model.buffers.flatMap((buffer) => {
            const array = model.arrayOf(buffer.first);
            if (!array || array.rank !== rank || array.what !== what) return [];
            return touchedRows(model, buffer, columns).map((cells, row, rows) => ({ what, call: array.call, cells, isFirst: row === 0 || (what !== "in" && what !== "out" && model.sender(cells[0]) !== model.sender(rows[row - 1][0])), sender: what === "stage" || what === "words" ? model.sender(cells[0]) : null }));
        })));
    };

    class RankStage extends lab.Stage {
        arrange(model, width) {
            const narrow = width < 520;
            const label = narrow ? 44 : 114;
            const columns = Math.min(narrow ? COLUMNS / 2 : COLUMNS, model.chosen.n);
            const gap = columns > 8 ? (narrow ? 2 : 5) : 0;
            const column = (width - label - PAD - (columns / 8 - 1) * gap) / columns;
            const x = (k) => label + k * column + Math.floor(k / 8) * gap;
            const panels = ((model.rankRows ||= new Map()).get(columns) || model.rankRows.set(columns, rowsOf(model, columns)).get(columns));
            const all = panels.reduce((sum, rows) => sum + rows.length, 0);
            const height = Math.min(narrow ? 15 : 99, ROWS.find(([most]) => all <= most)[1]);
            const laneHeight = height < 8 ? 8 : height;
            const places = new Map();
            let top = 0;
            const made = panels.map((rows, rank) => {
                const panel = { rank, top, lanesTop: top + 20, rows: [] };
                let y = panel.lanesTop + model.warps * laneHeight + (height < 8 ? 4 : 12);
                for (const row of rows) {
                    if (row.isFirst && panel.rows.length) y += height < 8 ? 3 : 5;
                    panel.rows.push({ ...row, y });
                    row.cells.forEach((cell, k) => places.set(cell, { k, y, rank }));
                    y += height;
                }
                panel.end = y + 4;
                top = panel.end + 10;
                return panel;
            });
            return { width, narrow, label, columns, column, x, panels: made, rowHeight: height, laneHeight, places, height: Math.ceil(top - 8) };
        }
        get own() {
            return lab.rankOf(this.model.chosen, this.view.shown.block).rank;
        }
        paint() {
            for (const panel of this.layout.panels) this.#panel(panel);
            this.#moves();
        }
        #panel(panel) {
            const { layout: l, colours, own } = this;
            const isOwn = panel.rank === own;
            this.box(0, panel.top + 0.5, l.width - 1, panel.end - panel.top, null, isOwn ? colours.ink : colours.line, isOwn ? 1.5 : 1);
            this.label(text("rankBegins", { rank: panel.rank }), 6, panel.top + 10, "left", colours.ink);
            this.label(this.#state(panel.rank), l.width - 6, panel.top + 10, "right", this.isWaiting(panel.rank) ? colours.problem : colours.soft);
            this.#lanesOf(panel, isOwn);
            for (const row of panel.rows) this.#row(row);
        }
        // The rank's launch that is the latest to have begun.
        #launch(rank) {
            const { between, moment } = this;
            const { ranks, calls } = this.model.chosen;
            const launches = Array.from({ length: calls }, (_, call) => call * ranks + rank);
            return launches.findLast((launch) => between.state(launch, moment) !== "notStarted") ?? rank;
        }
        isWaiting(rank) {
            return this.between && this.between.state(this.#launch(rank), this.moment) === "spins";
        }
        // "↻ waits for rank 1", as the tile has it.
        #state(rank) {
            if (!this.between) return "";
            const launch = this.#launch(rank);
            const state = this.between.state(launch, this.moment);
            const mark = this.between.weightiest(this.between.marks(launch, this.moment));
            const call = lab.rankOf(this.model.chosen, launch).call;
            const says = state === "spins" && mark ? text(mark.key, mark.values) : text(state);
            return `${call ? `${text("rankInCall", { call })} ` : ""}${GLYPHS[state]} ${says}`.trim();
        }
        #lanesOf(panel, isOwn) {
            const { layout: l, model, view, colours } = this;
            if (!l.narrow || model.warps === 1) this.label(text(l.narrow ? "rankLanesShort" : "rankLanes"), l.label - 6, panel.lanesTop + l.laneHeight / 2, "right");
            for (let thread = 0; thread < model.threads; thread += 1) {
                const [x, w] = this.laneBox(thread & 31);
                const [y, h] = [panel.lanesTop + (thread >> 5) * l.laneHeight, l.laneHeight - 2];
                const bit = isOwn && (this.busy[thread >> 5] >>> (thread & 31)) & 1;
                const isFaulty = isOwn && (this.faulty[thread >> 5] >>> (thread & 31)) & 1;
                const held = isOwn ? view.laneValue(thread >> 5, thread & 31) : null;
                const depth = held ? this.depth(held.inputs) : 0;
                this.box(x, y, w, h, bit ? colours.scale(depth) : null, isFaulty ? colours.problem : bit ? colours.ink : colours.line, bit ? 1.8 : 1);
                if (held) this.number(held.shown, x, y, w, h, bit ? colours.on(depth) : colours.soft, bit);
                const isPointed = (one) => isOwn && one && one.warp === thread >> 5 && one.lane === (thread & 31);
                if (isPointed(this.focus) || isPointed(this.chosen)) this.box(x - 1, y - 1, w + 2, h + 2, null, colours.ink, 2);
            }
        }
        // Lanes are 32 also where an array has fewer numbers.
        laneBox(k) {
            const { layout: l } = this;
            const w = (l.width - l.label - PAD) / 32;
            return l.columns === 32 ? [l.x(k) + 0.5, l.column - 1] : [l.label + k * w + 0.5, w - 1];
        }
        #row({ what, call, cells, isFirst, sender, y }) {
            const { layout: l } = this;
            const name = what === "flags" ? text("rankFlags") : sender !== null && sender !== undefined ? text(l.narrow ? "rankFromShort" : "rankFrom", { name: what, rank: sender }) : call ? text(l.narrow ? "rankOfCallShort" : "rankOfCall", { name: what, call }) : what;
            if (isFirst) this.label(name, l.label - 6, y + l.rowHeight / 2, "right");
            cells.forEach((cell, k) => {
                const x = l.x(k) + 0.5;
                if (what === "in") this.#input(cell, x, y);
                else this.cellBox(cell, x, y, l.column - 1, l.rowHeight - 2);
            });
            if (what === "flags" && l.rowHeight > 8) this.label(text("rankFlagsFrom"), l.x(cells.length) + 6, y + l.rowHeight / 2, "left");
        }
        #input(cell, x, y) {
            const { layout: l, view, colours } = this;
            const held = view.cell(cell);
            const isRead = this.reads.has(cell);
            const depth = isRead ? 0.5 : this.depth(held ? held.inputs : 0);
            const [w, h] = [l.column - 1, l.rowHeight - 2];
            this.box(x, y, w, h, colours.scale(depth), isRead ? colours.read : colours.line, isRead ? 1.5 : 1);
            this.number(held && held.shown, x, y, w, h, colours.on(depth));
        }
        // Lines between lanes and words; those of another rank's memory are strong.
        #moves() {
            const { layout: l, colours, own } = this;
            const flows = [];
            for (const step of this.beat.data) {
                if (lab.rankOf(this.model.chosen, step.block).rank !== own) continue;
                const laneTop = l.panels[own].lanesTop + step.warp * l.laneHeight;
                const add = (kind) => ({ lane, cell }) => {
                    const to = l.places.get(cell);
                    if (!to) return;
                    const [x, w] = this.laneBox(lane);
                    const isAbove = to.y < laneTop;
                    const isProblem = Boolean(step.fault && (step.faultLanes >>> lane) & 1);
                    flows.push({ kind, isProblem, crosses: to.rank !== own, x0: x + w / 2, y0: isAbove ? laneTop : laneTop + l.laneHeight - 2, x1: l.x(to.k) + l.column / 2, y1: isAbove ? to.y + l.rowHeight - 2 : to.y });
                };
                // One line for what a lane moves at once.
                const ofLanes = (entries) => entries.filter(({ lane }, at) => at === 0 || entries[at - 1].lane !== lane);
                ofLanes(step.reads).forEach(add("read"));
                ofLanes(step.writes).forEach(add("write"));
            }
            const strong = flows.length > 128 ? 0.35 : flows.length > 40 ? 0.6 : 0.9;
            for (const { kind, isProblem, crosses, x0, y0, x1, y1 } of flows.slice(-512)) {
                const colour = isProblem ? colours.problem : kind === "write" ? colours.write : colours.read;
                const ends = kind === "write" ? [x0, y0, x1, y1] : [x1, y1, x0, y0];
                this.curve(...ends, colour, crosses || isProblem ? 1.6 : 1, isProblem ? [4, 3] : kind === "write" ? [5, 2] : null, isProblem ? 1 : crosses ? strong : 0.3);
                if (this.moving !== null) this.token(...ends, colour, this.moving);
            }
        }
        hit(px, py) {
            const { layout: l, model } = this;
            const panel = l.panels.find((one) => py >= one.top && py < one.end);
            if (!panel) return null;
            const row = panel.rows.find((one) => py >= one.y && py < one.y + l.rowHeight);
            const k = row ? row.cells.findIndex((_, at) => px >= l.x(at) && px < l.x(at) + l.column) : -1;
            if (k >= 0) {
                const buffer = model.bufferOf(row.cells[k]);
                return { cell: row.cells[k], name: `${buffer.shown}[${row.cells[k] - buffer.first}]` };
            }
            const warp = Math.floor((py - panel.lanesTop) / l.laneHeight);
            const lane = Array.from({ length: 32 }, (_, at) => this.laneBox(at)).findIndex(([x, w]) => px >= x && px < x + w);
            return panel.rank === this.own && warp >= 0 && warp < model.warps && lane >= 0 && warp * 32 + lane < model.threads ? { warp, lane } : null;
        }
    }
    lab.RankStage = RankStage;
})();

// What happens between ranks: who writes into whose memory, who reads there, who waits for whose flag.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    const list = (ranks) => (ranks.length === 1 ? text("rankName", { rank: ranks[0] }) : text("rankNames", { ranks: lab.list(ranks.map(String)) }));
    const ranksOf = (entries) => [...new Set(entries)].sort((a, b) => a - b);

    // Whether a sum that is written is what it should be.
    const isRight = (model, { cell, version }) => {
        const { name, first } = model.bufferOf(cell);
        const sums = (model.sums ||= lab.sumsOfRanks(model.chosen))[model.chosen.results.indexOf(name)];
        return Object.is(sums[cell - first], model.replay.versions.shown[version]);
    };

    // A store: [kind, values] of its event, or null.
    const storeOf = (model, step, own) => {
        const first = step.writes[0] && model.arrayOf(step.writes[0].cell);
        if (!first) return null;
        const owners = ranksOf(step.writes.map(({ cell }) => model.arrayOf(cell).rank));
        const values = { count: step.writes.length, to: list(owners) };
        if (first.what === "out") values.wrong = step.writes.filter((write) => !isRight(model, write)).length;
        const isOwn = owners.length === 1 && owners[0] === own;
        if (first.what === "flags") {
            // One of the flags lies with the rank itself, which tells it nothing.
            const others = owners.filter((rank) => rank !== own);
            return others.length ? ["sets", { count: others.length, to: list(others), value: model.replay.versions.shown[step.writes[0].version] }] : null;
        }
        if (first.what === "stage" || first.what === "words") return [isOwn ? "leaves" : first.what === "words" ? "sends" : "pushes", values];
        if (first.what === "out") return [isOwn ? "results" : "gives", values];
        return null;
    };
    // Marks the looks that are in vain: the same lane looks at the same word again later, by the same instruction.
    const markLooks = (model) => {
        const later = new Set();
        for (const step of model.recorded.toReversed()) {
            if (model.code[step.pc].kind !== "load") continue;
            const key = ({ lane, cell }) => `${step.block}|${step.warp}|${lane}|${step.pc}|${cell}`;
            const looks = step.reads.filter(({ cell }) => /^(flags|words)$/.test(model.arrayOf(cell)?.what));
            step.inVain = looks.filter((read) => later.has(key(read)));
            looks.forEach((read) => later.add(key(read)));
        }
    };
    // A flag lies at the place of the rank that sets it.
    const flagsOf = (model, step, own, waited) => {
        const from = (reads) => ranksOf(reads.map(({ cell }) => cell - model.bufferOf(cell).first)).filter((rank) => rank !== own);
        const waits = from(step.inVain);
        const come = from(step.reads).filter((rank) => !waits.includes(rank));
        if (waits.length) return ["waits", { from: list(waits) }];
        return come.length ? [waited ? "comes" : "there", { from: list(come), count: come.length }] : null;
    };
    const loadOf = (model, step, own, waited) => {
        const first = step.reads[0] && model.arrayOf(step.reads[0].cell);
        if (!first) return null;
        if (first.what === "flags") return flagsOf(model, step, own, waited);
        const values = { count: step.reads.length, from: list([first.rank]) };
        if (first.what === "words") {
            // Words of one peer lie together: which, says who writes there.
            const from = model.sender(step.reads[0].cell);
            const again = step.inVain.length;
            return again ? ["waitsWords", { from: list([from]), count: again }] : ["receives", { from: list([from]), count: step.reads.length }];
        }
        if (first.rank !== own && (first.what === "stage" || first.what === "in")) return ["reads", { ...values, name: first.what }];
        if (first.what !== "stage") return null;
        const writers = ranksOf(step.from.map(({ block }) => lab.rankOf(model.chosen, block).rank).filter((rank) => rank !== own));
        return writers.length ? ["takes", { count: step.reads.length, from: list(writers) }] : null;
    };
    const MARKS = { sets: "rankSet", waits: "rankWaits", waitsWords: "rankWaits", comes: "rankGoes", there: "rankGoes", receives: "rankGoes", results: "rankResults" };

    // Tells the events of a run. `tell` makes one; those of one kind that follow each other in a block are one.
    lab.rankEvents = (between, tell) => {
        const { model } = between;
        const last = new Map();
        markLooks(model);
        for (const step of model.recorded) {
            const one = between.of[step.block];
            const { rank: own } = lab.rankOf(model.chosen, step.block);
            if (one.steps[0] === step) {
                between.started += 1;
                tell("starts", step, { place: between.started });
            }
            const { kind } = model.code[step.pc];
            const found = kind === "store" ? storeOf(model, step, own) : kind === "load" ? loadOf(model, step, own, last.get(step.block)?.kind === "waits") : null;
            if (!found) continue;
            const [name, values] = found;
            const key = `${name}|${values.from || ""}|${values.to || ""}|${model.code[step.pc].line}`;
            const before = last.get(step.block);
            // Looks in one turn are one event, and so are a loop's stores.
            const isSame = before && before.key === key && between.events[between.events.length - 1] === before;
            if (isSame) {
                Object.assign(before, { index: step.index, time: step.time });
                before.steps.push(step);
                if (!name.startsWith("waits") && name !== "sets") before.values.count += values.count;
                if (values.wrong !== undefined) before.values.wrong += values.wrong;
                before.values.looks = before.steps.length;
            } else {
                const event = tell(name, step, { ...values, looks: 1 });
                Object.assign(event, { key, steps: [step] });
                last.set(step.block, event);
                if (MARKS[name]) one.marks.push({ time: step.time, index: step.index, key: MARKS[name], values });
            }
        }
    };

    // Whether a rank waits: its last look was in vain.
    lab.rankWaits = (between, block, isPast) => /^waits/.test(between.events.findLast((event) => event.block === block && event.steps && isPast(event.steps[0]))?.kind);

    // Moments by their names.
    const NAMED = {
        leaves: ["leaves", "pushes", "sends"], flag: ["sets"], waits: ["waits", "waitsWords"], spin: ["waits", "waitsWords"], message: ["comes", "there", "receives"],
        remote: ["pushes", "reads", "sends", "gives"], takes: ["reads", "takes", "receives"], result: ["results", "gives"],
    };
    lab.rankNamed = (between, name, launch) => {
        const shows = ({ steps, values }) => values.wrong > 0 || steps?.some(({ fault }) => fault);
        const telling = (name === "fault" || name === "poster") && between.events.find(shows);
        if (telling) return telling;
        const kinds = NAMED[name === "poster" ? "waits" : name];
        if (!kinds) return null;
        const found = between.events.filter((event) => kinds.includes(event.kind) && (launch === null || launch === undefined || event.block === launch));
        if (!kinds.includes("waits")) return found[name === "result" ? found.length - 1 : 0] || null;
        // While what is waited for is on its way: the peer has written, and its flag is not there.
        const isOnItsWay = (event) => between.events.some((other) => other.block !== event.block && other.time < event.time && /^(pushes|leaves|sends)$/.test(other.kind)
            && !between.events.some((flag) => flag.block === other.block && flag.kind === "sets" && flag.time < event.time));
        return found.find(isOnItsWay) || found[0] || null;
    };
    lab.rankSentence = (between, { kind, block, steps, values }) => {
        const { model } = between;
        const faulty = steps?.find(({ fault }) => fault);
        if (faulty) return lab.say(model, [faulty]);
        const said = text(`rank_${kind}`, { ...values, who: lab.rankBegins(model.chosen, block) });
        return values.wrong ? { text: said, more: text("rankWrongHere", values), isProblem: true } : { text: said };
    };
})();
