// What a lab tells when it is asked: the registers of a lane, what a count is made of, the steps of a fault, an input by hand, the
// lanes as a table. Each is held to the run itself.
const settled = (page) => page.waitForTimeout(80);
const answered = (page, was) => page.waitForFunction((was) => document.querySelector(".lab").labFigure.reply !== window[was] && !document.querySelector(".lab[aria-busy]"), was, { timeout: 20000 });
const remember = (page, name) => page.evaluate((name) => { window[name] = document.querySelector(".lab").labFigure.reply; }, name);
const hash = (page) => page.evaluate(() => location.hash);

// Names: what the run leaves in a register that is called `tid` is the thread, `n` the number of elements, wherever a lane stands.
const wrongNames = (page) => page.evaluate(() => {
    const { model, shown, view, chosen, at } = document.querySelector(".lab").labFigure;
    const lab = reductionLab;
    let [seen, problem] = [0, ""];
    for (const moment of [0.2, 0.5, 0.8, 1].map((part) => shown.from + Math.round(part * (shown.to - shown.from)))) {
        view.seek(moment);
        for (let thread = 0; thread < model.threads; thread += 7) {
            const [warp, lane] = [thread >> 5, thread & 31];
            const { names } = lab.registers(model, shown, moment, warp, lane);
            for (const { name, value, function: of } of lab.variables(model, view, names, warp, lane)) {
                const wanted = { tid: thread, n: chosen.n, block: shown.block }[name];
                if (wanted === undefined || value === null || typeof value === "bigint") continue;
                seen += 1;
                if (value !== wanted) problem = `${name} of ${of} is said to be ${value} in thread ${thread}, it is ${wanted}`;
            }
        }
    }
    view.seek(at);
    const wants = Object.values(model.variant.names[model.launch.kernel]).some(([name]) => name === "tid");
    return { seen, problem: problem || (wants && !seen ? "no lane sees its tid" : "") };
});

const registers = async (page, told) => {
    const { problem } = await wrongNames(page);
    if (problem) told(problem);
    const shown = () => page.locator(".lab .lab-registers").first().isVisible();
    await page.locator(".lab .lab-stage").focus();
    await page.keyboard.press("Enter");
    await settled(page);
    if (!(await shown())) return told("Enter on the stage shows no registers");
    const lane = () => page.evaluate(() => { const { lane } = document.querySelector(".lab").labFigure; return lane && lane.warp * 32 + lane.lane; });
    const before = await lane();
    await page.keyboard.press("ArrowRight");
    if ((await lane()) !== before + 1) told("an arrow does not go to the next lane");
    await page.waitForTimeout(400);
    if (!(await hash(page)).includes("lane=")) told("the lane is not in the address");
    await page.keyboard.press("Escape");
    if (await shown()) told("Escape does not close the registers");
    const box = await page.evaluate(() => { const { stage } = document.querySelector(".lab").labFigure; const l = stage.layout; return { x: l.x(3) + l.column / 2, y: l.warpTop(0) + l.warpHeight / 2 }; });
    await page.locator(".lab .lab-stage").click({ position: box });
    await settled(page);
    if ((await lane()) !== 3) told("a click on a lane does not show its registers");
    await page.locator(".lab .lab-registers .lab-small").first().click();
};

const counts = async (page, told) => {
    for (const button of await page.locator(".lab .lab-count button").all()) {
        await button.click();
        await settled(page);
        const sum = await page.evaluate(() => { const { made, counted, totalsShown } = document.querySelector(".lab").labFigure; return { counted, made: made.lines.reduce((all, { amount }) => all + amount, 0), total: totalsShown[counted] }; });
        if (sum.made !== sum.total) told(`${sum.counted}: the lines make up ${sum.made} of ${sum.total}`);
        const first = page.locator(".lab .lab-made [data-step]").first();
        if (!(await first.count())) { if (sum.total) told(`${sum.counted}: no step is listed`); await button.click(); continue; }
        await first.click();
        await settled(page);
        const step = await page.evaluate(() => { const figure = document.querySelector(".lab").labFigure; return { at: figure.at - figure.shown.from, added: reductionLab.adds(figure.model, figure.model.steps[figure.at - 1])[figure.counted] }; });
        if (String(step.at) !== (await first.getAttribute("data-step")) || !step.added) told(`${sum.counted}: a step of the list leads elsewhere`);
        await button.click();
    }
};

