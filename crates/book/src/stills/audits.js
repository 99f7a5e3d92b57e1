// Audits the opening run of every lab that is chosen, and one with several blocks if it has that. Then plants lies, which the audit must
// find.
(() => {
    "use strict";
    const lab = reductionLab;
    // Single instructions are read in a browser, which is faster.
    const GRAINS = ["round", "line"];
    const opened = (slug, variant, { n, block, grid, ranks }, schedule) => lab.open({ slug, v: variant.name, n, b: block, g: grid || null, r: ranks, s: schedule, at: "end" });
    const runs = (slug) => {
        const { variants, opening } = lab.dataOf(slug);
        const variant = variants.find(({ name }) => name === opening.variant);
        // On several devices each kernel has events of its own.
        if (opening.ranks) return [opening, ...variants].map((one) => opened(slug, one.cases ? one : variant, one.cases ? one.cases[0] : one, one.schedule || "independent:5"));
        const hasBlocks = ({ launches, shown, n }) => n <= 512 && launches[shown].grid[0] > 1 && launches[shown].grid[0] <= 4;
        const other = variants.findLast(({ cases }) => cases.some(hasBlocks));
        const several = other && opened(slug, other, other.cases.find(hasBlocks), "independent");
        return [opened(slug, variant, opening, opening.schedule), ...(several ? [several] : [])];
    };
    const first = new Map();
    const told = labs.map((slug) => {
        const figures = runs(slug);
        first.set(slug, figures[0]);
        const all = chosen.includes(slug) ? figures.map((figure) => lab.audit(figure, GRAINS)) : [];
        return { slug, count: all.reduce((sum, { count }) => sum + count, 0), problems: all.flatMap(({ problems }) => problems) };
    }).filter(({ slug }) => chosen.includes(slug));
    // Each a lab, a part of its sentences, and the lie to put there.
    const lies = [
        ["ch12-norms", /of (weights|biases) from/, "of of_blocks from"], ["ch12-norms", /bring [\d,]+ numbers/, "bring 7 numbers"],
        ["ch12-norms", /Threads 0 to 31/, "Threads 0 to 30"], ["ch11-softmax", /[\d,]+ exponentials/, "999,999 exponentials"],
        ["ch11-softmax", /differ by 4, 2 and 1/, "differ by 8, 2 and 1"], ["ch03-sequential", /add sums\[t \+ 64\]/, "add sums[t + 63]"],
        ["ch03-sequential", /read(s?) sums\[0\]/, "write$1 1 word of sums, in shared memory"], ["ch11-softmax", / register to register\./, " register to register. Line 1 sets sum."],
        ["ch11-softmax", /of out, in global memory/, "of out, in shared memory"], ["ch10-rows", /^(.*)$/, "$1 No memory is touched."],
        ["ch14-all-reduce", /of rank 0's stage/, "of rank 1's stage"],
    ];
    const say = lab.say;
    const noticed = lies.map(([slug, truth, lie]) => {
        lab.say = (...beat) => { const said = say(...beat); return { ...said, text: said.text.replace(truth, lie) }; };
        const { problems } = lab.audit(first.get(slug), GRAINS.slice(0, 1));
        lab.say = say;
        return { lie: `${slug}: ${truth}`, found: problems.length };
    });
    // Events between ranks have sentences of their own.
    const said = lab.rankSentence;
    for (const [truth, lie] of [[/memory of rank \d/, "memory of rank 7"], [/\d+ sums/, "7 sums"], [/none from rank \d/, "none from rank 7"]]) {
        lab.rankSentence = (...event) => { const { text, ...rest } = said(...event); return { ...rest, text: text.replace(truth, lie) }; };
        noticed.push({ lie: `ch14-all-reduce: ${truth}`, found: lab.audit(first.get("ch14-all-reduce"), []).problems.length });
    }
    lab.rankSentence = said;
    return JSON.stringify({ labs: told, lies: noticed });
})();
