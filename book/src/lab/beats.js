// Order and beats. Where nothing races, what warps do between two barriers may be shown in any order that keeps each warp's own: so
// all warps that come to a line are one beat. Where something races, the order of the run is kept. A beat is a stretch of steps; there
// are three sizes: instruction, line, round.
(() => {
    "use strict";
    const lab = reductionLab;

    const isData = (step) => step.accesses.some((access) => access.space !== "local");
    const works = (model, step) => isData(step) || /^(shuffle|redux)$/.test(model.code[step.pc].kind);

    // Steps of one warp between two barriers, cut where the line changes.
    const runs = (model, indices) => {
        const found = [];
        for (const index of indices) {
            const { line, file } = model.code[model.recorded[index].pc];
            const last = found[found.length - 1];
            if (last && last.line === line && last.file === file) last.steps.push(index);
            else found.push({ line, file, steps: [index], first: model.recorded[index].pc });
        }
        return found;
    };

    // Merges the warps of one phase line by line; gives lists of steps, one a line.
    const merge = (model, warps) => {
        const queues = warps.map((indices) => ({ runs: runs(model, indices), at: 0, visits: new Map() }));
        const lines = [];
        const front = (queue) => queue.runs[queue.at];
        const visit = (queue) => queue.visits.get(front(queue).line) || 0;
        for (;;) {
            const open = queues.filter((queue) => queue.at < queue.runs.length);
            if (open.length === 0) return lines;
            let best = open[0];
            for (const queue of open) {
                const [a, b] = [visit(queue) - visit(best), front(queue).first - front(best).first];
                if (a < 0 || (a === 0 && b < 0)) best = queue;
            }
            const { line, file } = front(best);
            const round = visit(best);
            const steps = [];
            for (const queue of open) {
                if (front(queue).line !== line || front(queue).file !== file || visit(queue) !== round) continue;
                steps.push(...front(queue).steps);
                queue.visits.set(line, round + 1);
                queue.at += 1;
            }
            lines.push(steps);
        }
    };

    // Rounds of a phase that is given line by line: all of it, or, where one warp goes on alone or loads many times, a line that works.
    const rounds = (model, lines) => {
        const warps = new Set();
        let working = 0;
        for (const steps of lines) {
            const busy = steps.filter((index) => works(model, model.recorded[index]));
            if (busy.length) working += 1;
            for (const index of busy) warps.add(model.recorded[index].warp);
        }
        if (working <= 1 || (warps.size > 1 && working <= 3)) return [lines];
        const groups = [[]];
        let isDone = false;
        for (const steps of lines) {
            const isBusy = steps.some((index) => works(model, model.recorded[index]));
            if (isDone && isBusy) groups.push([]);
            isDone = isBusy || (isDone && groups[groups.length - 1].length > 0);
            groups[groups.length - 1].push(steps);
        }
        return groups;
    };

    // Between which barriers each step of a list lies. Lanes of a warp that are apart come to a barrier one after the other.
    const phaseOf = (model, indices, visit) => {
        const met = new Map();
        indices.forEach((index, place) => {
            const step = model.recorded[index];
            const of = (lane) => step.warp * 32 + lane;
            const phase = met.get(of(31 - Math.clz32(step.split))) || 0;
            visit(index, phase, place, model.code[step.pc].isBarrier);
            if (model.code[step.pc].isBarrier) lab.lanes(step.active, (lane) => met.set(of(lane), phase + 1));
        });
    };

    const phasesOf = (model, indices) => {
        const phases = [];
        phaseOf(model, indices, (index, phase) => (phases[phase] ||= []).push(index));
        return phases;
    };

    // Arranges one block: order of the recorded steps, and where beats end. `keep`: the order of the run is part of the story.
    lab.arrange = (model, indices, keep) => {
        const order = [];
        const ends = { instruction: [], line: [], round: [] };
        const barriers = [];
        const phases = keep ? inTime(model, indices) : phasesOf(model, indices);
        phases.forEach((phase, number) => {
            if (!phase) return;
            const lines = keep ? runs(model, phase).map((run) => run.steps) : merge(model, byWarp(model, phase));
            for (const group of rounds(model, lines)) {
                for (const steps of group) {
                    for (const index of steps) {
                        order.push(index);
                        ends.instruction.push(order.length);
                    }
                    ends.line.push(order.length);
                }
                ends.round.push(order.length);
            }
            if (number < phases.length - 1) barriers.push(order.length);
        });
        return { order, ends, barriers };
    };

    const byWarp = (model, phase) => {
        const warps = new Map();
        for (const index of phase) {
            const { warp } = model.recorded[index];
            if (!warps.has(warp)) warps.set(warp, []);
            warps.get(warp).push(index);
        }
        return [...warps.values()];
    };

    // Stretches of the run's own order, each up to the moment at which the last warp has come to a barrier.
    const inTime = (model, indices) => {
        const last = [];
        phaseOf(model, indices, (_, phase, place, isBarrier) => { if (isBarrier) last[phase] = place + 1; });
        const phases = [];
        let from = 0;
        for (const end of last) {
            if (end === undefined || end <= from) continue;
            phases.push(indices.slice(from, end));
            from = end;
        }
        phases.push(indices.slice(from));
        return phases;
    };

    // The launch that is shown; on several devices, all of them, with the faults of all.
    const launchOf = (chosen, { json: { launches } }) => {
        const launch = launches[chosen.shown];
        return chosen.ranks ? { ...launch, faults: launches.flatMap(({ faults }) => faults) } : launch;
    };
    // An instruction of an assembly statement is told by the line that calls it: its own are operands.
    const linesOfCalls = (source, told, code) => code.forEach((one, pc) => {
        if (/^\s*(:|asm\b)/.test(source[one.line - 1] || "") && told[pc].calls.length) [one.line, ...one.calls] = told[pc].calls;
    });
    // The arrays of ranks: which word is whose, which ones the run touches, and who writes into each.
    const ranksOf = (model) => {
        const arrays = model.buffers.map(({ name }) => lab.rankArray(name));
        model.bufferOf = (cell) => model.buffers.findLast((one) => one.first <= cell);
        model.arrayOf = (cell) => (model.isOfBuffer(cell) ? arrays[model.buffers.indexOf(model.bufferOf(cell))] : undefined);
        model.buffers.forEach((buffer, at) => { buffer.shown = lab.rankArrayName(arrays[at]); });
        model.outputs = model.buffers.filter((_, at) => arrays[at].what === "out").flatMap(({ first, len, shown }) => Array.from({ length: len }, (_, i) => ({ cell: first + i, name: shown, i })));
        model.resultCell = -1;
    };
    const sendersOf = (model) => {
        const writers = new Map();
        model.touched = new Set();
        for (const { block, reads, writes } of model.recorded) {
            for (const { cell } of writes) if (!writers.has(cell)) writers.set(cell, block);
            for (const { cell } of [...reads, ...writes]) model.touched.add(cell);
        }
        // The rank that writes a word first, where the word is another's.
        model.sender = (cell) => {
            const writer = writers.has(cell) ? lab.rankOf(model.chosen, writers.get(cell)).rank : null;
            return writer === model.arrayOf(cell)?.rank ? null : writer;
        };
    };

    // Builds everything that the figure shows of an answer. `block` is the block whose steps are shown.
    lab.model = (data, variant, chosen, answer) => {
        const launch = launchOf(chosen, answer);
        const names = new Map();
        const intern = (name) => {
            if (!names.has(name)) names.set(name, names.size);
            return names.get(name);
        };
        const trace = launch.trace;
        const code = trace.code.map((one) => lab.instruction(one, intern));
        if (chosen.ranks) linesOfCalls(data.files[variant.source].split("\n"), trace.code, code);
        const recorded = answer.recorded || lab.unpack(answer.words, trace.steps);
        const model = { data, variant, chosen, answer, launch, trace, code, recorded, words: answer.words, n: lab.inputs(chosen), numberOf: intern };
        for (const step of recorded) ({ isFloat: step.isFloat, isDouble: step.isDouble } = code[step.pc]);
        model.threads = trace.block[0];
        model.warps = Math.ceil(model.threads / 32);
        model.isRacy = launch.faults.some((fault) => fault.code.endsWith("race"));
        model.keep = model.isRacy || /:/.test(launch.schedule);
        memory(model);
        arrangeBlocks(model);
        // Blocks may wait for each other: what is read is what was there when it was, so the run's own order counts.
        model.replay = new lab.Replay(model);
        model.recorded.forEach((step) => model.replay.step(step.index));
        if (chosen.ranks) sendersOf(model);
        const end = ({ cell }) => model.replay.versions.value[model.replay.cells[cell]];
        model.replay.finish(model.outputs.map(end).filter(Boolean));
        // Words of shared memory, as places in a block's, that other blocks of the cluster reach.
        const reached = new Set();
        for (const { accesses } of model.recorded) {
            for (const { space, mask, addresses } of accesses) if (space === "cluster") lab.lanes(mask, (lane) => reached.add(Math.floor(addresses[lane] / 4)));
        }
        model.reaches = reached.size ? reached : null;
        model.common = commonWrites(model);
        return model;
    };
    // Words of memory get numbers: first the buffers one after the other, then each block's shared memory.
    const memory = (model) => {
        let first = 0;
        model.buffers = model.answer.json.buffers.map((buffer) => {
            const bytes = /64$/.test(buffer.type) ? 8 : 4;
            // An input that begins further on: what lies before it is none of the numbers.
            const skipped = (first === 0 && model.chosen.offset) || 0;
            const placed = { ...buffer, address: Number(buffer.address) + skipped * bytes, len: buffer.len - skipped, bytes, first };
            first += placed.len;
            return placed;
        });
        let top = 0;
        for (const step of model.recorded) {
            for (const { space, mask, addresses, bytes } of step.accesses) {
                if (space === "shared") lab.lanes(mask, (lane) => { if (addresses[lane] < 2 ** 20) top = Math.max(top, addresses[lane] + bytes); });
            }
        }
        model.sharedWords = Math.ceil(top / 4);
        model.shared = (block) => first + block * model.sharedWords;
        const blocks = model.recorded.reduce((most, step) => Math.max(most, step.block), 0) + 1;
        model.others = { first: first + blocks * model.sharedWords, of: new Map() };
        model.cellCount = model.others.first;
        const buffers = first;
        // Whether only its own block sees a word, unless that is one of a cluster.
        model.isOwn = (cell, block) => cell >= model.shared(block) && cell < model.shared(block) + model.sharedWords;
        model.isOfBuffer = (cell) => cell >= 0 && cell < buffers;
        model.cellOf = (space, block, address) => {
            if (space === "shared" || space === "cluster") {
                const word = Math.floor(address / 4);
                return word < model.sharedWords ? model.shared(block) + word : -1;
            }
            const buffer = model.buffers.find((one) => address >= one.address && address < one.address + one.len * one.bytes);
            if (buffer) return buffer.first + Math.floor((address - buffer.address) / buffer.bytes);
            // The driver's own memory: the word at which a grid meets.
            const { of } = model.others;
            if (space === "global" && !of.has(address)) of.set(address, model.cellCount++);
            return space === "global" ? of.get(address) : -1;
        };
        for (const { block, accesses } of model.recorded) {
            for (const { space, mask, addresses } of accesses) if (space === "global") lab.lanes(mask, (lane) => { model.cellOf(space, block, addresses[lane]); });
        }
        outputsOf(model);
    };

    // The arrays that the launch writes, as cells with names: `out` is its second argument, any other holds what blocks leave each other.
    const COLUMNS = 24;
    const outputsOf = (model) => {
        if (model.chosen.ranks) return ranksOf(model);
        const { args } = model.chosen.launches[model.chosen.shown];
        const given = args.filter((arg) => arg.includes("=&")).map((arg) => arg.split("=&")[1].split("+")[0]);
        // The second array is what a launch writes, but where the results are among its arguments.
        const results = model.chosen.result.split(":")[0];
        if (model.chosen.of && given.includes(results)) given[1] = results;
        // The launch names its arrays. Among those that hold sums one is the launch's output, and blocks leave each other values in the rest.
        const shown = ({ name }) => (!name.startsWith("sums") ? name : name === given[1] ? "out" : "of_blocks");
        for (const buffer of model.buffers) buffer.shown = shown(buffer);
        if (given[1] === "in") model.buffers[0].shown = "in";
        const written = model.buffers.filter((buffer) => given.includes(buffer.name) && buffer.name.startsWith("sums"));
        model.outputs = [];
        for (const buffer of written.sort((a, b) => (a.shown === "out") - (b.shown === "out"))) {
            const isSecond = model.outputs.length > 0;
            const count = Math.min(buffer.len, isSecond ? 1 : COLUMNS);
            for (let i = 0; i < count; i += 1) model.outputs.push({ cell: buffer.first + i, name: buffer.shown, i, column: isSecond ? 31 : i });
        }
        // The sum that the figure's last sentence is about.
        const out = written.find((buffer) => buffer.shown === "out");
        model.resultCell = out ? out.first : -1;
    };

    // What blocks write where others may see it, in the order of the run.
    const commonWrites = (model) => {
        const found = [];
        const isReached = (cell, block) => model.reaches && model.reaches.has(cell - model.shared(block));
        for (const { writes, block, time } of model.recorded) {
            for (const { cell, version } of writes) if (!model.isOwn(cell, block) || isReached(cell, block)) found.push({ time, block, cell, version });
        }
        return found;
    };

    // Words of shared memory by the names of their arrays.
    lab.shareNames = (model) => {
        model.sharedAt = (address) => {
            const array = model.launch.shared.find(({ first, bytes }) => address >= first && address < first + bytes) || { name: "shared", first: 0 };
            return { name: array.name, at: Math.floor((address - array.first) / 4) };
        };
        model.sharedWord = (word) => {
            const { name, at } = model.sharedAt(word * 4);
            return `${name}[${at}]`;
        };
        // Arrays that begin inside a row of 32 words, each with its bank.
        model.sharedInside = model.launch.shared
            .filter(({ first }) => first % 128 !== 0)
            .map(({ name, first }) => ({ name, bank: Math.floor((first % 128) / 4) }));
    };

    // Up to what time of the run a block has come with each of its steps from `from` on, in the order in which they are shown.
    const timesOf = (model, from) => {
        const times = new Int32Array(model.steps.length - from);
        let time = -1;
        for (let i = from; i < model.steps.length; i += 1) times[i - from] = time = Math.max(time, model.steps[i].time);
        return times;
    };

    // Blocks one after the other; those that read what other blocks left come last, so that it is there.
    const arrangeBlocks = (model) => {
        const of = new Map();
        model.recorded.forEach((step, index) => {
            if (!of.has(step.block)) of.set(step.block, []);
            of.get(step.block).push(index);
        });
        const input = model.buffers[0];
        const reads = (indices) => indices.filter((index) => {
            const step = model.recorded[index];
            const isOfOthers = ({ space, mask, addresses }) => {
                const cell = space === "global" ? model.cellOf(space, 0, addresses[31 - Math.clz32(mask)]) : -1;
                return space === "cluster" || (model.isOfBuffer(cell) && cell >= input.first + input.len);
            };
            return model.code[step.pc].kind === "load" && step.accesses.some(isOfOthers);
        }).length;
        const blocks = [...of].map(([block, indices]) => ({ block, indices, later: reads(indices) }));
        blocks.sort((a, b) => a.later - b.later || a.block - b.block);
        model.steps = [];
        model.blocks = blocks.map(({ block, indices, later }) => {
            const arranged = lab.arrange(model, indices, model.keep);
            const from = model.steps.length;
            for (const index of arranged.order) model.recorded[index].index = model.steps.push(model.recorded[index]) - 1;
            const shift = (list) => list.map((end) => end + from);
            const ends = Object.fromEntries(Object.entries(arranged.ends).map(([grain, list]) => [grain, shift(list)]));
            return { block, from, to: model.steps.length, ends, barriers: shift(arranged.barriers), later, times: timesOf(model, from) };
        });
    };
})();
