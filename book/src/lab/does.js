// Facts about a beat of the run: which threads load or store how much of which array, how far lanes hand values, which operations
// are executed on the input. The sentences (say.js) have no other source.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    // Threads as words: "Threads 0 to 15", "17 threads of 3 warps".
    lab.threadWords = (threads) => {
        const all = [...new Set(threads)].sort((a, b) => a - b);
        const isOne = all.length === 1;
        if (isOne) return { words: text("thread", { thread: all[0] }), isOne };
        const last = all[all.length - 1];
        if (last - all[0] === all.length - 1) return { words: text("threadsRange", { from: all[0], to: last }), isOne };
        const warps = new Set(all.map((thread) => thread >> 5));
        if (warps.size === 1) return { words: text("threadsInOne", { count: all.length, warp: all[0] >> 5 }), isOne };
        return { words: text("threadsIn", { count: all.length, warps: warps.size }), isOne };
    };

    // The array that an address lies in, by the name that the launch or the kernel gives it, and the bytes of its elements.
    const arrayAt = (model, space, address) => {
        if (space !== "global") return { name: model.sharedAt(address).name, bytes: 4 };
        const buffer = model.buffers.find((one) => address >= one.address && address < one.address + one.len * one.bytes);
        return buffer ? { name: buffer.shown, bytes: buffer.bytes } : { name: text("gridWord"), bytes: 4 };
    };

    // Accesses by what they do (load, store, atom, red), space and array.
    const accessesOf = (model, steps) => {
        const groups = new Map();
        for (const step of steps) {
            const { kind } = model.code[step.pc];
            for (const access of step.accesses) {
                if (access.space === "local") continue;
                const seen = new Set();
                lab.lanes(access.mask, (lane) => {
                    const { name, bytes } = arrayAt(model, access.space, access.addresses[lane]);
                    const key = `${kind}|${access.space}|${name}`;
                    if (!groups.has(key)) groups.set(key, { kind, space: access.space, name, threads: [], sectors: 0, points: [], steps: [] });
                    const group = groups.get(key);
                    group.threads.push(step.warp * 32 + lane);
                    for (let k = 0; k < access.bytes; k += bytes) group.points.push({ thread: step.warp * 32 + lane, address: access.addresses[lane] + k });
                    if (!seen.has(key)) group.steps.push(step);
                    // The sectors of an instruction are counted once, with its first array.
                    if (seen.size === 0) group.sectors += access.sectors;
                    seen.add(key);
                });
            }
        }
        return [...groups.values()];
    };

    // Distances of the shuffles of a beat, in order, and the threads that take part.
    const shufflesOf = (model, steps) => {
        const all = steps.filter((step) => model.code[step.pc].kind === "shuffle");
        const threads = [];
        for (const step of all) lab.lanes(step.active, (lane) => threads.push(step.warp * 32 + lane));
        // The distance of a shuffle is known once all its lanes have come.
        const far = all.filter(({ distance }) => distance !== undefined);
        const modes = new Set(all.map((step) => model.code[step.pc].opcode.split(".")[2]));
        const distances = [...new Set(far.map(({ distance }) => distance))];
        return { all, threads, mode: modes.size === 1 ? [...modes][0] : null, distances, isWhole: far.length === all.length };
    };

    // ---- Operations on the input.

    const OPERATIONS = [
        [/^max\b/, "maxima"], [/^min\b/, "minima"], [/^ex2\b/, "exponentials"], [/^lg2\b/, "logarithms"], [/^r?sqrt\b/, "roots"],
        [/^(div|rcp)\b/, "quotients"], [/^(fma|mad)\b/, "fused"], [/^mul\b/, "products"], [/^add\b/, "additions"], [/^sub\b/, "differences"],
    ];
    // Functions of the kernels that take many instructions: the one that each call executes once, and its line.
    const FUNCTIONS = { exponential: [/^ex2\b/, /./, "exponentials"], logarithm: [/^div\b/, /./, "logarithms"] };

    // The name of the function that each line of a file is in, where it begins in the first column.
    const functionsOf = (source) => {
        let name = null;
        return source.map((line) => {
            const head = /^[A-Za-z_].*?(\w+)\s*\([^;]*$/.exec(line);
            if (head) name = head[1];
            const now = name;
            if (/^}/.test(line) || (head && /}\s*$/.test(line))) name = null;
            return now;
        });
    };
    // The kernel's file as lines, and the function of each; null where the page does not have it.
    const sourceOf = (model) => {
        if (model.source !== undefined) return model.source;
        const words = model.data.files[model.variant.source];
        const file = model.code.find(({ file }) => file)?.file ?? "";
        const isIt = words && model.variant.source.startsWith(file);
        const lines = isIt ? words.split("\n") : null;
        return (model.source = lines && { lines, functions: functionsOf(lines) });
    };
    // The kind of operation on the input that each instruction of a run is, or null.
    const operations = (model) => {
        if (model.operations) return model.operations;
        const made = new Set(model.recorded.filter((step) => step.made).map(({ pc }) => pc));
        const source = sourceOf(model);
        const operation = (code, pc) => {
            if (code.kind !== "compute" || !made.has(pc)) return null;
            const [, own] = OPERATIONS.find(([form]) => form.test(code.opcode)) || [];
            const chain = [code.line, ...(model.trace.code[pc].calls || [])];
            const caller = source && chain.findLast((line) => FUNCTIONS[source.functions[line - 1]]);
            if (!caller) return own || null;
            const [form, at, name] = FUNCTIONS[source.functions[caller - 1]];
            return caller === code.line && form.test(code.opcode) && at.test(source.lines[code.line - 1]) ? name : null;
        };
        return (model.operations = model.code.map(operation));
    };
    const ORDER = ["exponentials", "logarithms", "maxima", "minima", "roots", "quotients", "additions", "differences", "products", "fused"];
    // How many lanes execute each operation, and the threads.
    const mathOf = (model, steps) => {
        const kinds = operations(model);
        const counts = new Map();
        const threads = [];
        for (const step of steps) {
            const kind = kinds[step.pc];
            if (!kind) continue;
            counts.set(kind, (counts.get(kind) || 0) + lab.count(step.active));
            lab.lanes(step.active, (lane) => threads.push(step.warp * 32 + lane));
        }
        return { counts: ORDER.filter((kind) => counts.has(kind)).map((kind) => [kind, counts.get(kind)]), threads };
    };

    // The statistic of a row that a line of the source sets, if an operation on the input belongs to that line: `all.mean = …`.
    const SETS = /([A-Za-z_][\w.]*(?:mean|max|sum|squares|variance|scale)|mean|max|sum|squares|variance|scale)\s*=(?!=)/;
    const setOf = (model, steps) => {
        const kinds = operations(model);
        const source = sourceOf(model);
        if (!source) return null;
        let found = null;
        for (const step of steps) {
            const { line } = model.code[step.pc];
            const [, name] = (kinds[step.pc] && SETS.exec(source.lines[line - 1] || "")) || [];
            if (name) found = { name, line };
        }
        return found;
    };

    // ---- Additions in memory.

    // Whether a value is a copy of another, or that value.
    const isCopy = (values, value, of) => {
        let at = value;
        while (at && at !== of && values.right[at] === 0 && values.input[at] < 0) at = values.left[at];
        return at !== 0 && at === of;
    };
    const root = (values, value) => {
        let at = value;
        while (at && values.right[at] === 0 && values.input[at] < 0) at = values.left[at];
        return at;
    };
    // Checks that each store leaves the sum, or the larger or smaller, of the word's old value and one that its thread read elsewhere.
    // Returns those reads; null if the run does not show it for every store.
    lab.joined = (model, stores) => {
        const { values, versions } = model.replay;
        const sources = [];
        const ops = new Set();
        let isShown = false;
        for (const { step, write, reads, computed } of stores) {
            const whole = root(values, versions.value[write.version]);
            const other = reads.filter(({ cell }) => cell !== write.cell);
            if (other.length === 0) return null;
            if (whole === 0 || values.right[whole] === 0) {
                // A thread without any of the numbers leaves its value as it was, which contradicts nothing.
                if (other.some(({ value }) => value)) return null;
                sources.push(other[other.length - 1]);
                continue;
            }
            const halves = [values.left[whole], values.right[whole]];
            const source = other.find(({ value }) => value && halves.some((half) => isCopy(values, half, value)));
            if (!source) return null;
            const rest = halves.find((half) => !isCopy(values, half, source.value));
            const before = versions.value[write.before];
            const isOwn = reads.some(({ cell, value }) => cell === write.cell && isCopy(values, rest, value)) || (before && root(values, rest) === root(values, before));
            if (!isOwn) return null;
            const made = computed.find(({ of, lane }) => lane === write.lane && of.made[lane] === whole);
            ops.add(made ? model.code[made.of.pc].opcode.split(".")[0] : null);
            sources.push(source);
            isShown = true;
        }
        if (!isShown || ops.size !== 1) return null;
        const [op] = ops;
        return op === "add" ? { key: "adds", sources } : op === "max" || op === "min" ? { key: "joins", sources } : null;
    };

    // All facts about a beat.
    lab.does = (model, steps) => ({ accesses: accessesOf(model, steps), shuffles: shufflesOf(model, steps), math: mathOf(model, steps), set: setOf(model, steps) });
})();
