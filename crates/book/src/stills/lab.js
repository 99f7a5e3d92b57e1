// The picture of each lab as it opens: the stage of the page, drawn by the same code, with its sentence, its line, and a description.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    const stageOn = (figure, pen) => {
        const canvas = { clientWidth: pen.width, width: 0, height: 0, style: {}, getContext: () => pen };
        const { model, view, at } = figure;
        view.seek(at);
        const steps = figure.beatSteps();
        const data = steps.filter((step) => step.reads.length || step.writes.length || step.sources);
        const stage = new (figure.chosen.ranks ? lab.RankStage : lab.Stage)(canvas);
        stage.draw(model, view, { steps, data }, { colours: lab.inks, receipt: figure.receipt(), focus: null, moving: null, between: figure.between, moment: figure });
        return stage.layout.height;
    };
    lab.Figure.prototype.beatSteps = function () {
        return this.model.steps.slice(this.begin(this.grain, this.at), this.at);
    };

    // The line of the source that most of the steps are about.
    const lineOf = ({ model, data, variant }, steps) => {
        const counts = new Map();
        for (const step of steps) {
            const { line } = model.code[step.pc];
            if (line) counts.set(line, (counts.get(line) || 0) + (step.accesses.length || step.sources ? 1000 : 1) + (step.fault ? 1e6 : 0));
        }
        const [line] = [...counts].sort((a, b) => b[1] - a[1])[0] || [];
        return line && { line, words: data.files[variant.source].split("\n")[line - 1].trim() };
    };

    // The picture in words, from the same steps.
    const described = (figure, steps) => {
        const { model, chosen, shown } = figure;
        figure.view.seek(figure.at);
        const sentences = [];
        const busy = new Map();
        for (const step of steps) if (step.reads.length || step.writes.length || step.sources) busy.set(step.warp, (busy.get(step.warp) || 0) | (step.reach || step.active));
        const counts = [...busy].map(([warp, mask]) => [warp, lab.count(mask)]).sort((a, b) => a[0] - b[0]);
        const { ranks } = chosen;
        if (ranks) sentences.push(text("describeRanks", { n: chosen.n, ranks }), ...Array.from({ length: ranks }, (_, rank) => `${text("rankTile", { who: lab.rankBegins(chosen, rank), state: text(figure.between.state(rank, figure)) })}.`));
        else sentences.push(text("describeAll", { n: chosen.n, warps: model.warps, block: shown.block, blocks: chosen.launches[chosen.shown].grid[0] }));
        const all = counts.reduce((sum, [, count]) => sum + count, 0);
        if (all) sentences.push(text("describeBusy", { all, threads: model.threads }));
        // Where every thread works, that is said already.
        for (const [warp, count] of all < model.threads ? counts : []) sentences.push(text("describeWarp", { warp, count }));
        const idle = model.warps - counts.length;
        if (idle) sentences.push(text("describeIdle", { idle }));
        const passes = lab.busiest(steps);
        if (passes) sentences.push(text(passes > 1 ? "describePasses" : "describeOnePass", { passes }));
        return sentences.join(" ");
    };

    const capped = ({ variant, chosen, shown, at, schedule, model }) => {
        const { grid } = chosen.launches[chosen.shown];
        const done = shown.ends.round.filter((end) => end <= at).length;
        const seed = /:(\d+)$/.exec(schedule);
        const key = chosen.ranks ? "stillRanks" : seed ? "stillSeed" : model.blocks.length > 1 ? "stillBlocks" : "stillOne";
        return text(key, { variant: variant.name, n: chosen.n, threads: model.threads, ranks: chosen.ranks, rank: chosen.ranks && lab.rankName(chosen, shown.block), blocks: grid[0], block: shown.block, round: done, rounds: shown.ends.round.length, seed: seed ? Number(seed[1]) : 0 });
    };

    lab.labStill = (slug) => {
        const data = lab.dataOf(slug);
        const { variant, n, block, grid, ranks, schedule, at = "poster" } = data.opening;
        const figure = lab.open({ slug, v: variant, n, b: block, g: grid, r: ranks, s: schedule, at });
        const steps = figure.beatSteps();
        const said = figure.sentence(steps);
        const line = lineOf(figure, steps);
        const picture = lab.picture({ title: text("lab", { title: data.title }), description: described(figure, steps), draw: (pen) => stageOn(figure, pen) });
        const more = said.more ? ` <span class="lab-problem">${lab.escaped(said.more)}</span>` : "";
        const sentence = said.isProblem ? `<span class="lab-problem">${lab.escaped(said.text)}</span>` : lab.escaped(said.text);
        const code = line ? `<p class="lab-still-line"><span class="lab-number">${line.line}</span> <span class="lab-still-code">${lab.escaped(line.words)}</span></p>\n` : "";
        return `<figure class="lab-still">\n<p class="lab-still-say">${sentence}${more}</p>\n${code}${picture}<figcaption>${lab.escaped(capped(figure))} <span class="lab-needs">${lab.escaped(text("needsScripts"))}</span></figcaption>\n</figure>\n`;
    };
    for (const slug of labs) lab.still(slug, () => lab.labStill(slug));
})();
