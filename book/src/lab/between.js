// What happens between the blocks of a launch: who starts when, what each leaves for others and who reads it, tickets, looks at a word
// that has not changed yet. All of it from the recorded steps, in the order in which the launch ran.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    const cellName = (model, cell) => {
        const buffer = model.buffers.find((one) => cell >= one.first && cell < one.first + one.len);
        if (buffer) return { name: buffer.shown, at: `${buffer.shown}[${cell - buffer.first}]` };
        if (cell >= model.others.first) return { name: text("gridWord"), at: text("gridWord") };
        const at = model.sharedWord((cell - model.shared(0)) % model.sharedWords);
        return { name: at.replace(/\[.*/, ""), at };
    };

    // Looks: the same load by the same warp at the same place, with no write and no barrier of that warp in between.
    const spinsOf = (model, steps) => {
        const open = new Map();
        const found = [];
        const close = (warp, lanes) => {
            for (const [key, spin] of open) {
                if (spin.warp !== warp || (spin.access.mask & lanes) === 0) continue;
                if (spin.looks.length > 1) found.push(spin);
                open.delete(key);
            }
        };
        for (const step of steps) {
            const code = model.code[step.pc];
            if (code.isBarrier || code.kind === "store" || code.kind === "atom" || code.kind === "red") close(step.warp, step.active);
            const access = code.kind === "load" && step.accesses.find(({ space }) => space === "global" || space === "cluster");
            if (!access) continue;
            const key = `${step.warp}|${step.pc}`;
            const spin = open.get(key);
            const both = spin ? spin.access.mask & access.mask : 0;
            let isSame = both !== 0;
            lab.lanes(both, (lane) => { isSame &&= spin.access.addresses[lane] === access.addresses[lane]; });
            if (isSame) {
                spin.looks.push(step);
                spin.access = access;
                continue;
            }
            if (spin && spin.looks.length > 1) found.push(spin);
            open.set(key, { warp: step.warp, access, looks: [step] });
        }
        for (const { warp } of [...open.values()]) close(warp, -1);
        for (const spin of found) settle(spin, steps);
        return found;
    };
    // When a spin begins and ends: who never gets to anything but its loop spins to the end.
    const settle = (spin, steps) => {
        const last = spin.looks[spin.looks.length - 1];
        [spin.from, spin.to] = [spin.looks[0].time, last.time];
        const own = steps.filter((step) => step.warp === spin.warp && (step.active & spin.access.mask) !== 0 && step.time >= spin.from);
        const loop = new Set(own.filter((step) => step.time <= spin.to).map(({ pc }) => pc));
        spin.isOver = own.some((step) => step.time > spin.to && !loop.has(step.pc));
        spin.looks.forEach((step, i) => { step.look ||= { spin, i }; });
    };

    // After which steps all warps of a block that still run wait for the other blocks of their cluster.
    const markWaits = (model, steps) => {
        const last = new Map();
        for (const step of steps) {
            const code = model.code[step.pc];
            last.set(step.warp, code);
            if (!code.isClusterWait) continue;
            const next = model.recorded[step.time + 1];
            const stands = last.size === model.warps && [...last.values()].every((one) => one.isClusterWait || one.isEnd);
            step.waits = stands && next !== undefined && next.block !== step.block;
        }
    };

    // Which blocks wrote what a step reads, and whether inputs are in it.
    const sources = (model, step) => {
        const { versions, values } = model.replay;
        return step.reads.flatMap(({ lane, cell, version }) => {
            const writer = versions.writer[version];
            if (writer < 0 || model.steps[writer].block === step.block) return [];
            return [{ lane, cell, version, writer, block: model.steps[writer].block, inputs: values.inputs[versions.value[version]] }];
        });
    };

    // Words at which blocks meet: read by a block that did not write them, or changed in one step by several.
    const meetings = (model) => {
        const [cells, readBy, atomics] = [new Map(), new Map(), new Map()];
        const readers = new Map();
        const meet = (cell) => { if (!cells.has(cell)) cells.set(cell, { cell, ...cellName(model, cell) }); };
        for (const step of model.recorded) {
            const { kind } = model.code[step.pc];
            step.from = sources(model, step);
            for (const { version } of step.reads) {
                if (!readers.has(version)) readers.set(version, []);
                if (!readers.get(version).some(({ block }) => block === step.block)) readers.get(version).push(step);
            }
            for (const { cell, writer } of step.from) {
                // Shared memory shows in its block.
                if (model.isOfBuffer(cell) || cell >= model.others.first) meet(cell);
                readBy.set(writer, (readBy.get(writer) || new Set()).add(step.block));
            }
            if (kind !== "atom" && kind !== "red") continue;
            for (const { cell } of step.writes) {
                if (model.isOwn(cell, step.block)) continue;
                atomics.set(cell, (atomics.get(cell) || new Set()).add(step.block));
                if (atomics.get(cell).size > 1) meet(cell);
            }
        }
        // Instructions that leave sums for others, whoever executes them.
        const leaves = new Set([...readBy.keys()].map((index) => model.steps[index]).filter((step) => model.code[step.pc].kind === "store" && isSum(model, step)).map(({ pc }) => pc));
        for (const step of model.recorded) {
            if (leaves.has(step.pc)) for (const { cell } of step.writes) if (model.isOfBuffer(cell)) meet(cell);
        }
        return { cells, readBy, readers, atomics, leaves };
    };

    // Whether inputs are in what a step writes.
    const isSum = (model, { writes }) => writes.some(({ version }) => model.replay.values.inputs[model.replay.versions.value[version]] > 0);

    // The last step of each block that leaves a sum in global memory.
    const lastStores = (model) => {
        const last = new Map();
        for (const step of model.recorded) {
            const isGlobal = step.writes.some(({ cell }) => model.isOfBuffer(cell));
            if (isGlobal && model.code[step.pc].kind === "store" && isSum(model, step)) last.set(step.block, step);
        }
        return last;
    };

    class Between {
        constructor(model) {
            const { grid, cluster } = model.chosen.launches[model.chosen.shown];
            Object.assign(this, { model, count: model.chosen.ranks ? model.chosen.launches.length : grid[0], cluster: cluster ? cluster[0] : 1, events: [], brings: new Set() });
            this.of = Array.from({ length: this.count }, (_, block) => ({ block, steps: [], spins: [], partial: null, marks: [], seen: new Set() }));
            for (const step of model.recorded) this.of[step.block].steps.push(step);
            for (const one of this.of) {
                one.spins = spinsOf(model, one.steps);
                markWaits(model, one.steps);
            }
            Object.assign(this, meetings(model), { arrived: new Map(), last: lastStores(model), started: 0 });
            if (model.chosen.ranks) {
                this.cells = new Map();
                lab.rankEvents(this, (kind, step, values) => this.#tell(kind, step, values));
            } else model.recorded.forEach((step) => this.#step(step));
            this.#beats();
        }
        // Where beats end that show one event each.
        #beats() {
            for (const shown of this.model.blocks) {
                const own = this.events.filter((event) => event.block === shown.block && event.kind !== "starts").map((event) => event.index + 1);
                shown.ends.blocks = [...new Set([...shown.ends.line, ...own])].sort((a, b) => a - b);
            }
        }
        #tell(kind, step, values) {
            const event = { kind, block: step.block, index: step.index, time: step.time, values: { block: step.block, blocks: this.count, ...values } };
            this.events.push(event);
            return event;
        }
        #step(step) {
            const { model } = this;
            const { kind } = model.code[step.pc];
            const one = this.of[step.block];
            if (one.steps[0] === step) {
                this.started += 1;
                one.place = this.started;
                this.#tell("starts", step, { place: this.started });
            }
            if (kind === "atom" || kind === "red") this.#atomic(step, one);
            else if (kind === "store") this.#store(step, one);
            else if (kind === "load") this.#load(step, one);
            if (step.waits) this.#tell("waitsCluster", step, {});
        }
        // The one number that a block found. A block of rows finds many.
        #partial(one, step, value) {
            if (!this.model.chosen.of && value !== null) one.partial ||= { time: step.time, index: step.index, value };
        }
        #atomic(step, one) {
            const { model } = this;
            const { values } = model.replay;
            const code = model.code[step.pc];
            const lane = 31 - Math.clz32(step.active & -step.active);
            const write = step.writes.find((one) => this.cells.has(one.cell));
            if (!write || this.atomics.get(write.cell)?.size < 2) return;
            const { at } = this.cells.get(write.cell);
            const arrived = (this.arrived.get(write.cell) || 0) + 1;
            this.arrived.set(write.cell, arrived);
            const isLast = arrived === this.count;
            const added = model.replay.added(step, code, lane);
            if (values.inputs[step.adds || 0] > 0) this.brings.add(step.pc);
            const hasInputs = this.brings.has(step.pc);
            if (hasInputs) this.#partial(one, step, added);
            if (/\.inc\b/.test(code.opcode)) {
                const ticket = lab.value(model.words, step, lane);
                one.marks.push({ time: step.time, index: step.index, key: isLast ? "lastTicket" : "ticket", values: { ticket } });
                this.#tell(isLast ? "ticketLast" : "ticket", step, { ticket, more: this.count - arrived });
            } else if (hasInputs && code.bytes === 8) {
                one.marks.push({ time: step.time, index: step.index, key: isLast ? "lastPlace" : "place", values: { place: arrived, blocks: this.count } });
                this.#tell(isLast ? "packedLast" : "packed", step, { value: added, target: at, arrived });
            } else if (hasInputs) this.#tell("addsTo", step, { value: added, target: at });
            else if (write.cell >= model.others.first) {
                one.marks.push({ time: step.time, index: step.index, key: "place", values: { place: arrived, blocks: this.count } });
                this.#tell("arrivesGrid", step, { arrived });
            }
        }
        #store(step, one) {
            const { model } = this;
            const { versions, values } = model.replay;
            // A block that had nothing to add leaves its zero too.
            const sum = step.writes.find(({ version }) => values.inputs[versions.value[version]] > 0) || (this.leaves.has(step.pc) && step.writes[0]);
            if (!sum) return;
            // Each row or column has a result of its own, and no store holds the block's.
            if (model.chosen.of && !this.leaves.has(step.pc)) return;
            const value = versions.shown[sum.version];
            const target = cellName(model, sum.cell).at;
            if (sum.cell === model.resultCell && model.chosen.launches.length === 1) {
                this.#tell("result", step, { value, target });
                one.marks.push({ time: step.time, index: step.index, key: "writesResult", values: {} });
            } else if (this.leaves.has(step.pc)) {
                this.#partial(one, step, value);
                const isShared = !model.isOfBuffer(sum.cell);
                const isMessage = model.buffers.some((one) => one.name === "state" && sum.cell >= one.first && sum.cell < one.first + one.len);
                this.#tell(isShared ? "leavesShared" : isMessage ? "sends" : "leaves", step, { value, target });
            } else if (this.last.get(step.block) === step) {
                this.#partial(one, step, value);
                this.#tell(model.chosen.launches.length > 1 ? "stores" : "storesOnly", step, { value, target });
            }
        }
        #load(step, one) {
            const { model } = this;
            const messages = step.from.filter(({ inputs, writer }) => inputs > 0 || this.leaves.has(model.steps[writer].pc));
            const cell = (step.reads[0] || { cell: -1 }).cell;
            if (step.look) {
                const { spin, i } = step.look;
                const isNew = messages.filter(({ version }) => !one.seen.has(version));
                isNew.forEach(({ version }) => one.seen.add(version));
                const { name, at } = cellName(model, cell);
                const isOne = step.reads.every((read) => read.cell === cell);
                if (isNew.length) this.#receives(one, step);
                if (isNew.length) this.#tell("message", step, { from: this.#who(isNew), name, count: new Set(isNew.map(({ block }) => block)).size });
                else if (i < spin.looks.length - 1 || !spin.isOver) {
                    // A block that looks at several words, and has no turn of others in between, looks once.
                    const last = this.events[this.events.length - 1];
                    const isSameTurn = last && last.kind === "looks" && last.block === step.block && last.warp === step.warp && step.time - last.time < 64;
                    if (isSameTurn) Object.assign(last, { index: step.index, time: step.time, values: { ...last.values, looks: i + 1 } });
                    else this.#tell("looks", step, { target: isOne ? at : name, looks: i + 1 }).warp = step.warp;
                } else if (cell >= model.others.first) this.#tell("sees", step, {});
                return;
            }
            if (!messages.length) return;
            const blocks = new Set(messages.map(({ block }) => block));
            const { name } = cellName(model, messages[0].cell);
            const isRemote = step.accesses.some(({ space }) => space === "cluster");
            this.#receives(one, step);
            this.#tell(isRemote ? "remote" : "takesFrom", step, { name, count: blocks.size, from: this.#who(messages) });
        }
        #receives(one, step) {
            if (!one.marks.some(({ key }) => key === "receives")) one.marks.push({ time: step.time, index: step.index, key: "receives", values: {} });
        }
        // "block 3", "blocks 1 to 3", "8 blocks".
        #who(messages) {
            const all = [...new Set(messages.map(({ block }) => block))].sort((a, b) => a - b);
            if (all.length === 1) return text("oneBlock", { block: all[0] });
            const last = all[all.length - 1];
            return last - all[0] === all.length - 1 ? text("blocksRange", { from: all[0], to: last }) : text("blocksCount", { count: all.length });
        }

        // ---- How things stand when the run has come to a time.

        // Of the block that is shown by the steps that are, which may come in another order; of the others by the time.
        #isPast({ block }, { shown, at, view }) {
            return (one) => (block === shown.block ? one.index < at : one.time <= view.time);
        }
        state(block, moment) {
            const { steps, spins } = this.of[block];
            const { shown, at, view, event } = moment;
            if (event && event.kind === "starts" && event.block === block) return "runs";
            const isShown = block === shown.block;
            const isPast = this.#isPast({ block }, moment);
            const count = isShown ? at - shown.from : this.#count(steps, view.time);
            if (count === 0) return "notStarted";
            const isSpinning = ({ looks, isOver }) => isPast(looks[0]) && (!isOver || !isPast(looks[looks.length - 1]));
            if (this.model.chosen.ranks ? lab.rankWaits(this, block, isPast) : spins.some(isSpinning)) return "spins";
            if (count === steps.length) return "done";
            return (isShown ? this.model.steps[at - 1] : steps[count - 1]).waits ? "waits" : "runs";
        }
        // How many steps of a block have been made at a time of the run.
        #count(steps, time) {
            let [low, high] = [0, steps.length];
            while (low < high) {
                const middle = (low + high) >> 1;
                if (steps[middle].time <= time) low = middle + 1;
                else high = middle;
            }
            return low;
        }
        // What a tile says besides.
        marks(block, moment) {
            return this.of[block].marks.filter(this.#isPast({ block }, moment));
        }
        // Blocks that have read what one left in a word.
        readersOf(version, moment) {
            const past = (this.readers.get(version) || []).filter((step) => this.#isPast(step, moment)(step));
            return past.map(({ block }) => block);
        }
        // The one mark of a tile that matters most.
        weightiest(marks) {
            return marks.find(({ key }) => key === "lastTicket" || key === "lastPlace") || marks.find(({ key }) => key === "receives") || marks[marks.length - 1];
        }
        // How many have come to the grid's barrier.
        arrivals(moment) {
            return this.events.filter((event) => event.kind === "arrivesGrid" && this.#isPast(event, moment)(event)).length;
        }
        partial(block, moment) {
            const { partial } = this.of[block];
            return partial && this.#isPast({ block }, moment)(partial) ? partial.value : null;
        }
        // Turns of blocks, and which of them are looks in vain.
        turns() {
            if (this.bars) return this.bars;
            this.bars = [];
            for (const step of this.model.recorded) {
                const isLooking = this.isLooking(step);
                const last = this.bars[this.bars.length - 1];
                if (last && last.block === step.block && last.isLooking === isLooking) last.to = step.time + 1;
                else this.bars.push({ block: step.block, from: step.time, to: step.time + 1, isLooking });
            }
            return this.bars;
        }
        // Whether a step is part of a look in vain.
        isLooking(step) {
            const { spins } = this.of[step.block];
            return spins.length > 0 && spins.some((spin) => spin.warp === step.warp && spin.from < step.time && step.time <= spin.to && (step.active & spin.access.mask) !== 0);
        }
        // The event before or after one, else a moment.
        next(event, moment) {
            return event ? this.events[this.events.indexOf(event) + 1] : this.events.find((one) => !this.#isPast(one, moment)(one));
        }
        previous(event, moment) {
            return event ? this.events[this.events.indexOf(event) - 1] : this.events.findLast((one) => this.#isPast(one, moment)(one));
        }
        // What a beat of one block is about: the weightiest event in it.
        within(from, to) {
            const { model } = this;
            let best = null;
            for (let i = from; i < to; i += 1) {
                const event = this.atStep.get(model.steps[i]);
                if (event && (!best || WEIGHTS.indexOf(event.kind) <= WEIGHTS.indexOf(best.kind))) best = event;
            }
            return best;
        }
        get atStep() {
            if (!this.byStep) {
                this.byStep = new Map();
                for (const event of this.events) if (event.kind !== "starts") this.byStep.set(this.model.steps[event.index], event);
            }
            return this.byStep;
        }
        // A moment by its name.
        named(name, block) {
            if (this.model.chosen.ranks) return lab.rankNamed(this, name, block);
            const kinds = NAMED[name];
            if (!kinds) return null;
            const found = this.events.filter((event) => kinds.includes(event.kind) && (block === null || block === undefined || event.block === block));
            if (name === "spin") {
                // When the others have had a turn, and it still looks.
                return found.find((event) => found.some((other) => other.block === event.block && other.time < event.time)) || found[0] || null;
            }
            return found[name === "leaves" || name === "message" ? 0 : found.length - 1] || null;
        }
        // The words speak of a sum only where blocks add, and leave out a number that the trace does not hold.
        sentence(event) {
            if (this.model.chosen.ranks) return lab.rankSentence(this, event);
            const { kind, values } = event;
            const { op = "sum", of } = this.model.chosen;
            const isSum = op === "sum" && !of && values.value !== null;
            return { text: text(FOUND.includes(kind) && !isSum ? `event_${kind}Found` : `event_${kind}`, values) };
        }
    }
    const WEIGHTS = ["result", "ticketLast", "packedLast", "message", "remote", "takesFrom", "sees", "ticket", "packed", "arrivesGrid", "addsTo", "leaves", "sends", "leavesShared", "stores", "storesOnly", "looks", "waitsCluster"];
    // Events whose words speak of sums.
    const FOUND = ["leaves", "sends", "leavesShared", "stores", "storesOnly", "result", "ticketLast", "packedLast", "addsTo", "takesFrom"];
    const NAMED = {
        ticket: ["ticketLast", "packedLast"], spin: ["looks"], remote: ["remote"], message: ["message", "sees"],
        leaves: ["leaves", "leavesShared", "sends", "packed"], result: ["result"], takes: ["takesFrom", "remote", "message"], waits: ["waitsCluster"],
    };
    lab.Between = Between;
})();
