// The sentence of a beat, made from its steps; and the counts up to a moment.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    // Threads of some steps, as words: "Threads 0 to 15", "17 threads of 3 warps".
    const who = (steps, masks) => {
        const threads = [];
        steps.forEach((step, i) => lab.lanes(masks ? masks[i] : step.active, (lane) => threads.push(step.warp * 32 + lane)));
        const all = [...new Set(threads)].sort((a, b) => a - b);
        const words = () => {
            if (all.length === 1) return text("thread", { thread: all[0] });
            const last = all[all.length - 1];
            if (last - all[0] === all.length - 1) return text("threadsRange", { from: all[0], to: last });
            const warps = new Set(all.map((thread) => thread >> 5));
            if (warps.size === 1) return text("threadsInOne", { count: all.length, warp: all[0] >> 5 });
            return text("threadsIn", { count: all.length, warps: warps.size });
        };
        return { words: words(), isOne: all.length === 1 };
    };

    // Where the lanes' words lie as a formula of the thread: `sums[2t + 1]`; null if they lie on no line.
    const formula = (name, points) => {
        if (points.length === 0) return null;
        const [first] = points;
        if (points.length === 1) return `${name}[${first.at}]`;
        const slope = (points[1].at - first.at) / (points[1].thread - first.thread);
        if (!Number.isInteger(slope) || points.some(({ at, thread }) => at - first.at !== slope * (thread - first.thread))) return null;
        const offset = first.at - slope * first.thread;
        const t = slope === 1 ? "t" : slope === 0 ? "" : `${slope}t`;
        if (!t) return `${name}[${offset}]`;
        return `${name}[${t}${offset > 0 ? ` + ${offset}` : offset < 0 ? ` − ${-offset}` : ""}]`;
    };

    const points = (model, steps, space, kind) => {
        const found = [];
        for (const step of steps) {
            if (model.code[step.pc].kind !== kind) continue;
            for (const access of step.accesses.filter((one) => one.space === space)) {
                lab.lanes(access.mask, (lane) => found.push({ thread: step.warp * 32 + lane, address: access.addresses[lane], pc: step.pc }));
            }
        }
        return found;
    };

    const named = (model, space, found) => {
        if (space === "shared") {
            if (found.length === 0) return null;
            const { name, at } = model.sharedAt(found[0].address);
            const base = found[0].address / 4 - at;
            return formula(name, found.map(({ thread, address }) => ({ thread, at: address / 4 - base })));
        }
        const buffer = model.buffers.find((one) => found.length && found[0].address >= one.address && found[0].address < one.address + one.len * one.bytes);
        return buffer && formula(buffer.shown, found.map(({ thread, address }) => ({ thread, at: (address - buffer.address) / buffer.bytes })));
    };

    // An addition in memory: what is added to what.
    const addition = (model, steps, space) => {
        const loads = points(model, steps, space, "load");
        const stores = points(model, steps, space, "store");
        const target = named(model, space, stores);
        if (!target || loads.length === 0) return null;
        const groups = new Map();
        for (const one of loads) groups.set(one.pc, [...(groups.get(one.pc) || []), one]);
        const others = [...groups.values()].map((group) => named(model, space, group)).filter((name) => name && name !== target);
        return others.length ? { source: others[others.length - 1], target, isMoving: /t/.test(target.replace(/^\w+/, "")) } : null;
    };

    // How many threads add one word of shared memory to another; 0 where that is not what happens.
    lab.adders = (model, steps) => {
        if (!addition(model, steps, "shared")) return 0;
        return new Set(points(model, steps, "shared", "store").map(({ thread }) => thread)).size;
    };

    const busiest = (steps) => Math.max(0, ...steps.flatMap((step) => step.accesses.filter((access) => access.space === "shared").map((access) => access.conflicts + 1)));
    lab.busiest = busiest;

    // Says what the steps do.
    lab.say = (model, steps) => {
        const of = (kind, space) => steps.filter((step) => model.code[step.pc].kind === kind && (!space || step.accesses.some((access) => access.space === space)));
        const fault = steps.find((step) => step.fault);
        if (fault) return { text: faultText(fault.fault), more: lab.wanted(model, fault.tied), isProblem: true };
        const [shared, stored] = [of("load", "shared"), of("store", "shared")];
        const [global, left] = [of("load", "global"), of("store", "global")];
        const sectors = [...global, ...left].reduce((sum, step) => sum + step.accesses[0].sectors, 0);
        const queue = busiest(steps) > 1 ? { more: text("queue", { passes: busiest(steps) }) } : {};
        const phrase = (key, values, actors) => ({ text: text(actors && actors.isOne ? `${key}One` : key, { ...values, who: actors && actors.words }), ...queue });
        const shuffles = of("shuffle");
        if (of("redux").length) return phrase("redux", { lanes: lab.count(of("redux")[0].active) });
        if (shuffles.length) {
            // Of a shuffle whose lanes have not all come yet, it is not known how far its values go.
            const distance = shuffles.find((step) => step.distance !== undefined)?.distance;
            const isDown = distance !== undefined && model.code[shuffles[0].pc].opcode.includes(".down");
            return isDown ? phrase("shuffle", { distance }) : phrase("shuffleOther", {});
        }
        const atomics = [...of("atom"), ...of("red")];
        if (atomics.length) return phrase("atomic", {}, who(atomics));
        const sum = addition(model, steps, "shared");
        const isSum = (model.chosen.op || "sum") === "sum";
        if (sum && !isSum) return phrase(sum.isMoving && !who(stored).isOne ? "joinsT" : "joins", sum, who(stored));
        if (sum) return phrase(sum.isMoving && !who(stored).isOne ? "addsT" : "adds", sum, who(stored));
        const inGlobal = left.length && addition(model, steps, "global");
        if (inGlobal && isSum) return phrase("globalAdds", { ...inGlobal, sectors }, who(left));
        if (global.length && stored.length) return phrase("loadStore", { sectors }, who(stored));
        if (left.length) {
            const actors = who(left);
            const target = named(model, "global", points(model, steps, "global", "store"));
            const value = lab.valueOf(model, left[0], 31 - Math.clz32(left[0].active));
            if (actors.isOne && target) return { text: text(value === null ? "storesOne" : "stores", { who: actors.words, value, target }) };
            return { text: text("storesMany", { who: actors.words, count: points(model, steps, "global", "store").length }) };
        }
        if (global.length) return loads(model, global, sectors);
        if (shared.length || stored.length) {
            const words = (kind) => new Set(points(model, steps, "shared", kind).map(({ address }) => address)).size;
            const [reads, writes] = [words("load"), words("store")];
            if (reads === 1 && !writes) return phrase("readsSame", { word: named(model, "shared", points(model, steps, "shared", "load")) || model.sharedWord(0) }, who(shared));
            return phrase(reads && writes ? "readsWrites" : reads ? "readsOnly" : "writesOnly", { reads, writes }, who([...shared, ...stored]));
        }
        return rest(model, steps);
    };

    const loads = (model, global, sectors) => {
        const actors = who(global);
        const count = points(model, global, "global", "load").length;
        const [first] = points(model, global, "global", "load");
        const buffer = model.buffers.find((one) => first.address >= one.address && first.address < one.address + one.len * one.bytes);
        if (buffer && buffer.shown === "of_blocks") return { text: text(actors.isOne ? "takesOne" : "takes", { who: actors.words, count, name: buffer.shown }) };
        const key = !actors.isOne ? "loads" : count === 1 ? "loadsOne" : "loadsSome";
        return { text: text(key, { who: actors.words, count, sectors }) };
    };

    const rest = (model, steps) => {
        const arrivals = steps.filter((step) => model.code[step.pc].isBarrier);
        if (arrivals.length) return { text: text("barrier", { count: new Set(arrivals.map((step) => step.warp)).size }) };
        const meets = steps.find((step) => model.code[step.pc].isWarpBarrier);
        if (meets) return { text: text("warpBarrier", { warp: meets.warp }) };
        if (steps.length && steps.every((step) => model.code[step.pc].isEnd)) {
            return { text: text("leaves", { count: new Set(steps.map((step) => step.warp)).size }) };
        }
        const actors = who(steps);
        return { text: text(actors.isOne ? "decidesOne" : "decides", { who: actors.words, count: steps.length }) };
    };

    const faultText = ({ code, lanes, message }) => {
        const name = code[0].toUpperCase() + code.slice(1).replaceAll("-", " ");
        return text(lanes.length > 1 ? "faultMany" : "fault", { name, lane: lanes[0], more: lanes.length - 1, message: firstSentence(message) });
    };

    const firstSentence = (message) => {
        const end = message.search(/[.;](\s|$)/);
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
