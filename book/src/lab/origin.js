// Where values come from. Replays a run's steps once and keeps, of every value that came from the input, which two it was made of;
// of every word of memory, who wrote what is in it and who reads it last. So a figure can show which inputs are in a sum, how often,
// and which words nobody will read again.
(() => {
    "use strict";
    const lab = reductionLab;

    // A graph of values of n inputs. Number 0 is none; a value's number is higher than those of its parts.
    class Values {
        constructor(n) {
            this.n = n;
            this.left = [0];
            this.right = [0];
            this.input = [-1];
            this.inputs = [0];
            // Whether inputs are in it otherwise than as terms of a sum: differences, products and shifts by one another.
            this.isMixed = [false];
        }
        leaf(index) {
            this.left.push(0);
            this.right.push(0);
            this.input.push(index);
            this.isMixed.push(false);
            return this.inputs.push(1) - 1;
        }
        copy(of) {
            return of ? this.#push(of, 0, this.isMixed[of], this.inputs[of]) : 0;
        }
        join(a, b) {
            if (!a || !b) return a || b;
            return this.#push(a, b, this.isMixed[a] || this.isMixed[b], Math.min(this.n, this.inputs[a] + this.inputs[b]));
        }
        mix(a, b) {
            if (!a || !b) return a || b;
            return this.#push(a, b, true, Math.max(this.inputs[a], this.inputs[b]));
        }
        #push(a, b, isMixed, inputs) {
            this.left.push(a);
            this.right.push(b);
            this.input.push(-1);
            this.isMixed.push(isMixed);
            return this.inputs.push(inputs) - 1;
        }
        // How often each of n inputs is in a value; of a mixed one, whether it is.
        receipt(value, n) {
            const times = new Float64Array(value + 1);
            const found = new Uint16Array(n);
            times[value] = 1;
            for (let at = value; at > 0; at -= 1) {
                if (!times[at]) continue;
                if (this.input[at] >= 0) found[this.input[at]] += times[at];
                else {
                    times[this.left[at]] += times[at];
                    times[this.right[at]] += times[at];
                }
            }
            return this.isMixed[value] ? found.map((times) => Math.min(times, 1)) : found;
        }
        // Which values are part of one of these.
        needed(ends) {
            const is = new Uint8Array(this.left.length);
            for (const end of ends) is[end] = 1;
            for (let at = is.length - 1; at > 0; at -= 1) {
                if (is[at]) is[this.left[at]] = is[this.right[at]] = 1;
            }
            is[0] = 0;
            return is;
        }
    }

    // Instructions that mix what two registers have of the input, where they add nothing.
    const MIXES = /^(sub|mul|shl|shr|div)\b/;

    // The lane whose register a shuffle takes.
    const source = (mode, lane, by) => {
        if (mode === "down") return lane + by > 31 ? lane : lane + by;
        if (mode === "up") return lane < by ? lane : lane - by;
        return mode === "bfly" ? lane ^ by : by & 31;
    };

    // Follows one run. `model` has steps in the order in which they are shown, their words and instructions, buffers and shared words.
    class Replay {
        constructor(model) {
            this.model = model;
            this.values = new Values(model.n);
            // Versions of words: a write makes a new one. 0 is what nobody wrote.
            this.versions = { value: [0], shown: [null], lastRead: [-1], writer: [-1] };
            // Where several blocks read a version: the last read of each block but the last.
            this.readElsewhere = new Map();
            this.cells = new Int32Array(model.cellCount);
            this.registers = new Map();
            this.lastStep = new Map();
            this.gathered = new Map();
            this.#fill();
        }
        #fill() {
            const { buffers, n, chosen } = this.model;
            for (let i = 0; i < n; i += 1) {
                this.cells[buffers[0].first + i] = this.#version(this.values.leaf(i), chosen.elements ? chosen.elements[i] : lab.element(n, i, chosen.given, chosen.fill), -1);
            }
        }
        #version(value, shown, writer) {
            const { versions } = this;
            versions.value.push(value);
            versions.shown.push(shown);
            versions.lastRead.push(-1);
            return versions.writer.push(writer) - 1;
        }
        #row(step, register) {
            const key = (step.block * 32 + step.warp) * 65536 + register;
            let row = this.registers.get(key);
            if (!row) this.registers.set(key, (row = new Int32Array(32)));
            return row;
        }
        // The step that wrote a register last, by lane.
        #wrote(step, register) {
            const key = (step.block * 32 + step.warp) * 65536 + register;
            let row = this.lastStep.get(key);
            if (!row) this.lastStep.set(key, (row = new Int32Array(32).fill(-1)));
            return row;
        }
        // The words that an access of a lane touches.
        #cell(step, access, lane, more) {
            return this.model.cellOf(access.space, access.owner ?? step.block, access.addresses[lane] + more);
        }
        step(index) {
            const { model } = this;
            const step = model.steps[index];
            const code = model.code[step.pc];
            step.reads = [];
            step.writes = [];
            step.made = null;
            // One of the block's own memory, and in a cluster one of each other block's.
            const memory = step.accesses.filter((access) => access.space !== "local");
            const does = { load: "load", store: "store", atom: "atomic", red: "atomic" }[code.kind];
            for (const access of memory) {
                if (does === "load") this.#load(index, step, code, access);
                else if (does === "store") this.#store(index, step, code, access);
                else if (does) this.#atomic(index, step, code, access);
            }
            if (code.kind === "shuffle") this.#shuffle(index, step, code);
            else if (code.kind === "redux") this.#redux(index, step, code);
            else if (code.kind === "compute") this.#compute(index, step, code);
            for (const register of code.writes) {
                const row = this.#wrote(step, register);
                lab.lanes(step.active, (lane) => { row[lane] = index; });
            }
        }
        #made(step, lane, value) {
            if (!value) return;
            step.made ||= new Int32Array(32);
            step.made[lane] = value;
        }
        #load(index, step, code, access) {
            lab.lanes(access.mask, (lane) => {
                code.writes.forEach((register, place) => {
                    const cell = this.#cell(step, access, lane, place * code.bytes);
                    const version = cell < 0 ? 0 : this.cells[cell];
                    const value = this.values.copy(this.versions.value[version]);
                    this.#row(step, register)[lane] = value;
                    step.reads.push({ lane, cell, version, value });
                    this.#made(step, lane, value);
                });
            });
        }
        #store(index, step, code, access) {
            lab.lanes(access.mask, (lane) => {
                code.reads.forEach((register, place) => {
                    const cell = this.#cell(step, access, lane, place * code.bytes);
                    const value = this.#row(step, register)[lane];
                    const held = this.#holds(step, register, lane);
                    const shown = held !== null || place > 0 ? held : lab.valueOf(this.model, step, lane);
                    this.#write(index, step, lane, cell, value, this.#told(shown, cell, step.isFloat || step.isDouble));
                });
                if (code.reads.length === 0) {
                    const cell = this.#cell(step, access, lane, 0);
                    this.#write(index, step, lane, cell, 0, this.#told(lab.valueOf(this.model, step, lane), cell, step.isFloat || step.isDouble));
                }
            });
        }
        // What a register of a lane holds, of several that are stored together: what its last instruction left there, of a load what it read.
        #holds(step, register, lane) {
            if (!this.model.chosen.ranks) return null;
            const last = this.model.steps[this.#wrote(step, register)[lane]];
            if (!last) return null;
            const { kind, writes } = this.model.code[last.pc];
            if (kind !== "load") return lab.valueOf(this.model, last, lane);
            const read = last.reads.filter((one) => one.lane === lane)[writes.indexOf(register)];
            return read ? this.versions.shown[read.version] : null;
        }
        // What a word says: a float may be written as its bits, and a message holds them below the flag.
        #told(shown, cell, isKnown) {
            const { variant, buffers } = this.model;
            if (variant.type !== "f32" || isKnown || shown === null) return shown;
            const buffer = buffers.find((one) => cell >= one.first && cell < one.first + one.len);
            const holdsFloats = buffer && /^(state$|sums|words_)/.test(buffer.name);
            return holdsFloats ? lab.float(shown) : shown;
        }
        #write(index, step, lane, cell, value, shown) {
            if (cell < 0) return;
            const version = this.#version(value, shown, index);
            step.writes.push({ lane, cell, version, before: this.cells[cell] });
            this.cells[cell] = version;
        }
        #atomic(index, step, code, access) {
            lab.lanes(access.mask, (lane) => {
                const cell = this.#cell(step, access, lane, 0);
                const version = cell < 0 ? 0 : this.cells[cell];
                const old = this.values.copy(this.versions.value[version]);
                const added = code.reads.length ? this.#row(step, code.reads[0])[lane] : 0;
                step.reads.push({ lane, cell, version, value: old });
                const replaces = /\.(exch|cas)\b/.test(code.opcode);
                step.adds = added;
                const shown = this.#after(step, code, lane, version);
                this.#write(index, step, lane, cell, replaces ? added : this.values.join(old, added), shown);
                for (const register of code.writes) this.#row(step, register)[lane] = old;
            });
        }
        // What an atomic addition is given.
        added(step, code, lane) {
            return this.#given(step, code.parts[code.kind === "red" ? 1 : 2], lane);
        }
        // What an atomic addition leaves, where both numbers are known. What was there before, it says itself.
        #after(step, code, lane, version) {
            const before = code.kind === "atom" ? lab.valueOf(this.model, step, lane) : this.versions.shown[version];
            const added = this.added(step, code, lane);
            if (before === null || added === null) return null;
            if (/\.inc\b/.test(code.opcode)) return before >>> 0 >= added >>> 0 ? 0 : before + 1;
            if (!/\.add\b/.test(code.opcode)) return null;
            return /\.f32/.test(code.opcode) ? Math.fround(before + added) : (before + added) | 0;
        }
        // A number that an instruction is given: written out, or in a register that the lane wrote some steps ago.
        #given(step, operand, lane) {
            if (operand === undefined) return null;
            if (!operand.startsWith("%")) return Number(operand);
            const last = this.#wrote(step, this.model.numberOf(operand))[lane];
            return last < 0 ? null : lab.valueOf(this.model, this.model.steps[last], lane);
        }
        // Lanes that are apart come to an instruction that they make together one after the other: what each brings is kept until all
        // lanes of the mask are there. Then gives it, else null.
        #gather(step, code, operand) {
            const key = (step.block * 32 + step.warp) * 65536 + step.pc;
            const lane = 31 - Math.clz32(step.active);
            const wanted = this.#given(step, operand, lane);
            const held = this.gathered.get(key) || { mask: 0, values: new Int32Array(32) };
            const from = this.#row(step, code.reads[0]);
            lab.lanes(step.active, (k) => { held.values[k] = from[k]; });
            held.mask |= step.active;
            const isWhole = wanted === null || (wanted & ~held.mask) === 0;
            if (isWhole) this.gathered.delete(key);
            else this.gathered.set(key, held);
            return isWhole ? held : null;
        }
        #shuffle(index, step, code) {
            const held = this.#gather(step, code, code.parts[4]);
            if (!held) return;
            const mode = code.opcode.split(".")[2];
            const to = code.writes.length ? this.#row(step, code.writes[0]) : null;
            step.sources = [];
            step.reach = held.mask;
            lab.lanes(held.mask, (lane) => {
                step.distance = this.#given(step, code.parts[2], lane);
                const other = source(mode, lane, step.distance);
                step.sources.push({ lane, from: other });
                const value = this.values.copy(held.values[other]);
                if (to) to[lane] = value;
                this.#made(step, lane, value);
            });
        }
        #redux(index, step, code) {
            const held = this.#gather(step, code, code.parts[2]);
            if (!held) return;
            let all = 0;
            step.sources = [];
            step.reach = held.mask;
            lab.lanes(held.mask, (lane) => {
                all = this.values.join(all, held.values[lane]);
                step.sources.push({ lane: 0, from: lane });
            });
            lab.lanes(held.mask, (lane) => {
                this.#row(step, code.writes[0])[lane] = all;
                this.#made(step, lane, all);
            });
        }
        #compute(index, step, code) {
            if (code.writes.length === 0) return;
            const to = this.#row(step, code.writes[0]);
            const from = code.reads.map((register) => this.#row(step, register));
            const mixes = MIXES.test(code.opcode);
            lab.lanes(step.active, (lane) => {
                let value = 0;
                const taken = /^selp\b/.test(code.opcode) ? this.#selected(step, code, lane) : null;
                if (taken !== null) value = taken < 0 ? 0 : this.values.copy(this.#row(step, taken)[lane]);
                else for (const row of from) value = mixes ? this.values.mix(value, row[lane]) : this.values.join(value, row[lane]);
                to[lane] = value;
                this.#made(step, lane, value);
            });
        }
        // The register that a selection took, by the number that came out; -1 for a number written out, null where that is not known.
        #selected(step, code, lane) {
            const out = lab.valueOf(this.model, step, lane);
            for (const operand of code.parts.slice(1, 3)) {
                const given = this.#given(step, operand, lane);
                if (out === null || given === null) return null;
                if (Object.is(given, out)) return operand.startsWith("%") ? this.model.numberOf(operand) : -1;
            }
            return null;
        }
        // Who reads each version last, of those reads that end in the result.
        finish(ends) {
            this.needed = this.values.needed(ends);
            const { lastRead } = this.versions;
            this.model.steps.forEach((step, index) => {
                for (const { version, value } of step.reads) {
                    if (!this.needed[value]) continue;
                    const last = lastRead[version];
                    if (last >= 0 && this.model.steps[last].block !== step.block) this.readElsewhere.set(version, [...(this.readElsewhere.get(version) || []), last]);
                    lastRead[version] = index;
                }
            });
        }
        // Whether a version will still be read, when a block has come to step `at`, at that time of the run.
        isLive(version, block, at, time) {
            const { steps } = this.model;
            const isLater = (last) => last >= 0 && (steps[last].block === block ? last >= at : steps[last].time > time);
            return isLater(this.versions.lastRead[version]) || (this.readElsewhere.get(version) || []).some(isLater);
        }
    }
    lab.Replay = Replay;
})();
