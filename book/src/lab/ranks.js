// Kernels that run on several devices at once, a rank each with one block: names of ranks and of their arrays, what is right for them,
// and what happens between them: who writes into whose memory, who reads there, who waits for whose flag. Where other labs have
// blocks, these have launches, a rank's first call before its second.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    // Numbers of all arrays together.
    lab.inputs = ({ n, ranks = 1, calls = 1 }) => n * ranks * calls;
    // The rank of a launch, and the call, from 1; 0 where there is only one.
    lab.rankOf = ({ ranks, calls }, launch) => ({ rank: launch % ranks, call: calls > 1 ? Math.floor(launch / ranks) + 1 : 0 });
    const named = (key, chosen, launch) => {
        if (!chosen.ranks) return "";
        const { rank, call } = lab.rankOf(chosen, launch);
        return text(call ? `${key}Call` : key, { rank, call });
    };
    // "rank 1", "Rank 1 in call 2".
    lab.rankName = (chosen, launch) => named("rankName", chosen, launch);
    lab.rankBegins = (chosen, launch) => named("rankBegins", chosen, launch);
    lab.rankShort = (chosen, launch, isNarrow) => named(isNarrow ? "rankNarrow" : "rankShort", chosen, launch);
    // What a buffer's name says: `stage_1`, or of a call `in_1_2`.
    lab.rankArray = (name) => {
        const [, what, rank, call] = /^([a-z]+)_(\d+)(?:_(\d+))?$/.exec(name) || [];
        return what && { what, rank: Number(rank), call: Number(call || 0) };
    };
    lab.rankArrayName = ({ what, rank, call }) => text(call ? "rankArrayCall" : "rankArray", { name: what, rank, call });

    // The sums, in the order of results: floats, added from rank 0 on.
    lab.sumsOfRanks = (chosen) => {
        const { n, ranks, given, elements } = chosen;
        const all = lab.inputs(chosen);
        const element = (i) => (elements ? elements[i] : lab.element(all, i, given));
        const sum = (first, i) => Array.from({ length: ranks }, (_, rank) => element(first + rank * n + i)).reduce((a, b) => Math.fround(a + b));
        return chosen.results.map((_, launch) => Array.from({ length: n }, (_, i) => sum(Math.floor(launch / ranks) * ranks * n, i)));
    };
    // The buffers with their elements.
    lab.rankBuffers = (chosen) => chosen.buffers.map((buffer, at) => {
        if (at >= chosen.results.length) return buffer;
        const { n, given, elements } = chosen;
        const element = (i) => (elements ? elements[i] : lab.element(lab.inputs(chosen), i, given));
        return { ...buffer, elements: Array.from({ length: n }, (_, i) => element(at * n + i)) };
    });
    // Where a result stands of which the place among all is known.
    lab.placeOfRanks = (chosen, i) => ({ rank: lab.rankName(chosen, Math.floor(i / chosen.n)), i: i % chosen.n });

    // What the sentences at the start and at the end of a rank's launch need.
    lab.rankStart = (chosen, { block }) => (chosen.ranks ? { ranks: chosen.ranks, who: lab.rankBegins(chosen, block), count: chosen.n } : {});
    lab.rankEnd = ({ chosen, result, expected, shown }) => (chosen.ranks ? { ranks: chosen.ranks, who: lab.rankBegins(chosen, shown.block), ...lab.placeOfRanks(chosen, lab.oneOf(result, expected).i) } : {});

    // ---- What happens between ranks.

    const list = (ranks) => (ranks.length === 1 ? text("rankName", { rank: ranks[0] }) : text("rankNames", { ranks: lab.list(ranks.map(String)) }));
    const ranksOf = (entries) => [...new Set(entries)].sort((a, b) => a - b);

    // Whether a sum that is written is what it should be.
    const isRight = (model, { cell, version }) => {
        const { name, first } = model.bufferOf(cell);
        const sums = (model.sums ||= lab.sumsOfRanks(model.chosen))[model.chosen.results.indexOf(name)];
        return Object.is(sums[cell - first], model.replay.versions.shown[version]);
    };

    // A store: [kind, values] of its event, or null.
    const storeOf = (model, step, own) => {
        const first = step.writes[0] && model.arrayOf(step.writes[0].cell);
        if (!first) return null;
        const owners = ranksOf(step.writes.map(({ cell }) => model.arrayOf(cell).rank));
        const values = { count: step.writes.length, to: list(owners) };
        if (first.what === "out") values.wrong = step.writes.filter((write) => !isRight(model, write)).length;
        const isOwn = owners.length === 1 && owners[0] === own;
        if (first.what === "flags") {
            // One of the flags lies with the rank itself, which tells it nothing.
            const others = owners.filter((rank) => rank !== own);
            return others.length ? ["sets", { count: others.length, to: list(others), value: model.replay.versions.shown[step.writes[0].version] }] : null;
        }
        if (first.what === "stage" || first.what === "words") return [isOwn ? "leaves" : first.what === "words" ? "sends" : "pushes", values];
        if (first.what === "out") return [isOwn ? "results" : "gives", values];
        return null;
    };
    // Marks the looks that are in vain: the same lane looks at the same word again later, by the same instruction.
    const markLooks = (model) => {
        const later = new Set();
        for (const step of model.recorded.toReversed()) {
            if (model.code[step.pc].kind !== "load") continue;
            const key = ({ lane, cell }) => `${step.block}|${step.warp}|${lane}|${step.pc}|${cell}`;
            const looks = step.reads.filter(({ cell }) => /^(flags|words)$/.test(model.arrayOf(cell)?.what));
            step.inVain = looks.filter((read) => later.has(key(read)));
            looks.forEach((read) => later.add(key(read)));
        }
    };
    // A flag lies at the place of the rank that sets it.
    const flagsOf = (model, step, own, waited) => {
        const from = (reads) => ranksOf(reads.map(({ cell }) => cell - model.bufferOf(cell).first)).filter((rank) => rank !== own);
        const waits = from(step.inVain);
        const come = from(step.reads).filter((rank) => !waits.includes(rank));
        if (waits.length) return ["waits", { from: list(waits) }];
        return come.length ? [waited ? "comes" : "there", { from: list(come), count: come.length }] : null;
    };
    const loadOf = (model, step, own, waited) => {
        const first = step.reads[0] && model.arrayOf(step.reads[0].cell);
        if (!first) return null;
        if (first.what === "flags") return flagsOf(model, step, own, waited);
        const values = { count: step.reads.length, from: list([first.rank]) };
        if (first.what === "words") {
            // Words of one peer lie together: which, says who writes there.
            const from = model.sender(step.reads[0].cell);
            const again = step.inVain.length;
            return again ? ["waitsWords", { from: list([from]), count: again }] : ["receives", { from: list([from]), count: step.reads.length }];
        }
        if (first.rank !== own && (first.what === "stage" || first.what === "in")) return ["reads", { ...values, name: first.what }];
        if (first.what !== "stage") return null;
        const writers = ranksOf(step.from.map(({ block }) => lab.rankOf(model.chosen, block).rank).filter((rank) => rank !== own));
        return writers.length ? ["takes", { count: step.reads.length, from: list(writers) }] : null;
    };
    const MARKS = { sets: "rankSet", waits: "rankWaits", waitsWords: "rankWaits", comes: "rankGoes", there: "rankGoes", receives: "rankGoes", results: "rankResults" };

    // Tells the events of a run. `tell` makes one; those of one kind that follow each other in a block are one.
    lab.rankEvents = (between, tell) => {
        const { model } = between;
        const last = new Map();
        markLooks(model);
        for (const step of model.recorded) {
            const one = between.of[step.block];
            const { rank: own } = lab.rankOf(model.chosen, step.block);
            if (one.steps[0] === step) {
                between.started += 1;
                tell("starts", step, { place: between.started });
            }
            const { kind } = model.code[step.pc];
            const found = kind === "store" ? storeOf(model, step, own) : kind === "load" ? loadOf(model, step, own, last.get(step.block)?.kind === "waits") : null;
            if (!found) continue;
            const [name, values] = found;
            const key = `${name}|${values.from || ""}|${values.to || ""}|${model.code[step.pc].line}`;
            const before = last.get(step.block);
            // Looks in one turn are one event, and so are a loop's stores.
            const isSame = before && before.key === key && between.events[between.events.length - 1] === before;
            if (isSame) {
                Object.assign(before, { index: step.index, time: step.time });
                before.steps.push(step);
                if (!name.startsWith("waits") && name !== "sets") before.values.count += values.count;
                if (values.wrong !== undefined) before.values.wrong += values.wrong;
                before.values.looks = before.steps.length;
            } else {
                const event = tell(name, step, { ...values, looks: 1 });
                Object.assign(event, { key, steps: [step] });
                last.set(step.block, event);
                if (MARKS[name]) one.marks.push({ time: step.time, index: step.index, key: MARKS[name], values });
            }
        }
    };

    // Whether a rank waits: its last look was in vain.
    lab.rankWaits = (between, block, isPast) => /^waits/.test(between.events.findLast((event) => event.block === block && event.steps && isPast(event.steps[0]))?.kind);

    // Moments by their names.
    const NAMED = {
        leaves: ["leaves", "pushes", "sends"], flag: ["sets"], waits: ["waits", "waitsWords"], spin: ["waits", "waitsWords"], message: ["comes", "there", "receives"],
        remote: ["pushes", "reads", "sends", "gives"], takes: ["reads", "takes", "receives"], result: ["results", "gives"],
    };
    lab.rankNamed = (between, name, launch) => {
        const shows = ({ steps, values }) => values.wrong > 0 || steps?.some(({ fault }) => fault);
        const telling = (name === "fault" || name === "poster") && between.events.find(shows);
        if (telling) return telling;
        const kinds = NAMED[name === "poster" ? "waits" : name];
        if (!kinds) return null;
        const found = between.events.filter((event) => kinds.includes(event.kind) && (launch === null || launch === undefined || event.block === launch));
        if (!kinds.includes("waits")) return found[name === "result" ? found.length - 1 : 0] || null;
        // While what is waited for is on its way: the peer has written, and its flag is not there.
        const isOnItsWay = (event) => between.events.some((other) => other.block !== event.block && other.time < event.time && /^(pushes|leaves|sends)$/.test(other.kind)
            && !between.events.some((flag) => flag.block === other.block && flag.kind === "sets" && flag.time < event.time));
        return found.find(isOnItsWay) || found[0] || null;
    };
    lab.rankSentence = (between, { kind, block, steps, values }) => {
        const { model } = between;
        const faulty = steps?.find(({ fault }) => fault);
        if (faulty) return lab.say(model, [faulty]);
        const said = text(`rank_${kind}`, { ...values, who: lab.rankBegins(model.chosen, block) });
        return values.wrong ? { text: said, more: text("rankWrongHere", values), isProblem: true } : { text: said };
    };
})();
