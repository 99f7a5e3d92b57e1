// Thirty steps by line, ten by each other grain: neither the sentence nor the buttons nor the picture moves, and sentence, current line
// and buttons are on the screen together, all the time.
export const steady = (page, told) => page.evaluate(() => {
    const lab = document.querySelector(".lab");
    const { labFigure: figure } = lab;
    const found = new Set();
    const parts = ["say", "first", "back", "play", "next", "mark", "grains", "code", "time", "stage", "counts"];
    const boxes = () => parts.map((part) => {
        const { left, top, width, height } = lab.querySelector(`.lab-${part}`).getBoundingClientRect();
        return [left, top, width, height].map((one) => Math.round(one)).join();
    });
    lab.querySelector(".lab-deck").scrollIntoView({ block: "start" });
    for (const [grain, steps] of [["round", 10], ["line", 30], ["instruction", 10]]) {
        lab.querySelector(`[data-grain="${grain}"]`).click();
        figure.go(figure.shown.from);
        const before = boxes();
        for (let i = 0; i < steps; i += 1) {
            lab.querySelector(".lab-next").click();
            boxes().forEach((box, part) => { if (box !== before[part]) found.add(`${parts[part]} is moved by a step (${grain}): ${before[part]} to ${box}`); });
            const inside = lab.querySelector(".lab-code").getBoundingClientRect();
            const line = lab.querySelector(".lab-now").getBoundingClientRect();
            if (line.top < inside.top - 1 || line.bottom > inside.bottom + 1) found.add(`the current line is not in sight (${grain})`);
            const all = [line, lab.querySelector(".lab-say").getBoundingClientRect(), lab.querySelector(".lab-next").getBoundingClientRect(), lab.querySelector(".lab-grains").getBoundingClientRect()];
            if (Math.min(...all.map(({ top }) => top)) < 0 || Math.max(...all.map(({ bottom }) => bottom)) > innerHeight) found.add(`sentence, line and buttons do not share the screen (${grain})`);
        }
    }
    return [...found].slice(0, 4);
}).then((problems) => problems.forEach(told));
