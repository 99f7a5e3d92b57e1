// The stage: one grid of 32 columns. Global memory on top, then lanes, then shared memory, so that lane k, bank k and four sectors of
// eight stand in the same columns, and a conflict is lines that run together.
(() => {
    "use strict";
    const lab = reductionLab;

    // What is where and what everybody holds after some steps of one block; goes forwards and backwards step by step.
    class View {
        constructor(model, shown) {
            this.model = model;
            this.shown = shown;
            this.at = shown.from;
            this.cells = new Int32Array(model.cellCount);
            this.#writes();
            this.lane = new Int32Array(model.warps * 32).fill(-1);
            this.warp = new Int32Array(model.warps).fill(-1);
            this.exited = new Int32Array(model.warps);
            // The step that each lane took last.
            this.place = new Int32Array(model.warps * 32).fill(-1);
            const [lane, warp, place] = [this.lane.slice(), this.warp.slice(), this.place.slice()];
            for (let i = shown.from; i < shown.to; i += 1) {
                const step = model.steps[i];
                step.warpBefore = warp[step.warp];
                warp[step.warp] = i;
                step.placeBefore = place.slice(step.warp * 32, step.warp * 32 + 32);
                lab.lanes(step.split, (k) => { place[step.warp * 32 + k] = i; });
                if (!step.made) continue;
                step.laneBefore = new Int32Array(32);
                lab.lanes(step.reach || step.active, (k) => {
                    step.laneBefore[k] = lane[step.warp * 32 + k];
                    if (step.made[k]) lane[step.warp * 32 + k] = i;
                });
            }
        }
        // What is written, by this block and where it sees it by others, in order; `ends`: how much of that is there after each step.
        #writes() {
            const { model, shown } = this;
            const { first } = model.buffers[0];
            // An input's first version has its own number, from 1.
            for (let i = 0; i < model.n; i += 1) this.cells[first + i] = i + 1;
            const others = model.common.filter((one) => one.block !== shown.block);
            const cells = this.cells.slice();
            let place = 0;
            this.writes = [];
            const write = ({ cell, version }) => {
                this.writes.push({ cell, version, before: cells[cell] });
                cells[cell] = version;
            };
            const until = (time) => { for (; place < others.length && others[place].time < time; place += 1) write(others[place]); };
            until(shown.times[0]);
            this.ends = new Int32Array(shown.to - shown.from + 1).fill(this.writes.length);
            for (let i = shown.from; i < shown.to; i += 1) {
                until(shown.times[i - shown.from]);
                model.steps[i].writes.forEach(write);
                this.ends[i - shown.from + 1] = this.writes.length;
            }
            this.written = 0;
            this.#write(this.ends[0]);
        }
        #write(end) {
            for (; this.written < end; this.written += 1) this.cells[this.writes[this.written].cell] = this.writes[this.written].version;
            while (this.written > end) this.cells[this.writes[--this.written].cell] = this.writes[this.written].before;
        }
        // The time of the run: that of the step of this block that came last.
        get time() {
            const { shown, at } = this;
            return at > shown.from ? shown.times[at - 1 - shown.from] : shown.times[0] - 1;
        }
        seek(at) {
            for (; this.at < at; this.at += 1) this.#forward(this.model.steps[this.at], this.at);
            while (this.at > at) this.#back(this.model.steps[--this.at]);
            this.#write(this.ends[at - this.shown.from]);
        }
        #forward(step, index) {
            if (step.made) lab.lanes(step.reach || step.active, (k) => { if (step.made[k]) this.lane[step.warp * 32 + k] = index; });
            if (this.model.code[step.pc].isEnd) this.exited[step.warp] |= step.active;
            lab.lanes(step.split, (k) => { this.place[step.warp * 32 + k] = index; });
            this.warp[step.warp] = index;
        }
        #back(step) {
            if (step.made) lab.lanes(step.reach || step.active, (k) => { if (step.made[k]) this.lane[step.warp * 32 + k] = step.laneBefore[k]; });
            if (this.model.code[step.pc].isEnd) this.exited[step.warp] &= ~step.active;
            this.place.set(step.placeBefore, step.warp * 32);
            this.warp[step.warp] = step.warpBefore;
        }
        // What a cell holds.
        cell(cell) {
            const version = this.cells[cell];
            const { replay } = this.model;
            if (!version) return null;
            const value = replay.versions.value[version];
            const isLive = replay.isLive(version, this.shown.block, this.at, this.time);
            return { value, shown: replay.versions.shown[version], inputs: replay.values.inputs[value], isLive };
        }
        // What a lane holds.
        laneValue(warp, lane) {
            const index = this.lane[warp * 32 + lane];
            if (index < 0) return null;
            const step = this.model.steps[index];
            const value = step.made[lane];
            return { value, shown: lab.valueOf(this.model, step, lane), inputs: this.model.replay.values.inputs[value] };
        }
        isWaiting(warp) {
            const index = this.warp[warp];
            return index >= 0 && this.model.code[this.model.steps[index].pc].isBarrier;
        }
    }
    lab.View = View;

    const ROWS_MAX = 32;
    const heightOf = (rows, sizes, narrow) => Math.min(narrow ? 12 : 99, sizes[[4, 8, 16].findIndex((most) => rows <= most)] ?? sizes[3]);

    // Where everything stands, for a width in CSS pixels.
    lab.layout = (model, width) => {
        const narrow = width < 520;
        const label = narrow ? 26 : 74;
        const gap = narrow ? 3 : 7;
        const column = (width - label - 1 - 3 * gap) / 32;
        const x = (k) => label + k * column + Math.floor(k / 8) * gap;
        const global = Math.min(ROWS_MAX, Math.ceil(model.n / 32));
        const globalHeight = heightOf(global, [14, 13, 8, 3], narrow);
        const outputs = model.outputs.length;
        const shared = Math.min(ROWS_MAX, Math.ceil(model.sharedWords / 32));
        const sharedHeight = shared ? heightOf(shared, [18, 14, 8, 5], narrow) : 0;
        const warpHeight = heightOf(model.warps, [20, 15, 9, 5], narrow);
        const top = 16;
        const busTop = top + global * globalHeight + 6 + (outputs ? 16 : 0);
        const lanesTop = busTop + 34;
        const lanesEnd = lanesTop + model.warps * warpHeight;
        const sharedTop = lanesEnd + (shared ? 64 : 40);
        const sharedEnd = sharedTop + shared * sharedHeight;
        return {
            width, narrow, label, column, x, top, global, globalHeight, outputs, outTop: busTop - 14, lanesTop, lanesEnd, warpHeight,
            shared, sharedTop, sharedHeight, sharedEnd, remoteTop: sharedEnd + 40, height: Math.ceil(sharedEnd + (shared ? 34 : 6) + (model.reaches ? 40 : 0)),
            // Warp 0 stands lowest, next to shared memory, so that a tree draws together towards it.
            warpTop: (warp) => lanesEnd - (warp + 1) * warpHeight,
        };
    };

    const mix = (a, b, t) => a.map((part, i) => Math.round(part + (b[i] - part) * t));
    const rgb = (text) => (text.trim().match(/[0-9a-f]{2}/gi) || []).map((part) => parseInt(part, 16));
    lab.colours = (element) => {
        const style = getComputedStyle(element);
        const of = (name) => style.getPropertyValue(`--lab-${name}`).trim();
        const all = Object.fromEntries(["ink", "soft", "read", "write", "problem", "right", "line", "paper", "wait"].map((name) => [name, of(name)]));
        const [low, high] = [rgb(of("low")), rgb(of("high"))];
        all.scale = (t) => `rgb(${mix(low, high, t).join(",")})`;
        const isDarkAt = (t) => { const [r, g, b] = mix(low, high, t); return 0.3 * r + 0.6 * g + 0.1 * b < 128; };
        all.on = (t) => (isDarkAt(t) ? "#ffffff" : "#1c2430");
        return all;
    };

    class Stage {
        constructor(canvas) {
            this.canvas = canvas;
            this.context = canvas.getContext("2d");
        }
        draw(model, view, beat, { colours, receipt, focus, chosen, moving, between, moment }) {
            const width = this.canvas.clientWidth;
            const layout = (this.layout = this.arrange(model, width));
            const scale = window.devicePixelRatio || 1;
            if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(layout.height * scale)) {
                this.canvas.width = Math.round(width * scale);
                this.canvas.height = Math.round(layout.height * scale);
                this.canvas.style.height = `${layout.height}px`;
            }
            const c = this.context;
            c.setTransform(scale, 0, 0, scale, 0, 0);
            c.clearRect(0, 0, width, layout.height);
            Object.assign(this, { model, view, beat, colours, receipt, focus, chosen, moving, between, moment });
            this.small = `${layout.narrow ? 9 : 11}px system-ui, sans-serif`;
            this.#reach();
            this.paint();
        }
        arrange(model, width) {
            return lab.layout(model, width);
        }
        paint() {
            this.#labels();
            this.#global();
            this.#flows();
            this.#lanes();
            this.#shared();
            if (this.model.reaches) this.#remote();
        }
        // Which lanes work in this beat, which cells are read and written.
        #reach() {
            this.busy = new Int32Array(this.model.warps);
            this.faulty = new Int32Array(this.model.warps);
            this.reads = new Set();
            this.writes = new Set();
            for (const step of this.beat.data) {
                this.busy[step.warp] |= step.reach || step.active;
                if (step.fault) this.faulty[step.warp] |= step.faultLanes;
                for (const { cell } of step.reads) this.reads.add(cell);
                for (const { cell } of step.writes) this.writes.add(cell);
            }
        }
        label(words, x, y, align, colour) {
            const c = this.context;
            c.font = this.small;
            c.textAlign = align;
            c.textBaseline = "middle";
            c.fillStyle = colour || this.colours.soft;
            // Long words are set narrower, and not cut.
            c.fillText(words, x, y, align === "right" ? x : this.layout.width - x);
        }
        #labels() {
            const { layout: l, model } = this;
            this.label(lab.text("global"), l.x(0), 7, "left");
            if (!l.narrow) this.label(lab.text("sector"), l.width - 1, 7, "right");
            model.outputs.forEach(({ name, column }, place) => {
                const isLast = model.outputs[place + 1]?.name !== name;
                if (column === 31) this.label(name, l.x(31) - 6, l.outTop + 6, "right");
                else if (isLast) this.label(name, l.x(column) + l.column + 6, l.outTop + 6, "left");
            });
            for (let warp = 0; warp < model.warps; warp += 1) {
                if (model.warps > 8 && warp % 4 !== 0) continue;
                const name = l.narrow ? `w${warp}` : lab.text("warp", { warp });
                this.label(name, l.label - 6, l.warpTop(warp) + l.warpHeight / 2, "right");
            }
            for (let row = 0; row < l.shared; row += l.sharedHeight < 12 ? 4 : 1) {
                const name = l.narrow ? `${row * 32}` : model.sharedWord(row * 32);
                this.label(name, l.label - 6, l.sharedTop + (row + 0.5) * l.sharedHeight, "right");
            }
            if (!l.shared) return;
            const inside = model.sharedInside.map((one) => lab.text("sharedFrom", one));
            this.label(lab.join("semicolon", [lab.text("shared"), ...inside]), l.x(0), l.sharedEnd + 27, "left");
        }
        box(x, y, w, h, fill, stroke, thick, dash) {
            const c = this.context;
            // In thin rows a frame would be all there is: colour tells what a frame tells elsewhere.
            const isThin = h < 6 && thick > 1;
            if (fill || isThin) {
                c.fillStyle = isThin ? stroke : fill;
                c.fillRect(x, y, w, h);
            }
            if (!stroke || isThin || (h < 6 && fill)) return;
            c.strokeStyle = stroke;
            c.lineWidth = thick || 1;
            c.setLineDash(dash || []);
            c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
            c.setLineDash([]);
        }
        number(value, x, y, w, h, colour, bold) {
            if (value === null || value === undefined || h < 12 || w < 13) return;
            const c = this.context;
            const digits = String(value);
            const size = Math.min(12, h - 3, (w - 4) / (0.6 * Math.max(2, digits.length)));
            if (size < 6) return;
            c.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
            c.textAlign = "center";
            c.textBaseline = "middle";
            c.fillStyle = colour;
            c.fillText(digits, x + w / 2, y + h / 2 + 0.5);
        }
        // A value's depth of colour: how many of the inputs are in it. What was made of an input twice has it twice.
        depth(inputs) {
            return inputs > 0 ? Math.min(1, Math.log2(inputs + 1) / Math.log2(this.model.n + 1)) : 0;
        }
        #global() {
            const { layout: l, model, view, colours, receipt } = this;
            const { first } = model.buffers[0];
            this.firstRow = this.#window();
            for (let row = 0; row < l.global; row += 1) {
                for (let k = 0; k < 32; k += 1) {
                    const i = (this.firstRow + row) * 32 + k;
                    if (i >= model.n) break;
                    const [x, y, w, h] = [l.x(k) + 0.5, l.top + row * l.globalHeight, l.column - 1, l.globalHeight - 1];
                    const held = view.cell(first + i);
                    const times = receipt ? receipt[i] : 1;
                    const isRead = this.reads.has(first + i);
                    let fill = times === 0 ? null : receipt ? colours.scale(0.85) : colours.scale(isRead ? 0.5 : this.depth(held ? held.inputs : 0));
                    if (times > 1) fill = colours.problem;
                    const stroke = this.writes.has(first + i) ? colours.write : isRead ? colours.read : colours.line;
                    this.box(x, y, w, h, fill, stroke, isRead ? 1.5 : 1);
                    const words = times > 1 ? `×${times}` : held && held.shown;
                    const on = times > 1 ? "#ffffff" : receipt && times ? colours.on(0.85) : colours.on(isRead ? 0.5 : this.depth(held ? held.inputs : 0));
                    this.number(words, x, y, w, h, times === 0 ? colours.soft : fill ? on : colours.ink, times > 1);
                }
            }
            for (const { cell, column } of model.outputs) this.cellBox(cell, l.x(column) + 0.5, l.outTop, l.column - 1, 13);
        }
        // The first row to show of an input that is too long: where the block reads.
        #window() {
            const { layout: l, model } = this;
            const all = Math.ceil(model.n / 32);
            if (all <= l.global) return 0;
            const { first } = model.buffers[0];
            const cell = model.steps.slice(this.view.shown.from, this.view.shown.to).flatMap((step) => step.reads).find((read) => read.cell >= first && read.cell < first + model.n);
            return Math.min(all - l.global, cell ? Math.floor((cell.cell - first) / 32) : 0);
        }
        cellBox(cell, x, y, w, h) {
            const { view, colours } = this;
            const held = view.cell(cell);
            const [isRead, isWritten] = [this.reads.has(cell), this.writes.has(cell)];
            const depth = held ? this.depth(held.inputs) : 0;
            const isFilled = held && (held.isLive || isWritten || isRead);
            const stroke = isWritten ? colours.write : isRead ? colours.read : colours.line;
            this.box(x, y, w, h, isFilled ? colours.scale(depth) : h < 6 ? null : colours.paper, stroke, isRead || isWritten ? 2 : 1);
            if (held) this.number(held.shown, x, y, w, h, isFilled ? colours.on(depth) : colours.soft, isFilled);
            if (isWritten && h >= 6) this.box(x + 2, y + h - 3, w - 4, 2, colours.write);
            if (this.focus && this.focus.cell === cell) this.box(x - 1, y - 1, w + 2, h + 2, null, colours.ink, 2);
        }
        #lanes() {
            const { layout: l, model, view, colours } = this;
            for (let warp = 0; warp < model.warps; warp += 1) {
                const waits = view.isWaiting(warp);
                for (let k = 0; k < 32 && warp * 32 + k < model.threads; k += 1) {
                    const [x, y, w, h] = [l.x(k) + 0.5, l.warpTop(warp), l.column - 1, l.warpHeight - 2];
                    const bit = (mask) => (mask >>> k) & 1;
                    const isPointed = (one) => one && one.warp === warp && one.lane === k;
                    if (bit(view.exited[warp]) && !bit(this.busy[warp])) {
                        this.box(x + w / 2 - 1, y + h / 2 - 1, 2, 2, colours.soft);
                        if (isPointed(this.chosen)) this.box(x - 1, y - 1, w + 2, h + 2, null, colours.ink, 2);
                        continue;
                    }
                    const held = view.laneValue(warp, k);
                    const depth = held ? this.depth(held.inputs) : 0;
                    const isBusy = bit(this.busy[warp]);
                    const isFaulty = bit(this.faulty[warp]);
                    const fill = isBusy ? colours.scale(depth) : null;
                    const dash = !isBusy && !waits && this.busy[warp] ? [2, 2] : null;
                    this.box(x, y, w, h, fill, isFaulty ? colours.problem : isBusy ? colours.ink : colours.line, isBusy ? 1.8 : 1, dash);
                    if (isBusy && held) this.number(held.shown, x, y, w, h, colours.on(depth), true);
                    else if (waits && h >= 8) this.box(x + w / 2 - 3, y + h / 2 - 0.5, 6, 1, colours.soft);
                    else if (held) this.number(held.shown, x, y, w, h, colours.soft);
                    if (isPointed(this.focus) || isPointed(this.chosen)) this.box(x - 1, y - 1, w + 2, h + 2, null, colours.ink, 2);
                }
            }
        }
        #shared() {
            const { layout: l, model, view } = this;
            if (!l.shared) return;
            const first = model.shared(view.shown.block);
            for (let word = 0; word < Math.min(model.sharedWords, l.shared * 32); word += 1) {
                const [row, k] = [word >> 5, word & 31];
                this.cellBox(first + word, l.x(k) + 0.5, l.sharedTop + row * l.sharedHeight, l.column - 1, l.sharedHeight - 2);
            }
            this.#banks();
        }
        // Words of the other blocks of the cluster that the run reaches: those of block k of the cluster in column k.
        #remoteWords() {
            const { model, view } = this;
            const { cluster } = model.chosen.launches[model.chosen.shown];
            const { block } = view.shown;
            const first = block - (block % cluster[0]);
            const words = [...model.reaches];
            return words.slice(0, 1).flatMap((word) => Array.from({ length: cluster[0] }, (_, k) => ({ k, word, block: first + k, cell: model.shared(first + k) + word })))
                .filter((one) => one.block !== block);
        }
        #remote() {
            const { layout: l } = this;
            for (const { cell, k } of this.#remoteWords()) this.cellBox(cell, l.x(k) + 0.5, l.remoteTop, l.column - 1, 16);
            this.label(lab.text("remoteOf"), l.x(0), l.height - 7, "left");
        }
        // Under each bank, a bar for each pass of the busiest access of the beat.
        #banks() {
            const { layout: l, colours } = this;
            let busiest = null;
            for (const step of this.beat.data) for (const access of step.accesses) {
                if (access.space === "shared" && (!busiest || access.conflicts > busiest.conflicts)) busiest = access;
            }
            if (!busiest) return;
            const words = Array.from({ length: 32 }, () => new Set());
            lab.lanes(busiest.mask, (lane) => words[(busiest.addresses[lane] / 4) & 31].add(busiest.addresses[lane]));
            words.forEach((set, k) => {
                const passes = Math.min(set.size, 8);
                for (let pass = 0; pass < passes; pass += 1) {
                    this.box(l.x(k) + 2, l.sharedEnd + 3 + pass * 2.5, l.column - 4, 2, pass ? colours.problem : colours.soft);
                }
            });
            if (busiest.conflicts) this.label(lab.text("passCount", { passes: busiest.conflicts + 1 }), l.width - 1, l.sharedEnd + 27, "right", colours.problem);
        }
        curve(x0, y0, x1, y1, colour, width, dash, alpha) {
            const c = this.context;
            const half = (y0 + y1) / 2;
            c.globalAlpha = alpha;
            c.strokeStyle = colour;
            c.lineWidth = width;
            c.setLineDash(dash || []);
            c.beginPath();
            c.moveTo(x0, y0);
            c.bezierCurveTo(x0, half, x1, half, x1, y1);
            c.stroke();
            c.setLineDash([]);
            c.globalAlpha = 1;
        }
        token(x0, y0, x1, y1, colour, t) {
            if (t <= 0 || t >= 1) return;
            const [c, half, u] = [this.context, (y0 + y1) / 2, 1 - t];
            const x = (u ** 3 + 3 * u * u * t) * x0 + (3 * u * t * t + t ** 3) * x1;
            const y = u ** 3 * y0 + 3 * u * t * half + t ** 3 * y1;
            c.fillStyle = colour;
            c.beginPath();
            c.arc(x, y, 3, 0, 7);
            c.fill();
        }
        #flows() {
            const { layout: l } = this;
            const middle = (k) => l.x(k) + l.column / 2;
            const flows = this.#chosenFlows();
            const alpha = flows.length > 128 ? 0.25 : flows.length > 40 ? 0.5 : 0.9;
            for (const { from, to, y0, y1, kind, isProblem, pass, passes } of flows) {
                const colour = isProblem ? this.colours.problem : kind === "write" ? this.colours.write : this.colours.read;
                const ends = [middle(from), y0, middle(to), y1];
                this.curve(...ends, colour, isProblem ? 2 : 1.2, isProblem ? [4, 3] : null, isProblem ? 1 : alpha);
                if (this.moving !== null) this.token(...ends, colour, this.moving * (1 + 0.35 * (passes - 1)) - 0.35 * pass);
            }
            for (const step of this.beat.data) if (step.sources) this.#handed(step, middle);
        }
        // Lines of the beat: those that cross columns, or, where none does, all of them.
        #chosenFlows() {
            const { layout: l, model, view } = this;
            const [sharedFlows, globalFlows] = [[], []];
            const sharedFirst = model.shared(view.shown.block);
            const { first } = model.buffers[0];
            const remote = new Map(model.reaches ? this.#remoteWords().map((one) => [one.cell, one.k]) : []);
            for (const step of this.beat.data) {
                const laneTop = l.warpTop(step.warp);
                const passOf = this.#passes(step);
                for (const { lane, cell } of step.reads) {
                    const isProblem = Boolean(step.fault && (step.faultLanes >>> lane) & 1);
                    const word = cell - sharedFirst;
                    if (remote.has(cell)) {
                        globalFlows.push({ from: remote.get(cell), to: lane, y0: l.remoteTop, y1: laneTop + l.warpHeight - 2, kind: "read", isProblem, ...passOf(lane) });
                    } else if (word >= 0 && word < model.sharedWords) {
                        const y0 = l.sharedTop + (word >> 5) * l.sharedHeight;
                        sharedFlows.push({ from: word & 31, to: lane, y0, y1: laneTop + l.warpHeight - 2, kind: "read", isProblem, ...passOf(lane) });
                    } else if (model.outputs.some((one) => one.cell === cell)) {
                        const { column } = model.outputs.find((one) => one.cell === cell);
                        globalFlows.push({ from: column, to: lane, y0: l.outTop + 13, y1: laneTop, kind: "read", isProblem, ...passOf(lane) });
                    } else if (cell >= first && cell < first + model.n) {
                        const i = cell - first;
                        const row = (i >> 5) - this.firstRow;
                        if (row < 0 || row >= l.global) continue;
                        globalFlows.push({ from: i & 31, to: lane, y0: l.top + (row + 1) * l.globalHeight, y1: laneTop, kind: "read", isProblem, ...passOf(lane) });
                    }
                }
                for (const { lane, cell } of step.writes) {
                    const output = model.outputs.find((one) => one.cell === cell);
                    if (output) globalFlows.push({ from: lane, to: output.column, y0: laneTop, y1: l.outTop + 13, kind: "write", ...passOf(lane) });
                    const word = cell - sharedFirst;
                    if (word >= 0 && word < model.sharedWords && !step.reads.length && (word & 31) !== lane) {
                        sharedFlows.push({ from: lane, to: word & 31, y0: laneTop + l.warpHeight - 2, y1: l.sharedTop + (word >> 5) * l.sharedHeight, kind: "write", ...passOf(lane) });
                    }
                }
            }
            const crossing = sharedFlows.filter((flow) => flow.from !== flow.to && flow.kind === "read");
            return [...(crossing.length ? crossing : sharedFlows), ...globalFlows.slice(0, 256)];
        }
        // In which pass through the banks a lane's word comes.
        #passes(step) {
            const access = step.accesses.find((one) => one.space === "shared");
            if (!access || !access.conflicts) return () => ({ pass: 0, passes: 1 });
            const banks = new Map();
            const pass = new Map();
            lab.lanes(access.mask, (lane) => {
                const address = access.addresses[lane];
                const bank = (address / 4) & 31;
                if (!banks.has(bank)) banks.set(bank, []);
                const words = banks.get(bank);
                if (!words.includes(address)) words.push(address);
                pass.set(lane, words.indexOf(address));
            });
            return (lane) => ({ pass: pass.get(lane) || 0, passes: access.conflicts + 1 });
        }
        // Values from register to register: arcs under the warp.
        #handed(step, middle) {
            const { layout: l, model } = this;
            const c = this.context;
            const y = l.warpTop(step.warp) + l.warpHeight - 1;
            for (const { lane, from } of step.sources) {
                if (lane === from) continue;
                const isUseful = model.replay.needed[step.made ? step.made[lane] : 0];
                const depth = Math.min(34, 8 + Math.abs(middle(from) - middle(lane)) * 0.12);
                c.globalAlpha = isUseful ? 0.9 : 0.22;
                c.strokeStyle = this.colours.read;
                c.lineWidth = 1.2;
                c.beginPath();
                c.moveTo(middle(from), y);
                c.bezierCurveTo(middle(from), y + depth, middle(lane), y + depth, middle(lane), y);
                c.stroke();
                c.globalAlpha = 1;
            }
        }
        // What lies under a point of the canvas.
        hit(px, py) {
            const { layout: l, model, view } = this;
            let k = -1;
            for (let i = 0; i < 32; i += 1) if (px >= l.x(i) && px < l.x(i) + l.column) k = i;
            if (k < 0) return null;
            const row = Math.floor((py - l.top) / l.globalHeight);
            const i = (this.firstRow + row) * 32 + k;
            if (row >= 0 && row < l.global && i < model.n) return { cell: model.buffers[0].first + i, name: `in[${i}]` };
            const output = py >= l.outTop && py < l.outTop + 13 && model.outputs.find((one) => one.column === k);
            if (output) return { cell: output.cell, name: `${output.name}[${output.i}]` };
            const warp = Math.floor((l.lanesEnd - py) / l.warpHeight);
            if (py < l.lanesEnd && warp >= 0 && warp < model.warps) return { warp, lane: k };
            const word = Math.floor((py - l.sharedTop) / l.sharedHeight) * 32 + k;
            if (l.shared && py >= l.sharedTop && word < model.sharedWords) return { cell: model.shared(view.shown.block) + word, name: model.sharedWord(word) };
            const remote = model.reaches && py >= l.remoteTop && py < l.remoteTop + 16 && this.#remoteWords().find((one) => one.k === k);
            return remote ? { cell: remote.cell, name: lab.text("remoteCell", { at: model.sharedWord(remote.word), block: remote.block }) } : null;
        }
    }
    lab.Stage = Stage;
})();
