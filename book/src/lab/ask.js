// Two things beside the run: a guess before the next round is shown, and another kernel's run beside this one.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const make = (tag, className, more = {}) => Object.assign(document.createElement(tag), { className, ...more });
    const toggle = (name, act) => {
        const button = make("button", `lab-button lab-${name}`, { type: "button", textContent: text(name) });
        button.setAttribute("aria-pressed", "false");
        button.addEventListener("click", () => {
            const isOn = button.getAttribute("aria-pressed") !== "true";
            button.setAttribute("aria-pressed", String(isOn));
            act(isOn, button);
        });
        return button;
    };

    // ---- Predict first.

    const workers = (model, steps) => {
        const threads = new Set();
        for (const step of steps) {
            if (step.reads.length || step.writes.length || step.sources) lab.lanes(step.reach || step.active, (lane) => threads.add(step.warp * 32 + lane));
        }
        return threads.size;
    };
    // What is asked of the steps that come next, and its answer.
    const question = ({ model, totals }, steps) => {
        if (totals.conflicts > 0 && lab.busiest(steps) > 0) return { key: "askPasses", answer: lab.busiest(steps) };
        const adders = lab.adders(model, steps);
        return adders ? { key: "askAdds", answer: adders } : { key: "askThreads", answer: workers(model, steps) };
    };

    lab.predict = (figure) => {
        const { parts } = figure;
        const place = parts.predict = make("form", "lab-ask", { hidden: true, noValidate: true });
        const label = make("label", "");
        const words = make("span", "");
        const input = make("input", "lab-guess", { type: "number", min: 0, inputMode: "numeric" });
        input.setAttribute("aria-label", text("guess"));
        const verdict = make("p", "lab-verdict");
        verdict.setAttribute("aria-live", "polite");
        label.append(words, " ", input);
        place.append(label, make("button", "lab-button", { type: "submit", textContent: text("check") }), verdict);
        place.addEventListener("submit", (event) => {
            event.preventDefault();
            if (input.value === "" || !figure.shown) return;
            const { answer } = figure.asks;
            const isRight = Number(input.value) === answer;
            figure.score.asked += 1;
            figure.score.right += isRight ? 1 : 0;
            verdict.className = `lab-verdict ${isRight ? "right-mark" : "wrong-mark"}`;
            verdict.textContent = `${text(isRight ? "answerRight" : "answerWrong", { answer, guess: Number(input.value) })} ${text("score", figure.score)}`;
            input.value = "";
            figure.next();
        });
        figure.score = { asked: 0, right: 0 };
        // The question of the moment; at the end there is none.
        figure.ask = () => {
            if (!figure.predicts || !figure.shown) return;
            const isOver = figure.at >= figure.shown.to;
            label.hidden = isOver;
            place.querySelector("button").hidden = isOver;
            if (isOver) return;
            figure.asks = question(figure, figure.model.steps.slice(figure.at, figure.end(figure.grain, figure.at)));
            words.textContent = text(figure.asks.key);
        };
        return toggle("predict", (isOn) => {
            figure.stop();
            figure.predicts = isOn;
            place.hidden = !isOn;
            verdict.textContent = "";
            if (isOn) {
                figure.grain = "round";
                lab.settings(figure);
            }
            figure.draw();
            if (isOn) input.focus();
        });
    };

    // ---- Compare.

    const row = (name, values) => {
        const line = make("tr", "");
        line.append(make("th", "", { textContent: text(name), scope: "row" }));
        const least = Math.min(...values);
        for (const value of values) {
            const cell = make("td", "");
            cell.append(make(value === least && values.some((other) => other !== least) ? "b" : "span", "", { textContent: lab.number(value) }));
            line.append(cell);
        }
        return line;
    };

    // Runs another kernel of the page on the same input and puts its counts and its time line beside this one's.
    const fill = async (figure, place, name) => {
        const other = await lab.ofKind(figure.data, figure.data.variants.find((one) => one.name === name), figure.kind);
        const chosen = lab.withInput(lab.caseOf(other, lab.nearest(lab.casesOf(other, figure.kind), figure.chosen)), figure.chosen.given);
        const trace = lab.traced(chosen) ? { trace: { launch: chosen.shown, blocks: 1 } } : {};
        const answer = await lab.ask(lab.request(other, chosen, figure.schedule, trace));
        const totals = lab.totals(answer.json.launches);
        const head = make("tr", "");
        head.append(make("th", "", { textContent: text("wholeRun") }));
        for (const words of [figure.variant.name, name]) head.append(make("th", "", { textContent: words, scope: "col" }));
        const table = make("table", "lab-table");
        const body = make("tbody", "");
        body.append(head, ...Object.keys(totals).filter((key) => totals[key] || figure.totals[key]).map((key) => row(key, [figure.totals[key], totals[key]])));
        table.append(body);
        const parts = [table];
        if (answer.json.launches[chosen.shown].trace && figure.shown) {
            const model = lab.model(figure.data, other, chosen, answer);
            lab.tieFaults(model);
            const canvas = make("canvas", "lab-other");
            canvas.setAttribute("role", "img");
            canvas.setAttribute("aria-label", name);
            parts.unshift(make("p", "lab-caption", { textContent: name }), canvas);
            figure.other = { model, timeline: new lab.Timeline(canvas) };
        }
        place.querySelector(".lab-beside").replaceChildren(...parts);
        figure.draw();
    };

    lab.compare = (figure) => {
        const place = figure.parts.compare = make("div", "lab-compare", { hidden: true });
        const open = async (isOn, button) => {
            place.hidden = !isOn;
            figure.other = null;
            if (!isOn) {
                figure.draw();
                return;
            }
            const others = figure.data.variants.filter((one) => one !== figure.variant && lab.kindsOf(one).some(({ type, op }) => type === figure.kind.type && op === figure.kind.op));
            const select = make("select", "lab-select");
            select.setAttribute("aria-label", text("with"));
            for (const one of others) select.append(new Option(one.name, one.name));
            // A version of the reader's is compared with what it was made from.
            select.value = figure.variant.of || select.value;
            const label = make("label", "", { textContent: `${text("with")} ` });
            label.append(select);
            place.replaceChildren(others.length ? label : text("none"), make("div", "lab-beside"));
            const run = () => fill(figure, place, select.value).catch((error) => { place.textContent = text("failed", { message: error.message }); });
            select.addEventListener("change", run);
            button.disabled = true;
            if (others.length) await run();
            button.disabled = false;
        };
        const button = toggle("compare", open);
        // Another run of this kernel is compared anew.
        figure.compared = () => { if (!place.hidden) open(true, button); };
        return button;
    };
})();
