// Accesses of one warp: words by bank, words by sector, lanes by line, elements by load.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    // The first load of a whole warp from shared memory whose lanes want words so far apart.
    const accessOf = ({ model, shown }, apart) => {
        for (const step of model.steps.slice(shown.from, shown.to)) {
            const access = step.accesses.find((one) => one.space === "shared");
            if (!access || model.code[step.pc].kind !== "load" || (access.mask | 0) !== -1) continue;
            if ([...access.addresses].every((address, lane) => address - access.addresses[0] === 4 * apart * lane)) return access;
        }
        throw new Error(`no lanes of a warp load words ${apart} apart`);
    };
    // In which pass each lane's word comes, and in which word of which bank it lies.
    const placesOf = (access) => {
        const queues = new Map();
        return [...access.addresses].map((address, lane) => {
            const word = address / 4;
            const queue = queues.get(word & 31) || [];
            if (!queue.includes(word)) queue.push(word);
            queues.set(word & 31, queue);
            return { lane, word, bank: word & 31, pass: queue.indexOf(word) };
        });
    };
    const cost = (access) => text("cost", { wavefronts: access.conflicts + 1, conflicts: access.conflicts });
    const columnsOf = (pen, narrow, label) => {
        const gap = narrow ? 3 : 6;
        const column = (pen.width - label - 1 - 3 * gap) / 32;
        return { column, x: (k) => label + k * column + Math.floor(k / 8) * gap };
    };
    const heads = (pen, { x, column }, y) => {
        for (const bank of [0, 8, 16, 24, 31]) pen.words(bank ? bank : text("bank0"), x(bank) + (bank ? column / 2 : 0), y + 6, { align: bank ? "center" : "left", size: 11, colour: inks.soft });
    };
    const rowName = (row) => text("wordsFrom", { first: row * 32 });

    // Rows of 32 words with the lane that wants each of them.
    const grid = (pen, narrow, y, rows, places, inkOf) => {
        const label = narrow ? 40 : 74;
        const place = columnsOf(pen, narrow, label);
        const h = narrow ? 13 : 17;
        for (let row = 0; row < rows; row += 1) {
            pen.words(narrow ? row * 32 : rowName(row), label - 6, y + row * (h + 2) + h / 2, { align: "right", size: narrow ? 10 : 11, colour: inks.soft });
            for (let k = 0; k < 32; k += 1) {
                const wanted = places.find(({ word }) => word === row * 32 + k);
                const style = wanted ? inkOf(wanted) : { fill: inks.scale(0), stroke: inks.line };
                pen.box(place.x(k) + 0.5, y + row * (h + 2), place.column - 1.5, h, style);
                if (wanted && !narrow) pen.words(wanted.lane, place.x(k) + place.column / 2 - 0.25, y + row * (h + 2) + h / 2, { align: "center", size: 10.5, bold: true, colour: style.on || inks.paper });
            }
        }
        return rows * (h + 2);
    };
    const byPass = ({ pass }) => ({ fill: pass ? inks.problem : inks.read });
    const noted = (pen, words, y, more = {}) => 4 + pen.note(words, 0, y + 9, pen.width, { size: 12, ...more });

    // Stride one and stride two.
    lab.still("banks", () => {
        const one = accessOf(lab.open({ slug: "ch03-sequential", v: "sequential", n: 256, b: 256 }), 1);
        const two = accessOf(lab.open({ slug: "ch02-divergence", v: "strided_index", n: 256, b: 256 }), 2);
        const said = [one, two].map((access, i) => `${text(i ? "strideTwo" : "strideOne")} ${cost(access)}`);
        return lab.picture({ title: text("banksTitle"), description: said.join(" "), draw: (pen, narrow) => {
            heads(pen, columnsOf(pen, narrow, narrow ? 40 : 74), 0);
            let y = 18 + grid(pen, narrow, 18, 1, placesOf(one), byPass);
            y += noted(pen, said[0], y) + 8;
            y += grid(pen, narrow, y, 2, placesOf(two), byPass);
            y += noted(pen, said[1], y);
            return y + noted(pen, text("banksKey"), y, { size: 11.5, colour: inks.soft });
        } });
    });

    lab.still("banks-strided", () => {
        const figure = lab.open({ slug: "ch02-divergence", v: "strided_index", n: 256, b: 256 });
        const access = accessOf(figure, 8);
        const at = figure.model.steps.findIndex((step) => step.accesses.includes(access)) + 1;
        const places = placesOf(access);
        const rows = Math.max(...places.map(({ word }) => word >> 5)) + 1;
        const idle = 32 - new Set(places.map(({ bank }) => bank)).size;
        const said = text("stridedSaid", { first: places[0].word, second: places[1].word, last: places[31].word, idle, wavefronts: access.conflicts + 1, conflicts: access.conflicts });
        return lab.picture({ title: text("stridedTitle"), description: said, to: [figure, at], draw: (pen, narrow) => {
            heads(pen, columnsOf(pen, narrow, narrow ? 40 : 74), 0);
            const y = 18 + grid(pen, narrow, 18, rows, places, byPass);
            return y + noted(pen, said, y) + noted(pen, "", y);
        } });
    });

    // The round in which the last two warps' worth of sums become one.
    lab.still("banks-sequential", () => {
        const figure = lab.open({ slug: "ch03-sequential", v: "sequential", n: 256, b: 256 });
        const { model } = figure;
        const round = lab.phases(figure).map(({ from, to }) => lab.additions(figure, from, to)).find((added) => lab.distance(added) === 32);
        const first = model.shared(0);
        const own = round.map(({ lane, cell }) => ({ lane, word: cell - first, isOwn: true }));
        const other = round.flatMap(({ lane, cell, sources }) => sources.filter((one) => one !== cell).map((one) => ({ lane, word: one - first })));
        const said = text("sequentialSaid", { lanes: own.length, other: other[0].word, last: other[other.length - 1].word });
        const inkOf = ({ isOwn }) => (isOwn ? { fill: inks.read } : { fill: inks.paper, stroke: inks.read, thick: 1.6, on: inks.ink });
        return lab.picture({ title: text("sequentialTitle"), description: said, to: [figure, model.steps.indexOf(round[0].step) + 1], draw: (pen, narrow) => {
            heads(pen, columnsOf(pen, narrow, narrow ? 40 : 74), 0);
            const y = 18 + grid(pen, narrow, 18, model.sharedWords >> 5, [...own, ...other], inkOf);
            return y + noted(pen, said, y) + noted(pen, "", y);
        } });
    });

    // Queues: under each bank the words that are wanted from it, one a pass.
    lab.still("banks-apart", () => {
        const [sequential, strided] = [["ch03-sequential", "sequential"], ["ch02-divergence", "strided_index"]].map(([slug, v]) => lab.open({ slug, v, n: 1024, b: 1024 }));
        const all = [[sequential, 1], [strided, 2], [strided, 32]].map(([figure, apart]) => ({ apart, access: accessOf(figure, apart) }));
        const said = all.map(({ apart, access }) => `${text("wordsApart", { apart })}: ${cost(access)}`);
        return lab.picture({ title: text("apartTitle"), description: said.join(" "), draw: (pen, narrow) => {
            const place = columnsOf(pen, narrow, narrow ? 12 : 74);
            let y = 18;
            heads(pen, place, 0);
            all.forEach(({ apart, access }, i) => {
                const places = placesOf(access);
                const passes = access.conflicts + 1;
                const h = passes > 8 ? 3 : 14;
                if (!narrow) pen.words(text("wordsApart", { apart }), 68, y + 8, { align: "right", size: 12, bold: true });
                for (let k = 0; k < 32; k += 1) pen.box(place.x(k) + 0.5, y, place.column - 1.5, 14, { fill: inks.scale(0), stroke: inks.line });
                for (const { bank, pass, lane } of places) {
                    pen.box(place.x(bank) + 0.5, y + pass * (h + 1), place.column - 1.5, h, byPass({ pass }));
                    if (h > 8 && !narrow) pen.words(lane, place.x(bank) + place.column / 2, y + pass * (h + 1) + h / 2 + 0.5, { align: "center", size: 10, bold: true, colour: inks.paper });
                }
                // Beside a long queue there is room for the words.
                const isLong = passes > 8;
                if (isLong) pen.note(said[i], place.x(1) + 8, y + 34, pen.width - place.x(1) - 8, { size: 12 });
                y += Math.max(14, passes * (h + 1)) + 4;
                y += isLong ? 4 : pen.note(said[i], place.x(0), y + 8, pen.width - place.x(0), { size: 12 }) + 10;
            });
            return y + noted(pen, text("apartKey"), y, { size: 11.5, colour: inks.soft });
        } });
    });

    // One load of a warp from global memory: the words that it wants, and the sectors that come for them.
    lab.still("sectors", () => {
        const source = readText("crates/book/src/stills/stride.ptx");
        const all = [1, 2, 8].map((apart) => {
            const launch = { kernel: "stride", grid: [1, 1, 1], block: [32, 1, 1], args: ["a0=&in", `a1=u32:${apart}`] };
            const { json, words } = lab.simulated({ ptx: [{ name: "stride.ptx", text: source }], buffers: ["in=i32[256]:iota"], launches: [launch], trace: { launch: 0, blocks: 1 } });
            const [load] = lab.unpack(words, json.launches[0].trace.steps).filter((step) => step.accesses.length);
            return { apart, access: load.accesses[0], first: Number(json.buffers[0].address) };
        });
        const said = all.map(({ apart, access }) => text("sectorsSaid", { name: text(apart === 1 ? "inOne" : "inMany", { apart }), sectors: access.sectors, bytes: 32 * access.sectors, share: Math.round(128000 / (32 * access.sectors)) / 10 }));
        return lab.picture({ title: text("sectorsTitle"), description: said.join(" "), draw: (pen, narrow) => {
            const place = columnsOf(pen, narrow, 0);
            let y = 0;
            all.forEach(({ access, first }, i) => {
                y += pen.note(said[i], 0, y + 8, pen.width, { size: 12 }) + 4;
                const wanted = new Map([...access.addresses].map((address, lane) => [(address - first) / 4, lane]));
                const sectors = new Set([...wanted.keys()].map((word) => word >> 3));
                const rows = Math.floor(Math.max(...wanted.keys()) / 32) + 1;
                const h = rows > 4 ? 9 : 14;
                for (let word = 0; word < rows * 32; word += 1) {
                    const [row, k] = [word >> 5, word & 31];
                    const is = wanted.has(word);
                    pen.box(place.x(k) + 0.5, y + row * (h + 4), place.column - 1.5, h, { fill: is ? inks.read : sectors.has(word >> 3) ? inks.scale(0.2) : null, stroke: is ? null : inks.line });
                    if (is && !narrow && h > 12) pen.words(wanted.get(word), place.x(k) + place.column / 2, y + row * (h + 4) + h / 2 + 0.5, { align: "center", size: 10, bold: true, colour: inks.paper });
                }
                for (const sector of sectors) {
                    const [row, k] = [sector >> 2, (sector & 3) * 8];
                    pen.box(place.x(k) - 1, y + row * (h + 4) - 1.5, 8 * place.column + 1, h + 3, { stroke: inks.ink, thick: 1.2 });
                }
                y += rows * (h + 4) + 8;
            });
            return y + noted(pen, text("sectorsKey"), y - 4, { size: 11.5, colour: inks.soft });
        } });
    });

    // One warp goes through a round: which of its lanes each line is carried out for.
    lab.still("divergence", () => {
        const figure = lab.open({ slug: "ch01-naive", v: "interleaved_modulo", n: 128, b: 128 });
        const { model, data, variant } = figure;
        const source = data.files[variant.source].split("\n");
        const phase = lab.phases(figure)[1];
        const rows = [];
        for (let i = phase.from; i < phase.to; i += 1) {
            const step = model.steps[i];
            const { line } = model.code[step.pc];
            if (step.warp !== 0 || !line) continue;
            const last = rows[rows.length - 1];
            if (last && last.line === line && last.mask === step.split) last.count += 1;
            else rows.push({ line, mask: step.split, count: 1 });
        }
        const words = ({ line }) => source[line - 1].replace(/\/\/.*$/, "").trim();
        const said = rows.map((row) => text("lineSaid", { code: words(row), count: row.count, lanes: lab.count(row.mask) })).join(" ");
        return lab.picture({ title: text("divergenceTitle"), description: said, to: [figure, phase.to], draw: (pen, narrow) => {
            const label = narrow ? 0 : 292;
            const place = columnsOf(pen, narrow, label);
            const [h, pitch] = narrow ? [12, 38] : [15, 24];
            let y = narrow ? 0 : 4;
            if (!narrow) y = 18, pen.words(text("lane0"), place.x(0), 6, { size: 11, colour: inks.soft }), pen.words("31", place.x(31) + place.column / 2, 6, { align: "center", size: 11, colour: inks.soft });
            for (const row of rows) {
                pen.words(words(row), 0, y + 7, { size: 11 });
                for (let k = 0; k < 32; k += 1) {
                    const is = (row.mask >>> k) & 1;
                    pen.box(place.x(k) + 0.5, y + (narrow ? 16 : 0), place.column - 1.5, h, is ? { fill: inks.read } : { stroke: inks.wait, dash: [2, 2] });
                }
                y += pitch;
            }
            return y + noted(pen, text("divergenceKey"), y, { size: 11.5, colour: inks.soft });
        } });
    });

    // Loads of sixteen bytes from an array that does not begin at a multiple of sixteen.
    lab.still("packs", () => {
        const [elements, shift] = [13, 1];
        const data = lab.dataOf("ch07-coarsening");
        const variant = data.variants.find(({ name }) => name === "vectorised");
        const chosen = lab.nearest(variant.cases, { n: 64, block: 64 });
        const launch = chosen.launches[chosen.shown];
        const ask = (args) => lab.simulated({ ptx: [variant.ptx], buffers: ["in=i32[16]:iota", ...chosen.buffers.slice(1)], launches: [{ ...launch, args }], schedule: "independent", outputs: ["sums0:1"], trace: { launch: 0, blocks: 1 } });
        const base = Number(ask(launch.args).json.buffers[0].address);
        const moved = (arg) => (arg.endsWith("=&in") ? arg.replace("&in", `u64:${base + 4 * shift}`) : arg.replace(/=u(32|64):\d+$/, `=u$1:${elements}`));
        const { json, words } = ask(launch.args.map(moved));
        const { trace } = json.launches[0];
        const loads = [];
        for (const step of lab.unpack(words, trace.steps)) {
            if (!/^ld\.global/.test(trace.code[step.pc].opcode)) continue;
            for (const { mask, addresses, bytes } of step.accesses) lab.lanes(mask, (lane) => {
                const first = (addresses[lane] - base) / 4;
                if (first >= 0 && first < 16) loads.push({ first, count: bytes / 4, thread: step.warp * 32 + lane });
            });
        }
        loads.sort((a, b) => a.first - b.first);
        const covered = loads.reduce((sum, { count }) => sum + count, 0);
        if (covered !== elements) throw new Error(`packs: ${covered} of ${elements} elements are loaded`);
        const said = loads.map(({ first, count, thread }) => text(count > 1 ? "packSaid" : "oneSaid", { thread, first: first - shift, last: first - shift + count - 1 })).join(" ");
        return lab.picture({ title: text("packsTitle"), description: said, draw: (pen, narrow) => {
            const step = pen.width / 16;
            const x = (word) => word * step;
            pen.words(text("byteAddress"), 0, 7, { size: 11, colour: inks.soft });
            for (let word = 0; word <= 16; word += 4) {
                pen.words(word * 4, Math.min(Math.max(x(word), 1), pen.width - 1), 24, { align: word === 0 ? "left" : word === 16 ? "right" : "center", size: 11, colour: inks.soft });
                pen.line([[Math.min(x(word) + 0.5, pen.width - 0.5), 32], [Math.min(x(word) + 0.5, pen.width - 0.5), 68]], { colour: inks.soft });
            }
            for (let word = 0; word < 16; word += 1) {
                const load = loads.find(({ first, count }) => word >= first && word < first + count);
                const style = !load ? { stroke: inks.line, dash: [2, 2] } : load.count > 1 ? { fill: inks.read } : { fill: inks.paper, stroke: inks.write, thick: 1.8 };
                pen.box(x(word) + 2, 38, step - 4, 24, style);
                if (load) pen.words(word - shift, x(word) + step / 2, 50.5, { align: "center", size: narrow ? 11 : 13, bold: true, colour: load.count > 1 ? inks.paper : inks.ink });
            }
            for (const { first, count, thread } of loads) {
                pen.line([[x(first) + 3, 74], [x(first) + 3, 78], [x(first + count) - 3, 78], [x(first + count) - 3, 74]], { colour: count > 1 ? inks.read : inks.write });
                pen.words(count > 1 && !narrow ? text("packBy", { thread }) : `t${thread}`, x(first + count / 2), 89, { align: "center", size: 11 });
            }
            return 98 + noted(pen, text("packsKey"), 96, { size: 11.5, colour: inks.soft });
        } });
    });
})();
