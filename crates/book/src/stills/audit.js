// Holds every sentence of a lab against its run. It parses the sentence, and takes from the recorded steps
// which arrays of the launch which lanes touched, how much of them, and what for. It shares no code with the scripts that make sentences.
(() => {
    "use strict";
    const lab = reductionLab;
    const GRAINS = ["round", "line", "instruction"];

    // The name under which a reader knows an array, from the launch alone.
    const nameAt = (figure, space, address) => {
        const { model, chosen } = figure;
        if (space !== "global") {
            const array = model.launch.shared.find(({ first, bytes }) => address >= first && address < first + bytes);
            return array ? array.name : "shared";
        }
        const own = figure.reply.json.buffers.find((one) => address >= Number(one.address) && address < Number(one.address) + one.len * (/64$/.test(one.type) ? 8 : 4));
        if (!own) return "the grid's barrier";
        // Of several devices, whose array it is.
        const [, what, rank, call] = (chosen.ranks && /^([a-z]+)_(\d+)(?:_(\d+))?$/.exec(own.name)) || [];
        if (what) return `rank ${rank}'s ${what}${call ? ` of call ${call}` : ""}`;
        if (!own.name.startsWith("sums")) return own.name;
        const arrays = chosen.launches[chosen.shown].args.filter((arg) => arg.includes("=&")).map((arg) => arg.split("=&")[1].split("+")[0]);
        const results = chosen.result.split(":")[0];
        const out = chosen.of && arrays.includes(results) ? results : arrays[1];
        return own.name === out ? "out" : "of_blocks";
    };
    const elementBytes = (figure, space, address) => {
        const own = space === "global" && figure.reply.json.buffers.find((one) => address >= Number(one.address) && address < Number(one.address) + one.len * (/64$/.test(one.type) ? 8 : 4));
        return own && /64$/.test(own.type) ? 8 : 4;
    };
    const VERBS = { "ld": "load", "st": "store", "atom": "atomic", "red": "atomic" };

    // Accesses of a beat, by purpose and array: their threads and places.
    const touched = (figure, steps) => {
        const all = new Map();
        for (const step of steps) {
            const { text } = figure.model.trace.code[step.pc];
            const verb = VERBS[/^\s*(?:@!?%\w+\s+)?(\w+)\./.exec(text)?.[1]];
            for (const access of step.accesses) {
                if (access.space === "local") continue;
                for (let lane = 0; lane < 32; lane += 1) {
                    if (!((access.mask >>> lane) & 1)) continue;
                    const address = access.addresses[lane];
                    const name = nameAt(figure, access.space, address);
                    const key = `${verb} ${access.space} ${name}`;
                    if (!all.has(key)) all.set(key, { verb, name, space: access.space, threads: new Set(), places: new Set(), sectors: 0, steps: new Set() });
                    const one = all.get(key);
                    one.threads.add(step.warp * 32 + lane);
                    const bytes = elementBytes(figure, access.space, address);
                    for (let at = 0; at < access.bytes; at += bytes) one.places.add(address + at);
                    if (!one.steps.has(access)) one.sectors += access.sectors;
                    one.steps.add(access);
                }
            }
        }
        return [...all.values()];
    };
    const number = (word) => Number(word.replaceAll(",", ""));
    const union = (sets) => new Set(sets.flatMap((set) => [...set]));

    // Whether the words about threads are right for this set of them.
    const isWho = (words, threads) => {
        const all = [...threads].sort((a, b) => a - b);
        const [, one] = /^Thread ([\d,]+)$/.exec(words) || [];
        if (one !== undefined) return all.length === 1 && all[0] === number(one);
        const [, from, to] = /^Threads ([\d,]+) to ([\d,]+)$/.exec(words) || [];
        if (from !== undefined) return all[0] === number(from) && all.at(-1) === number(to) && all.length === number(to) - number(from) + 1;
        const [, count, warps] = /^([\d,]+) threads of ([\d,]+) warps$/.exec(words) || [];
        if (count !== undefined) return all.length === number(count) && new Set(all.map((thread) => thread >> 5)).size === number(warps);
        const [, lanes, warp] = /^([\d,]+) lanes of warp (\d+)$/.exec(words) || [];
        return lanes !== undefined && all.length === number(lanes) && all.every((thread) => thread >> 5 === Number(warp));
    };
    const WHO = String.raw`(Threads? [\d,]+(?: to [\d,]+)?|[\d,]+ threads of [\d,]+ warps|[\d,]+ lanes of warp \d+)`;
    const NAMES = String.raw`([\w' ]+?(?:, [\w' ]+?)*)`;
    const names = (words) => words.split(/, | and /);

    // Executed operations by lanes, of a kind of instruction.
    const executed = (figure, steps, form) => {
        let count = 0;
        for (const step of steps) if (form.test(figure.model.trace.code[step.pc].text.trim())) count += lab.count(step.active);
        return count;
    };
    const OPERATIONS = {
        maxima: /^max\b/, minima: /^min\b/, additions: /^add\b/, differences: /^sub\b/, products: /^mul\b/, multiplications: /^(fma|mad)\b/,
        quotients: /^(div|rcp)\b/, roots: /^r?sqrt\b/, logarithms: /^(lg2|div)\b/,
        exponentials: /^ex2\b/,
    };
    const SINGULAR = { maximum: "maxima", minimum: "minima" };

    // A rule for each kind of sentence: its form, and a check of the run. `all` are the accesses of the beat; a rule marks those that its
    // sentence is about.
    const find = (all, verb, name, spaces) => all.filter((one) => one.verb === verb && names(name).includes(one.name) && spaces.includes(one.space));
    const places = (groups) => union(groups.map((one) => one.places)).size;
    const about = (groups, told, { who, name, count, sectors, holds = true }) => {
        for (const one of groups) one.isTold = true;
        if (groups.length === 0 || (name && !names(name).every((word) => groups.some((one) => one.name === word)))) told(`nothing of the kind with ${name}`);
        else if (!isWho(who, union(groups.map((one) => one.threads)))) told(`other threads: ${[...union(groups.map((one) => one.threads))].slice(0, 4)}…`);
        else if (count !== undefined && places(groups) !== count) told(`${places(groups)} places, not ${count}`);
        else if (sectors !== undefined && groups.reduce((sum, one) => sum + one.sectors, 0) !== sectors) told("other sectors");
        else if (!holds) told("not so");
    };
    const G = ["global"];
    const S = ["shared"];
    const rules = [
        [`${WHO} brings? ([\\d,]+|one) (?:numbers?|words?) of ${NAMES} from global memory: ([\\d,]+) sectors? of 32 bytes\\.`, ({ all, told }, who, count, name, sectors) => about(find(all, "load", name, G), told, { who, name, count: count === "one" ? 1 : number(count), sectors: number(sectors) })],
        [`${WHO} brings? ([\\d,]+) numbers? of ${NAMES} from global memory, ([\\d,]+) sectors? of 32 bytes, and leaves? what (?:they have|it has) in ${NAMES}, in shared memory\\.`, ({ all, told }, who, count, name, sectors, shared) => {
            about(find(all, "load", name, G), told, { who, name, count: number(count), sectors: number(sectors) });
            about(find(all, "store", shared, S), told, { who, name: shared });
        }],
        [`${WHO} takes? what ([\\d,]+) other (?:blocks?|ranks?) (?:has|have) left in ${NAMES}\\.`, ({ all, told, writers }, who, count, name) => about(find(all, "load", name, G), told, { who, name, holds: writers().size === number(count) })],
        [`${WHO} reads? ([\\d,]+) words? of ${NAMES}, in shared memory\\.`, ({ all, told }, who, count, name) => about(find(all, "load", name, S), told, { who, name, count: number(count) })],
        [`${WHO} writes? ([\\d,]+) words? of ${NAMES}, in shared memory\\.`, ({ all, told }, who, count, name) => about(find(all, "store", name, S), told, { who, name, count: number(count) })],
        [`${WHO} reads? ([\\d,]+) words? and writes? ([\\d,]+) of ${NAMES}, in shared memory\\.`, ({ all, told }, who, reads, writes, name) => {
            const [read, written] = [find(all, "load", name, S), find(all, "store", name, S)];
            about([...read, ...written], told, { who, name, holds: places(read) === number(reads) && places(written) === number(writes) });
        }],
        [`${WHO} (?:all )?reads? (\\w+)\\[(\\d+)\\](?:: one word, one pass)?\\.`, ({ all, told }, who, name, at) => about(find(all, "load", name, S), told, { who, name, count: 1 })],
        [`${WHO} writes? ([\\d,]+) words? of ${NAMES}, in global memory\\.`, ({ all, told }, who, count, name) => about(find(all, "store", name, G), told, { who, name, count: number(count) })],
        [`${WHO} writes (?:(\\S+) to )?([\\w' ]+)\\[(\\d+)\\]\\.`, ({ all, told, stored }, who, value, name, at) => about(find(all, "store", name, G), told, { who, name, count: 1, holds: value === undefined || stored(value) })],
        [`${WHO} (?:each )?changes? a word of ${NAMES} in (global|shared) memory, in one step that no other thread can interrupt\\.`, ({ all, told }, who, name, space) => about(find(all, "atomic", name, [space, ...(space === "shared" ? ["cluster"] : [])]), told, { who, name })],
        [`${WHO} reach(?:es)? into ${NAMES} of (?:other blocks|another block) of the cluster, in shared memory\\.`, ({ all, told }, who, name) => about([...find(all, "load", name, ["cluster"]), ...find(all, "store", name, ["cluster"])], told, { who, name })],
        [`${WHO} adds? (\\w+)\\[([^\\]]+)\\] to (\\w+)\\[([^\\]]+)\\](?:, in global memory: ([\\d,]+) sectors?| \\(t is the thread\\))?\\.`, (beat, who, source, from, target, to, sectors) => joined(beat, who, [source, from], [target, to], sectors, (a, b) => a + b)],
        [`${WHO} compares? (\\w+)\\[([^\\]]+)\\] with (\\w+)\\[([^\\]]+)\\](?:, in global memory,)? and keeps? the one that counts in \\w+\\[[^\\]]+\\](?:: ([\\d,]+) sectors?| \\(t is the thread\\))?\\.`, (beat, who, source, from, target, to, sectors) => joined(beat, who, [source, from], [target, to], sectors, beat.extreme)],
        [`${WHO} (?:each )?takes? (?:the value|values) of the lanes? (?:([\\d, and]+) places? up, where there (?:is one|are such lanes)|whose numbers? differs? by ([\\d, and]+)), register to register\\.`, (beat, who, up, xor) => handed(beat, who, up, xor)],
        [`${WHO} (?:hand values to each other|takes part in handing values from lane to lane), register to register\\.`, (beat, who) => handed(beat, who)],
        ["No memory is touched\\.", ({ all, told }) => { if (all.length) told("memory is touched"); }],
        ["Computed: (.+?)\\.", (beat, list) => computed(beat, list)],
        [`${WHO} computes? (.+?)\\.`, (beat, who, list) => {
            if (beat.all.length) beat.told("memory is touched too");
            computed(beat, list);
        }],
        ["Line (\\d+) sets ([\\w.]+)\\.", ({ figure, steps, told, source }, line, name) => {
            if (!steps.some((step) => figure.model.trace.code[step.pc].line === Number(line))) told("the line does not run");
            if (!source[line - 1].includes(`${name} =`)) told(`the line is ${source[line - 1]}`);
        }],
        [`${WHO} works? out indices and conditions: ([\\d,]+) warp-instructions?(, no memory|, and no memory but (?:their|its) own)\\.`, ({ all, told, steps }, who, count) => {
            if (all.length || steps.length !== number(count)) told("memory is touched, or they are others");
        }],
        ["Arrivals at the barrier: ([\\d,]+) warps?\\.", ({ all, told, steps, figure }, count) => {
            const warps = new Set(steps.filter((step) => /\b(bar|barrier)\.(cta\.)?sync/.test(figure.model.trace.code[step.pc].text)).map(({ warp }) => warp));
            if (all.length || warps.size !== number(count)) told(`${warps.size} warps`);
        }],
        ["__syncwarp\\(\\): the lanes of warp (\\d+) wait for each other\\.", ({ told, steps, figure }, warp) => { if (!steps.some((step) => step.warp === Number(warp) && /bar\.warp\.sync/.test(figure.model.trace.code[step.pc].text))) told("no such barrier"); }],
        ["redux\\.sync: one instruction combines the values of ([\\d,]+) lanes\\.", ({ told, steps, figure }, lanes) => { if (!steps.some((step) => /^redux/.test(figure.model.trace.code[step.pc].text.trim()) && lab.count(step.active) === number(lanes))) told("no such instruction"); }],
        [`${WHO} (?:pass(?:es)? a fence: .*|comes? to the barrier of (?:their|its) cluster)\\.`, ({ told, steps, figure }) => { if (!steps.some((step) => /membar|fence|barrier\.cluster/.test(figure.model.trace.code[step.pc].text))) told("no such instruction"); }],
        ["Nothing more to do: ([\\d,]+) warps? ends?\\.", ({ all, told, steps }, count) => { if (all.length || new Set(steps.map(({ warp }) => warp)).size !== number(count)) told("others end"); }],
    ].map(([form, check]) => [new RegExp(`^${form}( |$)`), check]);

    // An addition in memory: its threads store to the one and load from the other, where the formulas say, and the numbers agree.
    const joined = ({ figure, all, told, steps, exact }, who, [source, from], [target, to], sectors, join) => {
        const spaces = sectors === undefined ? S : G;
        const [reads, writes] = [find(all, "load", source, spaces), find(all, "store", target, spaces)];
        about(writes, told, { who, name: target });
        for (const one of [...reads, ...find(all, "load", target, spaces)]) one.isTold = true;
        if (reads.length === 0) told(`${source} is not read`);
        const place = (formula, thread) => {
            const [, times, plus] = /^(?:(\d*)t)?(?: ?([+−] \d+)|(\d+))?$/.exec(formula) || [];
            const offset = /^\d+$/.test(formula) ? Number(formula) : plus ? Number(plus.replace("−", "-").replaceAll(" ", "")) : 0;
            return (times === undefined ? 0 : Number(times || 1)) * thread + offset;
        };
        for (const step of steps) {
            for (const { lane, version, before, cell } of step.writes) {
                const thread = step.warp * 32 + lane;
                const { shown } = figure.model.replay.versions;
                const read = steps.flatMap((one) => (one.warp === step.warp ? one.reads : [])).filter((one) => one.lane === lane && one.cell !== cell).at(-1);
                if (!read) continue;
                if (read.cell - cell !== (source === target ? place(from, thread) - place(to, thread) : read.cell - cell)) told(`thread ${thread} reads another word`);
                const [was, added, now] = [shown[before], shown[read.version], shown[version]];
                if (exact && [was, added, now].every((one) => one !== null) && (join(was, added) | 0) !== now) told(`thread ${thread} leaves ${now} of ${was} and ${added}`);
            }
        }
    };
    const handed = ({ figure, told, steps }, who, up, xor) => {
        const all = steps.filter((step) => /^shfl/.test(figure.model.trace.code[step.pc].text.trim()));
        const threads = new Set(all.flatMap((step) => Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (step.active >>> lane) & 1).map((lane) => step.warp * 32 + lane)));
        if (!isWho(who, threads)) told("other threads");
        const far = (up || xor || "").split(/, | and /).filter(Boolean).map(Number);
        for (const step of all) {
            for (const { lane, from } of step.sources || []) {
                const isSo = far.length === 0 || far.some((by) => from === (xor ? lane ^ by : lane + by > 31 ? lane : lane + by));
                if (!isSo) told(`lane ${lane} takes the value of lane ${from}`);
            }
        }
    };
    const computed = ({ figure, told, steps }, list) => {
        for (const one of list.split(/, | and (?=\d)/)) {
            const [, count, word] = /^([\d,]+) (\w+)/.exec(one) || [];
            const kind = SINGULAR[word] || (OPERATIONS[word] ? word : `${word}s`);
            if (!OPERATIONS[kind]) told(`unknown: ${one}`);
            else {
                const most = executed(figure, steps, OPERATIONS[kind]);
                if (number(count) === 0 || number(count) > most) told(`${one} of ${most} executed`);
            }
        }
    };

    // Blocks that last wrote the words which the beat loads, from the order of the run.
    const writersOf = (figure, steps) => () => {
        const blocks = new Set();
        const { recorded, trace } = figure.model;
        for (const step of steps) {
            if (!/^\s*(@!?%\w+\s+)?ld\./.test(trace.code[step.pc].text)) continue;
            for (const { mask, addresses, space } of step.accesses) {
                if (space !== "global") continue;
                lab.lanes(mask, (lane) => {
                    const last = recorded.findLast((one) => one.time < step.time && /^\s*(@!?%\w+\s+)?(st|atom|red)\./.test(trace.code[one.pc].text) && one.accesses.some((access) => {
                        let is = false;
                        lab.lanes(access.mask, (k) => { is ||= access.addresses[k] <= addresses[lane] && addresses[lane] < access.addresses[k] + access.bytes; });
                        return is;
                    }));
                    blocks.add(last && last.block !== step.block ? last.block : "own");
                });
            }
        }
        return blocks;
    };

    // Parses a sentence piece by piece. A piece without a rule is a problem, and so is an access that no piece mentions.
    const read = (figure, steps, words) => {
        const problems = [];
        const all = touched(figure, steps);
        const told = (what) => problems.push(`"${words}": ${what}`);
        const stores = steps.filter((step) => /\bst\.|st\.global/.test(figure.model.trace.code[step.pc].text));
        const { op = "sum", type } = figure.chosen;
        const beat = {
            figure, steps, all, told, source: figure.data.files[figure.variant.source].split("\n"), writers: writersOf(figure, steps), exact: type !== "f32" && !figure.model.isRacy,
            extreme: op === "min" ? Math.min : Math.max, stored: (value) => stores.some(({ writes }) => writes.some(({ version }) => lab.number(figure.model.replay.versions.shown[version]) === value)),
        };
        let rest = words;
        while (rest) {
            const rule = rules.find(([form]) => form.test(rest));
            if (!rule) {
                told(`no rule for "${rest}"`);
                break;
            }
            const [whole, ...parts] = rule[0].exec(rest);
            rule[1](beat, ...parts.slice(0, -1));
            rest = rest.slice(whole.length);
        }
        for (const one of all) if (!one.isTold) told(`${one.verb} of ${one.name} is not told`);
        return problems;
    };

    // Checks a sentence about blocks: its block, its array, its number.
    const readEvent = (figure, event) => {
        const words = figure.between.sentence(event).text;
        const step = figure.model.steps[event.index];
        const wrong = (what) => [`"${words}": ${what}`];
        if (/[{}]|undefined|null|NaN/.test(words)) return wrong("a word is missing");
        if (figure.chosen.ranks) return readRankEvent(figure, event, words, wrong);
        if (!words.startsWith(`Block ${lab.number(step.block)} `)) return wrong(`it is block ${step.block}`);
        const [, name] = /\b(\w+)\[\d+\]/.exec(words) || [];
        const all = touched(figure, [step]);
        if (name && !all.some((one) => one.name === name)) return wrong(`it touches ${all.map((one) => one.name)}`);
        const [, left] = /(?:its sum|the result), (\S+), (?:in|to) /.exec(words) || [];
        const values = step.writes.map(({ version }) => figure.model.replay.versions.shown[version]).concat([event.values.value]);
        if (left && !values.some((value) => lab.number(value) === left)) return wrong(`it writes ${values}`);
        if (/\bsum\b|\badds\b/.test(words) && ((figure.chosen.op || "sum") !== "sum" || figure.chosen.of)) return wrong("these are no sums");
        return [];
    };

    // What events between ranks say, and the accesses that they are about: verb, kind of array, whose; the number of places is in front.
    const BETWEEN_RANKS = [
        [/leaves ([\d,]+) numbers? in its own staging array,/, "store", "stage"],
        [/writes ([\d,]+) numbers? into the memory of (.+?), over/, "store", "stage"],
        [/sends ([\d,]+) numbers? into the memory of (.+?), each/, "store", "words"],
        [/sets ([\d,]+) flags? at (.+?) to [\d,]+: /, "store", "flags"],
        [/looks at its own flags: none from (.+?) yet\./, "load", "flags", "waits"],
        [/finds ([\d,]+) flags? set(?: already)?, from (.+?)(?:: the|, and)/, "load", "flags", "sees"],
        [/looks for ([\d,]+) words? of (.+?) in vain\./, "load", "words", "waits"],
        [/finds ([\d,]+) numbers? from (.+?) in its own memory:/, "load", "words", "takes"],
        [/reads ([\d,]+) numbers? from the memory of (.+?), over/, "load", "(?:stage|in)"],
        [/reads ([\d,]+) numbers? in its own memory that (.+?) left/, "load", "stage", "takes"],
        [/writes ([\d,]+) sums? into its own results\./, "store", "out"],
        [/writes ([\d,]+) sums? into the results of (.+?), over/, "store", "out"],
    ];
    const readRankEvent = (figure, event, words, wrong) => {
        const { ranks, calls } = figure.chosen;
        const own = event.block % ranks;
        // What a fault says is the simulator's own sentence.
        if (event.steps?.some(({ fault }) => fault)) return [];
        const begin = `Rank ${own}${calls > 1 ? ` in call ${Math.floor(event.block / ranks) + 1}` : ""} `;
        if (!words.startsWith(begin)) return wrong(`it is ${begin}`);
        if (event.kind === "starts") return [];
        const rule = BETWEEN_RANKS.find(([form]) => form.test(words));
        if (!rule) return wrong("no rule for it");
        const [form, verb, what, how] = rule;
        const parts = form.exec(words).slice(1);
        const named = parts.find((part) => /^ranks? /.test(part));
        const told = named ? named.match(/\d+/g).map(Number) : [own];
        const count = parts.find((part) => /^[\d,]+$/.test(part));
        const { steps } = event;
        const all = touched(figure, steps).filter((one) => one.verb === verb);
        const owners = all.map(({ name }) => new RegExp(`^rank (\\d+)'s ${what}\\b`).exec(name)?.[1]);
        if (owners.length === 0 || owners.includes(undefined)) return wrong(`it touches ${all.map((one) => one.name)}`);
        // Whose memory it is: where a rank looks, waits or takes, its own.
        const whose = [...new Set(owners.map(Number))].filter((rank) => what !== "flags" || how || rank !== own).sort();
        if (whose.join() !== (how ? `${own}` : told.join())) return wrong(`it is the memory of ${whose}`);
        const writers = [...new Set(steps.flatMap(({ reads }) => reads.map(({ version }) => figure.model.replay.versions.writer[version]))
            .filter((writer) => writer >= 0).map((writer) => figure.model.steps[writer].block % ranks))].filter((rank) => rank !== own).sort();
        if (how === "takes" && writers.join() !== told.join()) return wrong(`${writers} wrote there`);
        // A flag at place r comes from rank r. Who waits looks there again, who sees it does not.
        const last = steps[steps.length - 1];
        const flagAt = (lane) => (last.accesses[0].addresses[lane] % 64) / 8;
        const lanes = Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (last.accesses[0].mask >>> lane) & 1);
        const isAgain = (lane) => figure.model.recorded.some((step) => step.time > last.time && step.block === last.block && step.warp === last.warp && step.pc === last.pc
            && (step.accesses[0].mask >>> lane) & 1 && step.accesses[0].addresses[lane] === last.accesses[0].addresses[lane]);
        const looks = (from) => lanes.some((lane) => flagAt(lane) === from && isAgain(lane));
        if (what === "flags" && how === "waits" && !told.every(looks)) return wrong("nobody looks again");
        if (what === "flags" && how === "sees" && told.some(looks)) return wrong("it looks again");
        if (count !== undefined && what === "flags" && number(count) !== told.length) return wrong("other flags");
        if (count !== undefined && what !== "flags" && how !== "waits" && places(all) !== number(count)) return wrong(`${places(all)} places`);
        return [];
    };

    // Checks all sentences of a run: `count` of them, and their `problems`.
    lab.audit = (figure, grains = GRAINS) => {
        const problems = new Set();
        let count = 0;
        for (const shown of figure.model.blocks) {
            for (const grain of grains) {
                let from = shown.from;
                for (const to of shown.ends[grain]) {
                    const steps = figure.model.steps.slice(from, to);
                    from = to;
                    const { text, more = "", isProblem } = lab.say(figure.model, steps);
                    count += 1;
                    if (/[{}]|undefined|null|NaN\b/.test(text + more)) problems.add(`"${text}": a word is missing`);
                    if (!isProblem) for (const problem of read(figure, steps, text)) problems.add(problem);
                }
            }
        }
        for (const event of figure.between ? figure.between.events : []) {
            count += 1;
            for (const problem of readEvent(figure, event)) problems.add(problem);
        }
        return { count, problems: [...problems] };
    };
})();
