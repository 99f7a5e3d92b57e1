// The sentence of a beat, made from its steps; and the counts up to a moment.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    // Where the lanes' words lie as a formula of the thread: `sums[2t + 1]`; null if they lie on no line.
    const formula = (points) => {
        const [first] = points;
        if (points.some(({ name }) => name !== first.name)) return null;
        const { name } = first;
        if (points.length === 1) return `${name}[${first.at}]`;
        const slope = (points[1].at - first.at) / (points[1].thread - first.thread);
        if (!Number.isInteger(slope) || points.some(({ at, thread }) => at - first.at !== slope * (thread - first.thread))) return null;
        const offset = first.at - slope * first.thread;
        const t = slope === 1 ? "t" : slope === 0 ? "" : `${slope}t`;
        if (!t) return `${name}[${offset}]`;
        return `${name}[${t}${offset > 0 ? ` + ${offset}` : offset < 0 ? ` − ${-offset}` : ""}]`;
    };
    // The element of an array that a word is.
    const elementOf = (model, block, cell) => {
        if (model.isOwn(cell, block)) return model.sharedAt((cell - model.shared(block)) * 4);
        const buffer = model.buffers.find((one) => cell >= one.first && cell < one.first + one.len);
        return buffer ? { name: buffer.shown, at: cell - buffer.first } : null;
    };

    // An addition in memory, if every store of the beat to that space is part of it: what is added to what.
    const addition = (model, steps, space) => {
        const reads = new Map();
        const computed = [];
        const stores = [];
        for (const step of steps) {
            for (const read of step.reads) {
                const thread = step.warp * 32 + read.lane;
                reads.set(thread, [...(reads.get(thread) || []), read]);
            }
            const { kind } = model.code[step.pc];
            if (kind === "compute" && step.made) computed.push(step);
            if (kind !== "store" || !step.accesses.some((access) => access.space === space)) continue;
            const own = computed.filter(({ warp }) => warp === step.warp);
            for (const write of step.writes) {
                const thread = step.warp * 32 + write.lane;
                stores.push({ step, write, thread, reads: reads.get(thread) || [], computed: own.map((of) => ({ of, lane: write.lane })) });
            }
        }
        if (stores.length === 0 || new Set(stores.map(({ thread }) => thread)).size !== stores.length) return null;
        const joined = lab.joined(model, stores);
        if (!joined) return null;
        const point = ({ step, thread }, cell) => ({ thread, ...elementOf(model, step.block, cell) });
        const target = formula(stores.map((one) => point(one, one.write.cell)));
        const source = formula(stores.map((one, i) => point(one, joined.sources[i].cell)));
        if (!target || !source) return null;
        return { key: joined.key, source, target, threads: stores.map(({ thread }) => thread), isMoving: /t/.test(target.replace(/^\w+/, "")) };
    };

    // How many threads add one word of shared memory to another; 0 where that is not what happens.
    lab.adders = (model, steps) => addition(model, steps, "shared")?.threads.length ?? 0;

    const busiest = (steps) => Math.max(0, ...steps.flatMap((step) => step.accesses.filter((access) => access.space === "shared").map((access) => access.conflicts + 1)));
    lab.busiest = busiest;

    // A sentence about some threads, in the form for one or for several.
    const phrase = (key, threads, values) => {
        const { words, isOne } = lab.threadWords(threads);
        return text(isOne ? `${key}One` : key, { ...values, who: words });
    };
    const namesOf = (groups) => lab.list([...new Set(groups.map(({ name }) => name))]);
    const sum = (groups, key) => groups.reduce((all, one) => all + one[key], 0);
    const isSame = (a, b) => [...new Set(a)].sort().join() === [...new Set(b)].sort().join();
    // Groups of accesses with the same threads, together.
    const together = (groups) => {
        const all = [];
        for (const group of groups) {
            const known = all.find(([first]) => isSame(first.threads, group.threads));
            if (known) known.push(group);
            else all.push([group]);
        }
        return all;
    };
    const words = (groups) => new Set(groups.flatMap(({ points }) => points.map(({ address }) => address))).size;

    // Says what the steps do.
    lab.say = (model, steps) => {
        const fault = steps.find((step) => step.fault);
        if (fault) return { text: faultText(fault.fault), more: lab.wanted(model, fault.tied), isProblem: true };
        const does = lab.does(model, steps);
        const sum = addition(model, steps, "shared") || addition(model, steps, "global");
        const said = [...atomics(does), ...inMemory(model, does, sum), ...between(does), ...(sum ? [] : computed(does))];
        const { set } = does;
        if (said.length === 0) return rest(model, steps);
        if (set && !sum) said.push(text("sets", set));
        const passes = busiest(steps);
        return { text: lab.join("sentences", said), ...(passes > 1 ? { more: text("queue", { passes }) } : {}) };
    };

    const atomics = ({ accesses }) => accesses.filter(({ kind }) => kind === "atom" || kind === "red")
        .map(({ space, name, threads }) => phrase(space === "global" ? "atomic" : "atomicShared", threads, { name }));

    // Reads and writes, by space.
    const inMemory = (model, { accesses }, joined) => {
        const of = (kind, space) => accesses.filter((one) => one.kind === kind && one.space === space);
        const [loads, stores] = [of("load", "global"), of("store", "global")];
        const [reads, writes, remote] = [of("load", "shared"), of("store", "shared"), [...of("load", "cluster"), ...of("store", "cluster")]];
        const said = [];
        if (joined) {
            const { key, source, target, threads, isMoving } = joined;
            const isGlobal = stores.length > 0;
            const sectors = sum([...loads, ...stores], "sectors");
            if (!isGlobal) said.push(phrase(`${key}${isMoving && threads.length > 1 ? "T" : ""}`, threads, { source, target }));
            else said.push(phrase(key === "adds" ? "globalAdds" : "globalJoins", threads, { source, target, sectors }));
            return said;
        }
        // Loads whose threads leave what they have in shared memory in the same beat.
        const isFilling = loads.length > 0 && writes.length > 0 && reads.length === 0 && isSame(loads.flatMap(({ threads }) => threads), writes.flatMap(({ threads }) => threads));
        if (isFilling) {
            const all = loads.flatMap(({ threads }) => threads);
            said.push(phrase("loadStore", all, { count: words(loads), name: namesOf(loads), sectors: sum(loads, "sectors"), shared: namesOf(writes) }));
        } else {
            for (const groups of together(loads)) said.push(loaded(model, groups));
            if (reads.length || writes.length) said.push(sharedWords(model, reads, writes));
        }
        if (remote.length) said.push(phrase("remote", remote.flatMap(({ threads }) => threads), { name: namesOf(remote) }));
        for (const groups of together(stores)) said.push(stored(model, groups));
        return said;
    };
    const sharedWords = (model, reads, writes) => {
        const [threads, values] = [[...reads, ...writes].flatMap((one) => one.threads), { reads: words(reads), writes: words(writes), name: namesOf([...reads, ...writes]) }];
        const points = reads.flatMap((one) => one.points);
        if (values.reads === 1 && !values.writes) {
            const word = formula(points.slice(0, 1).map(({ thread, address }) => ({ thread, ...model.sharedAt(address) })));
            return phrase("readsSame", threads, { word });
        }
        return phrase(values.reads && values.writes ? "readsWrites" : values.reads ? "readsOnly" : "writesOnly", threads, values);
    };
    // A load: of values that other blocks of this launch wrote, or of an array.
    const loaded = (model, groups) => {
        const threads = groups.flatMap((one) => one.threads);
        const blocks = new Set();
        let isTheirs = true;
        for (const step of new Set(groups.flatMap((one) => one.steps))) {
            for (const { version } of step.reads) {
                const writer = model.replay.versions.writer[version];
                if (writer < 0 || model.steps[writer].block === step.block) isTheirs = false;
                else blocks.add(model.steps[writer].block);
            }
        }
        const values = { count: words(groups), sectors: sum(groups, "sectors"), name: namesOf(groups) };
        if (isTheirs && blocks.size) return phrase(model.chosen.ranks ? "takesRanks" : "takes", threads, { count: blocks.size, name: values.name });
        const { isOne } = lab.threadWords(threads);
        // Flags and tickets are words, not numbers of the input.
        const isState = groups.some(({ name }) => name === "state" || name === text("gridWord"));
        return phrase(isState ? "loadsWords" : isOne && values.count > 1 ? "loadsSome" : "loads", threads, values);
    };
    const stored = (model, groups) => {
        const threads = groups.flatMap((one) => one.threads);
        const [{ points, name, steps: [step] }] = groups;
        const one = groups.length === 1 && points.length === 1 && step.writes[0] && elementOf(model, step.block, step.writes[0].cell);
        if (one) {
            const value = model.replay.versions.shown[step.writes[0].version];
            return text(value === null ? "storesOne" : "stores", { who: lab.threadWords(threads).words, value, target: `${name}[${one.at}]` });
        }
        return phrase("storesMany", threads, { count: words(groups), name: namesOf(groups) });
    };

    // Values that lanes hand each other.
    const between = ({ accesses, shuffles }) => {
        const { all, threads, mode, distances, isWhole } = shuffles;
        const said = [];
        if (all.length) {
            const isKnown = isWhole && distances.length > 0 && (mode === "down" || mode === "bfly");
            if (isKnown && distances.length === 1) said.push(phrase(mode === "down" ? "shuffle" : "shuffleXor", threads, { distance: distances[0] }));
            else if (isKnown) said.push(phrase(mode === "down" ? "shuffleMany" : "shuffleXorMany", threads, { distances: lab.list(distances) }));
            else said.push(phrase("shuffleOther", threads, {}));
            if (accesses.length === 0) said.push(text("noMemory"));
        }
        return said;
    };
    // Operations on the input. The threads are named if nothing else happens.
    const computed = ({ accesses, shuffles, math }) => {
        if (math.counts.length === 0) return [];
        const list = lab.list(math.counts.map(([kind, count]) => text(`math_${kind}`, { count })));
        return [accesses.length || shuffles.all.length ? text("computed", { list }) : phrase("computes", math.threads, { list })];
    };

    // A beat that neither touches memory that others see nor computes anything from the input.
    const rest = (model, steps) => {
        const codes = steps.map((step) => model.code[step.pc]);
        const threads = steps.flatMap((step) => {
            const all = [];
            lab.lanes(step.active, (lane) => all.push(step.warp * 32 + lane));
            return all;
        });
        const redux = steps.find((step) => model.code[step.pc].kind === "redux");
        if (redux) return { text: text("redux", { lanes: lab.count(redux.active) }) };
        const arrivals = steps.filter((step) => model.code[step.pc].isBarrier);
        if (arrivals.length) return { text: text("barrier", { count: new Set(arrivals.map((step) => step.warp)).size }) };
        if (codes.some(({ opcode }) => /^barrier\.cluster/.test(opcode))) return { text: phrase("clusterBarrier", threads, {}) };
        const meets = steps.find((step) => model.code[step.pc].isWarpBarrier);
        if (meets) return { text: text("warpBarrier", { warp: meets.warp }) };
        if (codes.some(({ opcode }) => /^(membar|fence)/.test(opcode))) return { text: phrase("fence", threads, {}) };
        if (steps.length && codes.every((code) => code.isEnd)) {
            return { text: text("leaves", { count: new Set(steps.map((step) => step.warp)).size }) };
        }
        const isLocal = steps.some((step) => step.accesses.length);
        return { text: phrase(isLocal ? "decidesLocal" : "decides", threads, { count: steps.length }) };
    };

    const faultText = (fault) => {
        const { code, lanes } = fault;
        // In another language it is the code, as in the appendix.
        const name = lab.inWords ? code : code[0].toUpperCase() + code.slice(1).replaceAll("-", " ");
        return text(lanes.length > 1 ? "faultMany" : "fault", { name, lane: lanes[0], more: lanes.length - 1, message: firstSentence(lab.messageOf(fault)) });
    };

    const firstSentence = (message) => {
        const end = message.search(/[.;](\s|$)|[。；]/);
        return end < 0 ? message : message.slice(0, end);
    };

    // Counts of the steps from one index to another, by the names of simt's counters.
    lab.counts = (model, from, to) => {
        const counts = { barriers: 0, shuffles: 0, passes: 0, conflicts: 0, sectors: 0, instructions: to - from };
        for (let i = from; i < to; i += 1) {
            const adds = lab.adds(model, model.steps[i]);
            counts.barriers += adds.barriers;
            counts.shuffles += adds.shuffles;
            counts.passes += adds.passes;
            counts.conflicts += adds.conflicts;
            counts.sectors += adds.sectors;
        }
        return counts;
    };

    // The same of whole launches, as the simulator counted them.
    const SHARED = ["ld", "st"].map((op) => [`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_${op}.sum`, `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_${op}.sum`]);
    lab.totals = (launches) => {
        const sum = (key) => launches.reduce((all, launch) => all + launch.counters[key], 0);
        return {
            barriers: sum("barriers"), shuffles: sum("shuffles"),
            passes: sum(SHARED[0][0]) + sum(SHARED[1][0]), conflicts: sum(SHARED[0][1]) + sum(SHARED[1][1]),
            sectors: sum("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), instructions: sum("ptx_inst_executed"),
        };
    };
})();
