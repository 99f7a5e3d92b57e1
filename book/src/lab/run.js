// The engine: loads it once, runs it in a worker, and asks it. Also how a request is made from a case of the page's data.
(() => {
    "use strict";
    const lab = reductionLab;

    // What the worker does. It is started from a Blob, since a page from a file may start none by address.
    const work = () => {
        let engine = null;
        self.onmessage = async ({ data: { module, id, text } }) => {
            if (module) {
                engine = (await WebAssembly.instantiate(module, {})).exports;
                return;
            }
            const request = new TextEncoder().encode(text);
            const at = engine.alloc(request.length);
            new Uint8Array(engine.memory.buffer, at, request.length).set(request);
            const answer = engine.run(at, request.length);
            engine.free(at, request.length);
            const bytes = new DataView(engine.memory.buffer).getUint32(answer, true);
            const copy = engine.memory.buffer.slice(answer + 4, answer + 4 + bytes);
            engine.free(answer, bytes + 4);
            self.postMessage({ id, copy }, [copy]);
        };
    };

    let packed = null;
    let ready = null;
    let worker = null;
    let count = 0;
    const asked = new Map();
    lab.engine = (text) => { packed = text; };

    const unpack = async () => {
        await lab.load("engine");
        const response = lab.unzipped(packed);
        packed = null;
        return WebAssembly.compile(await response.arrayBuffer());
    };

    const start = (module) => {
        const address = URL.createObjectURL(new Blob([`(${work})()`], { type: "text/javascript" }));
        worker = new Worker(address);
        URL.revokeObjectURL(address);
        worker.postMessage({ module });
        worker.onmessage = ({ data: { id, copy } }) => {
            asked.get(id)?.done(lab.read(copy));
            asked.delete(id);
        };
        worker.onerror = (event) => {
            stop(new Error(event.message || lab.text("stopped")));
        };
    };

    // Ends the worker, and whatever it was doing.
    const stop = (error) => {
        worker?.terminate();
        worker = null;
        for (const { failed } of asked.values()) failed(error);
        asked.clear();
    };
    lab.cancel = () => stop(new Error(lab.text("cancelled")));

    // Answers { json, words }, or throws what the engine says is wrong.
    lab.ask = async (request) => {
        ready ||= unpack();
        const module = await ready;
        if (!worker) start(module);
        const answer = await new Promise((done, failed) => {
            const id = ++count;
            asked.set(id, { done, failed });
            worker.postMessage({ id, text: JSON.stringify(request) });
        });
        if (answer.json.error) throw new Error(answer.json.error);
        return withWords(answer);
    };
    // An edition in another language has words for faults, which come with the first one.
    const withWords = async (answer) => {
        if (lab.isTranslated && answer.json.launches?.some(({ faults }) => faults.length)) await lab.loadAlone("messages").catch(() => null);
        return answer;
    };
    // What the simulator says of a fault; what has no words stays English.
    lab.messageOf = ({ message }) => lab.inWords?.(message) ?? message;

    // An answer's bytes: the length of the JSON, the JSON, the packed steps.
    lab.read = (buffer) => {
        const bytes = new DataView(buffer).getUint32(0, true);
        const json = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, bytes)));
        return { json, words: new Uint32Array(buffer, 4 + 4 * Math.ceil(bytes / 4)) };
    };
    lab.unpacked = async (text) => withWords(lab.read(await lab.unzipped(text).arrayBuffer()));

    // Inputs: digits that a reader can add up, or one byte of a product where there are many; as crates/course/src/figures.rs has them.
    const DIGITS_MAX = 4096;
    const hash = (i) => Math.imul(i, 2654435761) >>> 24;
    // `given` are the first ones, if the reader wrote them; `fill` is what all others are, if they are alike.
    lab.element = (n, i, given, fill) => given?.[i] ?? fill ?? (n <= DIGITS_MAX ? 1 + (hash(i) % 9) : hash(i));

    lab.request = (variant, chosen, schedule, more) => {
        const buffers = [...chosen.buffers];
        const { n, given, elements, fill } = chosen;
        if (chosen.ranks) return { ptx: [variant.ptx], buffers: lab.rankBuffers(chosen), launches: chosen.launches, schedule, outputs: chosen.results, ...variant.limits, ...more };
        const listed = elements ? 0 : n <= DIGITS_MAX && fill === undefined ? n : given ? given.length : 0;
        if (listed) {
            buffers[0] = { spec: buffers[0], elements: Array.from({ length: listed }, (_, i) => lab.element(n, i, given)) };
        }
        return { ptx: [variant.ptx], buffers, launches: chosen.launches, schedule, outputs: [chosen.result], ...variant.limits, ...more };
    };

    // Threads of a launch that is recorded; beyond that only its counts and its result are shown. And so many blocks, as crates/course/src/figures.rs has it.
    const THREADS_MAX = 8192;
    // The steps of a request that are recorded: of the launch that is shown, or, on several devices, of all.
    lab.traceOf = (chosen) => ({ launch: chosen.shown, blocks: lab.BLOCKS_MAX, ...(chosen.ranks ? { launches: chosen.launches.length } : {}) });
    lab.BLOCKS_MAX = THREADS_MAX / 32;
    // Blocks that all wait for each other look again and again: of more, the steps would be too many.
    const WAITING_MAX = 8;
    lab.traced = (chosen) => {
        const { grid, block, cooperative } = chosen.launches[chosen.shown];
        if (cooperative && grid[0] > WAITING_MAX) return false;
        return grid[0] * block[0] <= THREADS_MAX && chosen.n <= 5 * DIGITS_MAX;
    };

    // Steps of an endless run that are drawn: of one block, and of all.
    const ENDLESS = { block: 16384, all: 65536 };
    // The budget with which to draw a run that exhausted its own and has too many steps to draw; 0 for any other run.
    lab.budgetToDraw = (chosen, { json }) => {
        const { faults, trace } = json.launches[chosen.shown] || { faults: [] };
        if (!trace?.dropped_steps || !faults.some(({ code }) => code === "step-budget")) return 0;
        return Math.min(ENDLESS.block, Math.max(1024, Math.floor(ENDLESS.all / chosen.launches[chosen.shown].grid[0])));
    };

    const firstLargest = (n, given) => {
        let best = 0;
        for (let i = 1; i < n; i += 1) if (lab.element(n, i, given) > lab.element(n, best, given)) best = i;
        return best;
    };
    // What is right: of a sum, 32 bits; of a place, its index. A case may bring it along.
    const JOIN = { sum: (a, b) => (a + b) | 0, min: Math.min, max: Math.max };
    // Of rows and columns, the results with commas between them: what is compared is all of them.
    const ofRows = ({ n, given, of, rows, cols, op = "sum" }) => {
        const all = Array.from({ length: n }, (_, i) => lab.element(n, i, given));
        const sum = (elements) => elements.reduce((a, b) => JOIN[op](a, b));
        if (of === "row") return Array.from({ length: rows }, (_, row) => sum(all.slice(row * cols, (row + 1) * cols))).join();
        return Array.from({ length: cols }, (_, col) => sum(Array.from({ length: rows }, (_, row) => all[row * cols + col]))).join();
    };
    // Shares of each row's sum of exponentials, in doubles.
    const shares = ({ n, given, rows, cols }) => {
        const all = Array.from({ length: n }, (_, i) => lab.element(n, i, given));
        return Array.from({ length: rows }, (_, row) => {
            const of = all.slice(row * cols, (row + 1) * cols);
            const largest = Math.max(...of);
            const powers = of.map((x) => Math.exp(x - largest));
            const sum = powers.reduce((a, b) => a + b, 0);
            return powers.map((power) => power / sum);
        }).flat();
    };
    // Elements less their row's mean, over its deviation; the labs' weights are 1 and their biases 0.
    const norms = ({ n, given, rows, cols }) => {
        const all = Array.from({ length: n }, (_, i) => lab.element(n, i, given));
        return Array.from({ length: rows }, (_, row) => {
            const of = all.slice(row * cols, (row + 1) * cols);
            const mean = of.reduce((a, b) => a + b, 0) / cols;
            const variance = of.reduce((a, b) => a + (b - mean) ** 2, 0) / cols;
            return of.map((x) => (x - mean) / Math.sqrt(variance + 1e-5));
        }).flat();
    };
    // What gives a result for each element, and what the words call it; all else gives one for each row or column.
    const OF_ELEMENTS = { softmax: ["Shares", shares], layer_norm: ["Norms", norms] };
    // As many digits as a reader compares.
    const brief = (x) => Number(x.toPrecision(5));
    // A float is right if it is off by no more than its row's additions explain, and some for what is beside them: then what is right
    // is what it is.
    const nearly = (chosen, result) => {
        const all = String(result).split(",");
        const bound = (chosen.cols + 16) * 2 ** -23;
        // Of a norm near 0 the error is a share of its row's size.
        const size = (right) => (chosen.op === "softmax" ? right : Math.abs(right) + 1);
        const ofElements = OF_ELEMENTS[chosen.op][1];
        return ofElements(chosen).map((right, i) => (Math.abs(all[i] - right) <= bound * size(right) ? all[i] : brief(right)));
    };
    // How the names of the words begin that tell of rows: `startShares`.
    lab.ofRows = ({ op = "sum", ranks }) => (ranks ? ["Ranks"] : OF_ELEMENTS[op] || [op === "sum" ? "Rows" : "RowsFound"])[0];
    // What has a result each: "row".
    lab.partOf = ({ of }) => lab.text(`of_${of}`);
    lab.expected = (chosen, came = "") => {
        const { n, given, elements, expected, fill, of, op = "sum" } = chosen;
        if (chosen.ranks) return lab.sumsOfRanks(chosen).join();
        if (expected !== undefined || elements) return expected ?? 0;
        if (fill !== undefined) return (given || []).reduce((a, b) => a + b, fill * (n - (given || []).length));
        if (OF_ELEMENTS[op]) return nearly(chosen, came).join();
        if (of) return ofRows(chosen);
        if (op === "argmax") return firstLargest(n, given);
        let result = lab.element(n, 0, given);
        for (let i = 1; i < n; i += 1) result = JOIN[op](result, lab.element(n, i, given));
        return result;
    };
    // Of results with commas between them, the first that is wrong, or else the first: its place, what it is, what is right.
    lab.oneOf = (result, expected) => {
        const [are, right] = [result, expected].map((all) => String(all).split(","));
        const i = Math.max(0, right.findIndex((one, at) => one !== are[at]));
        return { i, count: right.length, result: are[i], expected: right[i] };
    };
    // What a run left: one number, or what its blocks left together.
    lab.result = ({ result, results, of, op = "sum" }, { outputs }) => {
        if (results) return results.map((name) => outputs[name]).join();
        const all = outputs[result.split(":")[0]];
        if (of) return all.join();
        return all.length === 1 ? all[0] : all.reduce((one, other) => JOIN[op](one, other));
    };
})();
