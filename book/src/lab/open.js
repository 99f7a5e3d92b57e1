// A trace in a lab: the file that `--trace` writes becomes what the figure shows. A trace holds the steps of a launch and neither its
// memory nor its counters, so buffers are what the steps touch, and counts those of the steps.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    // As crates/simt/src/trace.rs counts them.
    const VERSIONS = [2, 3];
    // The simulator gives each buffer room of its own: where one begins follows from any address in it.
    const ROOM = 2 ** 36;
    const SHOWN_MAX = 16384;
    const COUNTERS = {
        barriers: "barriers", shuffles: "shuffles", instructions: "ptx_inst_executed", sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        ld: ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"],
        st: ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"],
    };

    // A value in the words that lab.value reads.
    const pack = (values, active, words) => {
        const at = words.length;
        const [[kind, row]] = Object.entries(values || { none: [] });
        if (kind === "predicate") words.push(row);
        if (kind === "bits32") lab.lanes(active, (lane) => words.push(row[lane]));
        if (kind === "bits64") lab.lanes(active, (lane) => words.push(Number(row[lane]), Math.floor(Number(row[lane]) / 2 ** 32)));
        return { form: { none: 0, predicate: 5, bits32: 2, bits64: 4 }[kind], values: at };
    };

    const access = ({ space, owner, bytes, wavefronts, sectors, conflicts, mask, addresses }) => (
        { space, owner, bytes, passes: wavefronts, sectors, conflicts, mask, addresses: Float64Array.from(addresses) });

    // In the order in which the launch ran, where the trace has it.
    const recorded = (trace, code, words) => [...trace.steps].sort((a, b) => (a.order ?? 0) - (b.order ?? 0)).map(({ pc, warp, block_linear: block, split, active, access: touched, values }, time) => (
        { pc, warp, block, split, active, time, accesses: touched.map(access), isFloat: /\.f32\b/.test(code[pc].opcode), ...pack(values, active, words) }));

    // What the steps touch of global memory, as buffers; the one that is loaded from first is the input.
    const buffers = (steps, code) => {
        const found = new Map();
        for (const step of steps) {
            for (const { space, mask, addresses, bytes } of step.accesses) {
                if (space !== "global") continue;
                lab.lanes(mask, (lane) => {
                    const base = Math.floor(addresses[lane] / ROOM) * ROOM;
                    const one = found.get(base) || { base, from: Infinity, to: 0, isWritten: false };
                    Object.assign(one, { from: Math.min(one.from, addresses[lane]), to: Math.max(one.to, addresses[lane] + bytes) });
                    one.isWritten ||= code[step.pc].kind !== "load";
                    found.set(base, one);
                });
            }
        }
        const all = [...found.values()];
        const input = all.find((one) => !one.isWritten) || all[0] || { base: 0, from: 0, to: 4, isWritten: false };
        const rest = all.filter((one) => one !== input);
        return [input, ...rest].map((one, i) => {
            const isLong = one.to - one.base > 4 * SHOWN_MAX;
            const address = isLong ? one.from : one.base;
            const name = one === input ? "in" : one.isWritten ? `sums${i - 1}` : `more${i - 1}`;
            return { name, type: "i32", address: String(address), len: Math.min(SHOWN_MAX, Math.ceil((one.to - address) / 4)) };
        });
    };

    // Elements of the input, as far as a load of single words brought them.
    const elements = (steps, code, words, { address, len }) => {
        const known = new Array(len).fill(null);
        for (const step of steps) {
            const [one] = step.accesses;
            if (code[step.pc].kind !== "load" || !one || one.space !== "global" || one.bytes !== 4) continue;
            lab.lanes(one.mask, (lane) => {
                const at = (one.addresses[lane] - Number(address)) / 4;
                if (at >= 0 && at < len) known[at] = lab.value(words, step, lane);
            });
        }
        return known;
    };

    const counters = (steps, code) => {
        const sums = Object.fromEntries(Object.values(COUNTERS).flat().map((name) => [name, 0]));
        sums[COUNTERS.instructions] = steps.length;
        for (const step of steps) {
            const { kind, isBarrier } = code[step.pc];
            if (isBarrier) sums[COUNTERS.barriers] += 1;
            if (kind === "shuffle") sums[COUNTERS.shuffles] += 1;
            for (const { space, passes, conflicts, sectors } of step.accesses) {
                const names = space === "shared" && COUNTERS[{ load: "ld", store: "st" }[kind]];
                if (names) {
                    sums[names[0]] += passes;
                    sums[names[1]] += conflicts;
                }
                if (space === "global" && kind === "load") sums[COUNTERS.sectors] += sectors;
            }
        }
        return sums;
    };

    // A file that a reader drops on a lab, or picks below it: a lab of its own behind this one. What is no trace is said in words.
    lab.openFile = async (figure, file) => {
        if (!file) return;
        let trace = null;
        try {
            trace = JSON.parse(await file.text());
        } catch {
            // said below
        }
        const isTrace = trace && VERSIONS.includes(trace.version) && Array.isArray(trace.code) && trace.steps?.length > 0;
        figure.parts.opened.textContent = isTrace ? "" : text("noTrace", { name: file.name });
        if (!isTrace) return;
        const place = Object.assign(document.createElement("div"), { className: "lab" });
        place.dataset.lab = `trace-${Date.now()}`;
        figure.element.after(place);
        lab.figure(place, { slug: place.dataset.lab, title: file.name, trace });
        place.scrollIntoView({ block: "start" });
    };
    lab.opener = (figure) => {
        const label = Object.assign(document.createElement("label"), { textContent: `${text("openTrace")} ` });
        const input = Object.assign(document.createElement("input"), { type: "file", accept: ".json" });
        input.addEventListener("change", () => lab.openFile(figure, input.files[0]));
        figure.element.addEventListener("dragover", (event) => event.preventDefault());
        figure.element.addEventListener("drop", (event) => {
            event.preventDefault();
            lab.openFile(figure, event.dataTransfer.files[0]);
        });
        figure.parts.opened = Object.assign(document.createElement("p"), { className: "lab-problem" });
        label.append(input);
        figure.parts.key.append(label, figure.parts.opened);
    };

    // The data of a lab that shows a trace.
    lab.ofTrace = ({ slug, title, trace, files = {} }) => {
        const words = [];
        const names = new Map();
        const intern = (name) => names.get(name) ?? names.set(name, names.size).get(name);
        const code = trace.code.map((one) => lab.instruction(one, intern));
        const steps = recorded(trace, code, words);
        const held = buffers(steps, code);
        const source = trace.code.find(({ file }) => file)?.file || trace.kernel;
        if (!(source in files)) files[source] = "";
        const [block, grid] = [trace.block.reduce((a, b) => a * b), trace.grid.reduce((a, b) => a * b)];
        const launch = { kernel: trace.kernel, grid: [grid, 1, 1], block: [block, 1, 1], args: ["in", ...held.slice(1).map(({ name }) => name)].map((name, i) => `a${i}=&${name}`) };
        const chosen = { n: held[0].len, block, grid: null, shown: 0, launches: [launch], result: "in", elements: elements(steps, code, words, held[0]) };
        const { schedule } = trace;
        const told = { kernel: trace.kernel, schedule, shared: [], counters: counters(steps, code), faults: [], printed: "", trace: { ...trace, block: [block, 1, 1], steps: steps.length } };
        return {
            slug, title, files, isTrace: true, opened: { json: { launches: [told], buffers: held, outputs: { in: [0] } }, words, recorded: steps },
            variants: [{ name: trace.kernel, source, cases: [chosen] }], opening: { variant: trace.kernel, n: chosen.n, block, grid: null, schedule },
        };
    };
})();
