// Kernels that run on several devices at once, a rank each with one block: names of ranks and of their arrays, and what is right for
// them. Where other labs have blocks, these have launches, a rank's first call before its second.
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
})();