const faults = async (page, slug, told) => {
    await page.evaluate((slug) => { location.hash = `#lab=${slug}&at=fault`; }, slug);
    await page.waitForFunction((slug) => document.querySelector(".lab").labFigure.answered === `#lab=${slug}&at=fault`, slug, { timeout: 20000 });
    const keys = await page.locator(".lab .lab-fault [data-key]").evaluateAll((all) => all.map((one) => one.dataset.key));
    if (keys.join() !== "faultAccess,faultOther,faultWanted") told(`the jumps of a fault are ${keys.join() || "none"}`);
    const want = await page.evaluate(() => { const { tied, shown, model } = document.querySelector(".lab").labFigure; return tied && { from: shown.from, steps: [tied.index, tied.other, tied.wanted], lines: [tied.fault.line, tied.fault.other.line], got: [tied.index, tied.other].map((index) => model.code[model.steps[index].pc].line), writes: model.steps[tied.wanted].writes.some(({ cell }) => cell === tied.cell) }; });
    if (!want) return told("a fault has no steps");
    if (want.lines.join() !== want.got.join()) told(`a fault of lines ${want.lines} is shown at lines ${want.got}`);
    if (!want.writes) told("the write that a read should see does not write there");
    for (const [place, key] of keys.entries()) {
        await page.locator(`.lab .lab-fault [data-key="${key}"]`).click();
        await settled(page);
        const at = await page.evaluate(() => document.querySelector(".lab").labFigure.at);
        if (at !== want.steps[place] + 1) told(`${key} leads to step ${at}, not ${want.steps[place] + 1}`);
    }
    // Lanes part only from the line of the race on.
    const early = await page.evaluate(() => {
        const { model, variant } = document.querySelector(".lab").labFigure;
        const past = new Set();
        return model.recorded.filter((step) => {
            if (model.code[step.pc].line === variant.parts_from) past.add(step.warp);
            return !past.has(step.warp) && model.code[step.pc].isBarrier && reductionLab.count(step.active) < 32;
        }).length;
    });
    if (early) told(`lanes come to ${early} barriers apart before the line from which they may`);
};

const input = async (page, told) => {
    await page.locator(".lab .lab-input summary").click();
    const field = page.locator(".lab .lab-numbers");
    for (const bad of ["", "5 x 7", "1.5 2", "1.5e3", "1000", "9 ".repeat(65)]) {
        await field.fill(bad);
        await field.press("Enter");
        if (!(await page.locator(".lab .lab-wrong").textContent())) told(`“${bad.slice(0, 8)}” is taken for an input`);
    }
    await remember(page, "before");
    await field.fill("100, -50 7");
    await field.press("Enter");
    await answered(page, "before");
    const got = await page.evaluate(() => {
        const { chosen, expected, reply } = document.querySelector(".lab").labFigure;
        const first = [0, 1, 2].map((i) => reductionLab.element(chosen.n, i));
        // The shares of a row add up to 1, what a layer norm makes of it to 0, but for their rounding.
        const total = { Shares: chosen.rows, Norms: 0 }[reductionLab.ofRows(chosen)];
        return { given: chosen.given, expected, plain: reductionLab.expected({ n: chosen.n }), first, total, launches: reply.json.launches.length };
    });
    const sum = String(got.expected).split(",").reduce((a, b) => a + Number(b), 0);
    const isSum = got.total === undefined ? sum === got.plain + 57 - got.first.reduce((a, b) => a + b) : Math.abs(sum - got.total) < 1e-3;
    if (String(got.given) !== "100,-50,7" || !isSum) told("numbers by hand are not summed");
    await page.waitForTimeout(400);
    if (!(await hash(page)).includes("in=100.-50.7")) told("numbers by hand are not in the address");
    await remember(page, "before");
    await page.locator(".lab .lab-input-back").click();
    await page.waitForFunction(() => !document.querySelector(".lab").labFigure.chosen.given, null, { timeout: 20000 });
    await page.locator(".lab .lab-input summary").click();
};

