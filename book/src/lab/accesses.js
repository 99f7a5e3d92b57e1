// What a number among the counts is made of: the lines and the steps that added to it, each a jump to that step. They are marked
// under the time line.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;

    // What one step adds to each count.
    lab.adds = (model, step) => {
        if (step.counted) return step.counted;
        const code = model.code[step.pc];
        const adds = { barriers: code.isBarrier ? 1 : 0, shuffles: code.kind === "shuffle" ? 1 : 0, passes: 0, conflicts: 0, sectors: 0, instructions: 1 };
        for (const access of step.accesses) {
            if (access.space === "shared" && (code.kind === "load" || code.kind === "store")) {
                adds.passes += access.passes;
                adds.conflicts += access.conflicts;
            }
            if (access.space === "global" && code.kind === "load") adds.sectors += access.sectors;
        }
        return (step.counted = adds);
    };

    // Steps of a block that add to a count, by line, the largest share first.
    lab.madeOf = (model, from, to, name) => {
        const lines = new Map();
        let total = 0;
        for (let index = from; index < to; index += 1) {
            const step = model.steps[index];
            const amount = lab.adds(model, step)[name];
            if (!amount) continue;
            const { line } = model.code[step.pc];
            if (!lines.has(line)) lines.set(line, { line, amount: 0, steps: [] });
            const one = lines.get(line);
            one.amount += amount;
            one.steps.push({ index, amount });
            total += amount;
        }
        return { total, lines: [...lines.values()].sort((a, b) => b.amount - a.amount || a.line - b.line) };
    };

    // To one step, which is then all that the stage shows.
    lab.jump = (figure, index) => {
        figure.stop();
        if (figure.grain !== "instruction") {
            figure.grain = "instruction";
            lab.settings(figure);
        }
        figure.go(index + 1);
    };

    const STEPS_MAX = 24;
    const jumps = (figure, { steps, line }) => {
        const list = make("ul", "lab-jumps");
        const { model, shown } = figure;
        for (const { index, amount } of steps.slice(0, STEPS_MAX)) {
            const step = model.steps[index];
            const values = { step: index - shown.from + 1, warp: step.warp, amount, count: lab.count(step.active) };
            const button = make("button", "lab-small", { type: "button", textContent: text("jumpStep", values) });
            button.dataset.step = index - shown.from + 1;
            button.addEventListener("click", () => lab.jump(figure, index));
            const item = make("li", "");
            item.append(button);
            list.append(item);
        }
        if (steps.length > STEPS_MAX) list.append(make("li", "", { textContent: text("moreSteps", { count: steps.length - STEPS_MAX, line }) }));
        return list;
    };

    // The steps that are marked under the time line: those of the count that is open.
    lab.marked = (figure) => (figure.counted && figure.made ? figure.made.lines.flatMap(({ steps }) => steps.map(({ index }) => index)) : []);

    // Fills the panel of the count that was chosen.
    lab.showMade = (figure) => {
        const { parts, counted, model, shown, variant, data } = figure;
        const place = parts.made;
        place.hidden = !counted || !shown;
        if (place.hidden) return;
        // What is to come is hidden while it is asked for.
        const to = figure.predicts ? figure.at : shown.to;
        const key = `${figure.turn}|${shown.block}|${counted}|${to}`;
        if (place.dataset.key !== key) {
            place.dataset.key = key;
            const made = (figure.made = lab.madeOf(model, shown.from, to, counted));
            const source = data.files[variant.source].split("\n");
            const title = make("h4", "lab-title", { textContent: text(model.chosen.ranks ? "rankMadeOf" : "madeOf", { name: text(counted), total: made.total, block: shown.block, who: lab.rankName(model.chosen, shown.block) }) });
            const close = make("button", "lab-small", { type: "button", textContent: text("close") });
            close.addEventListener("click", () => lab.chooseCount(figure, counted));
            title.append(" ", close);
            place.replaceChildren(title, ...made.lines.map((one, i) => {
                const fold = make("details", "lab-line-made", { open: i === 0 });
                const values = { amount: one.amount, total: made.total, share: Math.round((100 * one.amount) / made.total), line: one.line };
                const head = make("summary", "", { textContent: `${text(one.line ? "madeLine" : "madeNoLine", values)} ` });
                if (one.line) head.append(make("code", "", { textContent: (source[one.line - 1] || "").trim() }));
                fold.append(head, jumps(figure, one));
                return fold;
            }));
        }
        for (const button of place.querySelectorAll("[data-step]")) button.toggleAttribute("aria-current", Number(button.dataset.step) === figure.at - shown.from);
    };

    lab.chooseCount = (figure, name) => {
        figure.counted = figure.counted === name ? null : name;
        figure.made = null;
        figure.parts.made.dataset.key = "";
        figure.draw();
        figure.parts.counts.querySelector(`[data-name="${name}"] button`)?.focus();
    };
})();
