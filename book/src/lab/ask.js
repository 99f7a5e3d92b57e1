// Beside the run: a guess before the next round is shown.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    // A button that is on or off.
    const toggle = lab.toggle = (name, act) => {
        const button = make("button", `lab-button lab-${name}`, { type: "button", textContent: text(name) });
        button.setAttribute("aria-pressed", "false");
        button.addEventListener("click", () => {
            const isOn = button.getAttribute("aria-pressed") !== "true";
            button.setAttribute("aria-pressed", String(isOn));
            act(isOn, button);
        });
        return button;
    };

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
})();