const table = async (page, told) => {
    await page.locator(".lab .lab-lanes-table summary").click();
    await settled(page);
    const rows = await page.locator(".lab .lab-lanes-table tbody tr").count();
    if (rows !== 32) told(`the table of lanes has ${rows} rows`);
    await page.locator(".lab .lab-lanes-table tbody button").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await settled(page);
    const lane = await page.evaluate(() => document.querySelector(".lab").labFigure.lane?.lane);
    if (lane !== 2) told("arrows and Enter in the table do not show a lane's registers");
    await page.keyboard.press("Enter");
    await page.locator(".lab .lab-lanes-table summary").click();
};

// Every type and operator that the kernel has comes to what is right, and the numbers of a block's sum are in it once each.
const kinds = async (page, slug, told) => {
    const all = await page.evaluate(() => reductionLab.kindsOf(document.querySelector(".lab").labFigure.variant));
    for (const { type, op } of all.slice(1)) {
        await remember(page, "before");
        await page.evaluate(({ type, op }) => document.querySelector(".lab").labFigure.open({ type, op, n: 256, schedule: "independent" }), { type, op });
        await answered(page, "before");
        const got = await page.evaluate(() => {
            const figure = document.querySelector(".lab").labFigure;
            figure.go(figure.shown.to);
            const held = figure.model.resultCell >= 0 && figure.model.blocks.length === 1 && !figure.model.replay.isPartial && figure.view.cell(figure.model.resultCell);
            return { result: figure.result, expected: figure.expected, shown: held ? held.shown : null, isRacy: figure.model.isRacy };
        });
        if (got.result !== got.expected) told(`${type} ${op}: ${got.result} in place of ${got.expected}`);
        if (got.shown !== null && got.shown !== got.result) told(`${type} ${op}: the stage shows ${got.shown} in place of ${got.result}`);
    }
    if (all.length < 2) return;
    await page.waitForTimeout(400);
    if (!/&t=/.test(await hash(page))) told("type and operator are not in the address");
    await remember(page, "before");
    await page.evaluate(() => document.querySelector(".lab").labFigure.open({ type: "i32", op: "sum" }));
    await answered(page, "before");
};

// How long a step takes with a thousand threads and the registers of a lane, in ms.
const large = async (page, measured, slug) => {
    const has = await page.evaluate(() => { const figure = document.querySelector(".lab").labFigure; const one = figure.variant.cases.find(({ n, block }) => n === 2048 && block === 1024) || figure.variant.cases.find(({ n, block }) => n === 1024 && block === 1024); if (one) figure.open({ n: one.n, block: 1024, schedule: "independent", lane: "31:0" }); window.before = figure.reply; return Boolean(one); });
    if (!has) return;
    await answered(page, "before");
    measured[`${slug} 1024 threads`] = await page.evaluate(() => {
        const figure = document.querySelector(".lab").labFigure;
        const times = [];
        for (let i = 0; i < 9; i += 1) { figure.next(); times.push(figure.measured.draw); }
        return { steps: times.sort((a, b) => a - b).map((ms) => Math.round(ms * 10) / 10) };
    });
};

export const inspect = async (page, slug, { told, measured }) => {
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await registers(page, told);
    await counts(page, told);
    await table(page, told);
    await input(page, told);
    await kinds(page, slug, told);
    if (await page.evaluate(() => Boolean(document.querySelector(".lab").labFigure.variant.parts_from))) await faults(page, slug, told);
    // With everything open, nothing is wider than the window.
    await page.evaluate(() => { for (const fold of document.querySelectorAll(".lab details")) fold.open = true; });
    await page.locator(".lab .lab-count button").first().click();
    await settled(page);
    if ((await wide()) > 0) told(`with its folds open the page is ${await wide()} px wider than the window`);
    await page.evaluate(() => { for (const fold of document.querySelectorAll(".lab details")) fold.open = false; });
    await page.locator(".lab .lab-made .lab-small").first().click();
    await large(page, measured, slug);
};
