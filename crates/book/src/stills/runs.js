// Runs to draw: a case of a chapter's lab, or a smaller one of the same kernel, simulated.
(() => {
    "use strict";
    const lab = reductionLab;
    const known = new Map();
    lab.dataOf = (slug) => {
        if (!known.has(slug)) known.set(slug, JSON.parse(lesson(slug)));
        return known.get(slug);
    };
    lab.simulated = (request) => {
        const [json, words] = simulate(JSON.stringify(request));
        return { json: JSON.parse(json), words };
    };

    // A launch of the same kernel with few threads, and numbers that a reader can add up.
    const tiny = (chosen, { block, grid = 1, input }) => {
        const launch = chosen.launches[chosen.shown];
        const args = launch.args.map((arg) => arg.replace(/=u32:\d+$/, `=u32:${input.length}`));
        const buffers = chosen.buffers.map((spec, place) => (place ? spec.replace(/\[\d+\]/, `[${Math.max(grid, 1)}]`) : `in=i32[${input.length}]:zero`));
        return { ...chosen, n: input.length, block, shown: 0, buffers, launches: [{ ...launch, grid: [grid, 1, 1], block: [block, 1, 1], args }] };
    };

    const element = lab.element;
    // A figure without a page: it knows its run, its moments and its sentences.
    lab.open = ({ slug, v, n, b, g = null, r, s = "independent", at = "end", grain = "round", block, launch, small }) => {
        const data = lab.dataOf(slug);
        const variant = data.variants.find((one) => one.name === v);
        if (!variant) throw new Error(`${slug} has no variant ${v}`);
        let chosen = lab.caseOf(variant, lab.nearest(variant.cases, { n, block: b, grid: g, ranks: r }));
        if (!small && (chosen.n !== n || chosen.block !== b || (chosen.grid || null) !== g || chosen.ranks !== r)) throw new Error(`${v} has no case of ${n} numbers and ${b} threads`);
        if (small) chosen = tiny(chosen, small);
        if (launch !== undefined) chosen = { ...chosen, shown: launch };
        lab.element = small ? (_, i) => small.input[i] : element;
        const answer = lab.simulated(lab.request(variant, chosen, s, { trace: { ...lab.traceOf(chosen), blocks: 8 }, outputs: chosen.buffers.map((spec) => /^\w+/.exec(spec.spec || spec)[0]) }));
        const figure = Object.create(lab.Figure.prototype);
        Object.assign(figure, { asked: { n, b, g, r }, data, variant, chosen, schedule: s, grain, focus: null, playing: null, moving: null, reply: answer });
        figure.result = chosen.ranks ? lab.result(chosen, answer.json) : answer.json.outputs[chosen.result.split(":")[0]][0];
        figure.expected = lab.expected(chosen);
        figure.model = lab.model(data, variant, chosen, answer);
        lab.element = element;
        lab.shareNames(figure.model);
        lab.tieFaults(figure.model);
        const { blocks } = figure.model;
        const last = blocks[blocks.length - 1];
        // What happens between blocks is named by its event.
        figure.between = blocks.length > 1 ? new lab.Between(figure.model) : null;
        const event = figure.between && figure.between.named(at, block);
        figure.choose(blocks.find((one) => one.block === (event ? event.block : block)) || (last.later ? last : blocks[0]));
        if (event) figure.event = event;
        figure.at = event ? event.index + 1 : figure.moment(at);
        return figure;
    };

    // Steps between two barriers of the block, one list a phase.
    lab.phases = ({ shown }) => {
        const ends = [...shown.barriers, shown.to];
        return ends.map((end, i) => ({ from: i ? ends[i - 1] : shown.from, to: end }));
    };
    // What each thread adds up in some steps: where it writes, and the other words that it has read before in these steps.
    lab.additions = ({ model }, from, to) => {
        const [found, reads] = [[], new Map()];
        for (let i = from; i < to; i += 1) {
            const step = model.steps[i];
            for (const { lane, cell } of step.reads) {
                const thread = step.warp * 32 + lane;
                reads.set(thread, [...(reads.get(thread) || []), cell]);
            }
            for (const { lane, cell, version } of step.writes) {
                const thread = step.warp * 32 + lane;
                found.push({ step, thread, lane, cell, version, sources: [...new Set(reads.get(thread) || [])] });
                reads.delete(thread);
            }
        }
        return found;
    };
    // How far apart two words are that a thread adds; 0 if it adds none.
    lab.distance = (additions) => {
        const apart = new Set(additions.flatMap(({ cell, sources }) => sources.filter((one) => one !== cell).map((one) => Math.abs(one - cell))));
        return apart.size === 1 ? [...apart][0] : 0;
    };
})();
