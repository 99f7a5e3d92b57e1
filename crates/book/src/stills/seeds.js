// One program under a hundred schedules: the sum that each gives, as the lab's "Run 100 seeds" finds them.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;
    const SEEDS = 100;
    const ALL = { check: "all", seeds: SEEDS };

    const diamond = (pen, x, y, r) => {
        pen.beginPath();
        pen.moveTo(x - r, y);
        for (const [right, down] of [[0, -r], [r, 0], [0, r]]) pen.lineTo(x + right, y + down);
        pen.fillStyle = inks.right;
        pen.fill();
    };
    const cross = (pen, x, y, r) => {
        for (const way of [1, -1]) pen.line([[x - r, y - way * r], [x + r, y + way * r]], { colour: inks.problem, thick: 2 });
    };

    lab.still("hundred-seeds", () => {
        const { opening } = lab.dataOf("ch05-unroll");
        const figure = lab.open({ slug: "ch05-unroll", v: opening.variant, n: opening.n, b: opening.block, s: opening.schedule });
        const { variant, chosen, expected } = figure;
        const { json } = lab.simulated(lab.request(variant, chosen, "independent", { ...ALL, seeds_line: variant.parts_from }));
        const sums = json.seeds.map(({ outputs }) => lab.result(chosen, { outputs }));
        const right = sums.filter((sum) => sum === expected).length;
        const [least, most] = [Math.min(...sums), Math.max(...sums)];
        const said = { name: variant.name, n: chosen.n, count: SEEDS, right, wrong: SEEDS - right, expected, least, most };
        return lab.picture({ title: text("seedsTitle", said), description: text("seedsSaid", said), to: [figure, figure.at - figure.shown.from], draw: (pen, narrow) => {
            const left = narrow ? 50 : 62;
            const size = narrow ? 12.5 : 14;
            let top = pen.note(text("seedsTop", said), 0, 10, 0.88 * pen.width, { size, bold: true }) + 14;
            const r = narrow ? 2.6 : 4;
            diamond(pen, r + 2, top, r * 1.2);
            pen.words(text("seedsRight", said), 16, top, { size, colour: inks.right });
            const second = narrow ? 110 : 130;
            cross(pen, second + r, top, r);
            pen.words(text("seedsWrong", said), second + 16, top, { size, colour: inks.problem });
            top += 20;
            const height = narrow ? 230 : 270;
            const [low, high] = [Math.log10(least) - 0.05, Math.log10(most) + 0.05];
            const [x, y] = [(seed) => left + 8 + ((pen.width - left - 16) * seed) / (SEEDS - 1), (sum) => top + height * (1 - (Math.log10(sum) - low) / (high - low))];
            const level = (sum, colour, bold) => {
                pen.line([[left, y(sum)], [pen.width, y(sum)]], { colour: bold ? colour : inks.line, thick: 1 });
                pen.words(lab.number(sum), left - 8, y(sum), { align: "right", size: 12, bold, colour });
            };
            for (let power = Math.floor(low); power <= high; power += 1) for (const first of [1, 3]) {
                const sum = first * 10 ** power;
                if (sum >= least && sum <= most && Math.abs(y(sum) - y(expected)) > 18) level(sum, inks.soft);
            }
            level(expected, inks.right, true);
            sums.forEach((sum, seed) => (sum === expected ? diamond(pen, x(seed), y(sum), r * 1.2) : cross(pen, x(seed), y(sum), r * 0.9)));
            const below = top + height + 14;
            pen.words(text("seedsAxis", { last: SEEDS - 1 }), pen.width, below, { align: "right", size: 12, colour: inks.soft });
            return below + 10;
        } });
    });
})();
