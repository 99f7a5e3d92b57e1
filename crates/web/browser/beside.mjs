// Two kernels side by side: they step together by round, each to its own end, and what is counted is what the simulator counted.
// Drawing is most of the work. What was drawn before is not drawn again: on later walks the own run's stage, which knows nothing of the
// other run, and on the way back everything but its end.
const walk = (page, isFirst) => page.evaluate((isFirst) => {
    const figure = document.querySelector(".lab").labFigure;
    const { other, shown } = figure;
    const through = () => {
        const block = other.model.blocks.find((one) => one.block === shown.block) || other.model.blocks[0];
        const own = shown.ends.round;
        const most = Math.max(own.length, block.ends.round.length);
        figure.go(shown.from);
        for (let round = 0; round <= most; round += 1) {
            const wanted = round ? block.ends.round[Math.min(round, block.ends.round.length) - 1] : block.from;
            if (block.view.at !== wanted) return `after round ${round} the other run stands at ${block.view.at}, and should at ${wanted}`;
            if (figure.step(false) !== round < most) return `it goes on for other than ${most} rounds`;
        }
        const counts = reductionLab.counts(other.model, block.from, block.to);
        const shownCounts = [...document.querySelectorAll(".lab-beside td:last-child")].map((one) => Number(one.firstChild.textContent.replaceAll(",", "")));
        const names = Object.keys(other.totals).filter((key) => other.totals[key] || figure.totals[key]);
        if (names.some((name, i) => counts[name] !== shownCounts[i])) return `counts ${shownCounts} stand beside, and ${names.map((name) => counts[name])} were counted`;
        const isWhole = other.model.blocks.length === 1 && names.some((name) => counts[name] !== other.totals[name]) && other.launches === 1;
        if (isWhole) return "the end of the other run has not all its counts";
        if (document.querySelectorAll(".lab-beside tr").length < 3) return "no counts stand beside";
        figure.draw = () => {};
        while (figure.step(true));
        delete figure.draw;
        figure.draw();
        return figure.at !== shown.from || figure.beyond || block.view.at !== block.from ? "going back does not end at the start" : "";
    };
    if (!other?.model) return figure.shown ? "the other run is not drawn" : "";
    if (!isFirst) figure.stage.draw = () => {};
    const problem = through();
    delete figure.stage.draw;
    return problem;
}, isFirst);

// Every kernel that is offered, one after the other.
export const beside = async (page, told) => {
    const select = page.locator(".lab-compare select");
    if (!(await select.count())) return;
    const before = await page.evaluate(() => document.querySelector(".lab").labFigure.at);
    let isFirst = true;
    for (const value of await select.evaluate((one) => [...one.options].map(({ value }) => value))) {
        await page.evaluate(() => { window.other = document.querySelector(".lab").labFigure.other; });
        if ((await select.inputValue()) !== value) {
            await select.selectOption(value);
            await page.waitForFunction(() => { const { other } = document.querySelector(".lab").labFigure; return other && other !== window.other; }, null, { timeout: 20000 });
        }
        const problem = await walk(page, isFirst);
        isFirst = false;
        if (problem) told(`beside ${value}: ${problem}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) told(`with two runs the page is ${wide} px wider than the window`);
    const sides = await page.evaluate(() => [...document.querySelectorAll(".lab-side")].map((one) => one.getBoundingClientRect().left));
    const isNarrow = await page.evaluate(() => innerWidth < 600);
    if ((sides[0] === sides[1]) !== isNarrow) told(isNarrow ? "two runs stand side by side on a phone" : "two runs do not stand side by side");
    await page.evaluate((at) => document.querySelector(".lab").labFigure.go(at), before);
};
