// One program, a hundred orders: the results of many seeds as dots, each of which opens its run.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const SEEDS = 100;

    const dot = (figure, seed, result, isRight) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = isRight ? "lab-dot lab-dot-right" : "lab-dot lab-dot-wrong";
        button.setAttribute("aria-label", text(isRight ? "seedRight" : "seedWrong", { seed, result }));
        button.title = button.getAttribute("aria-label");
        button.dataset.seed = seed;
        button.addEventListener("click", () => figure.open({ schedule: `independent:${seed}${figure.partsFrom()}`, at: "fault" }));
        return button;
    };

    const group = (figure, name, runs, isRight) => {
        const row = document.createElement("div");
        row.className = "lab-dots";
        row.setAttribute("role", "group");
        const label = document.createElement("span");
        label.className = isRight ? "right-mark" : "wrong-mark";
        label.textContent = name;
        const dots = document.createElement("span");
        dots.append(...runs.map(({ seed, result }) => dot(figure, seed, result, isRight)));
        row.append(label, dots);
        return row;
    };

    // Asks for all seeds of the case that is chosen, and fills `place`.
    lab.runSeeds = async (figure, place) => {
        const { variant, chosen } = figure;
        const request = lab.request(figure.played, chosen, "independent", { seeds: SEEDS, check: "all", ...(variant.parts_from ? { seeds_line: variant.parts_from } : {}) });
        const { json } = await lab.ask(request);
        const expected = lab.expected(chosen);
        const brief = (result) => (chosen.of ? lab.oneOf(result, expected).result : result);
        const wrongOnes = (result) => String(result).split(",").filter((one, i) => one !== String(expected).split(",")[i]).length;
        const runs = json.seeds.map(({ outputs, faults }, seed) => ({ seed, result: lab.result(chosen, { outputs }), isFaulty: Object.keys(faults).length > 0 }));
        const isRight = ({ result }) => result === lab.expected(chosen, result);
        const [right, wrong] = [runs.filter(isRight), runs.filter((run) => !isRight(run))];
        wrong.sort((a, b) => brief(a.result) - brief(b.result));
        for (const run of runs) run.result = chosen.ranks ? text("rankWrong", { wrong: wrongOnes(run.result), count: String(expected).split(",").length }) : brief(run.result);
        const head = document.createElement("p");
        head.textContent = lab.join("sentences", [text(chosen.ranks ? "rankSeedsHead" : "seedsHead", { count: SEEDS, right: right.length, wrong: wrong.length, expected: brief(expected), faulty: runs.filter((run) => run.isFaulty).length }), text("seedsHint")]);
        place.replaceChildren(head, group(figure, `✓ ${right.length}`, right, true), group(figure, `✗ ${wrong.length}`, wrong, false));
        place.hidden = false;
        place.scrollIntoView({ block: "nearest" });
    };
})();
