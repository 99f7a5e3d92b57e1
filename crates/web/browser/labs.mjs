// Looks at the labs of a built book in Chromium, from files: `node labs.mjs SITE EXPECTED CHROMIUM PICTURES`.
// EXPECTED is what the native simulator says of some cases. Prints a line for each problem; the status is 1 if there is one.
import { readFileSync, mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { inspect } from "./inspect.mjs";

const [site, expectedFile, executablePath, pictures] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const problems = [];
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
mkdirSync(pictures, { recursive: true });
let views = 0;
let runs = 0;
let receipts = 0;
const measured = {};

const place = (slug, hash = "") => `${pathToFileURL(`${site}/${slug}.html`)}${hash}`;
const state = (page) => page.evaluate(() => {
    const lab = document.querySelector(".lab");
    const counts = [...lab.querySelectorAll(".lab-count")].map((one) => [one.dataset.name, one.querySelector("b").textContent.replaceAll(",", "")]);
    return { say: lab.querySelector(".lab-say").textContent, counts: Object.fromEntries(counts), at: lab.querySelector(".lab-range").value, top: lab.querySelector(".lab-range").max };
});
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// A canvas that nothing was drawn on is one colour.
const isBlank = (page, name) => page.evaluate((name) => {
    const canvas = document.querySelector(`.lab .lab-${name}`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const first = data.slice(0, 4).join();
    for (let i = 0; i < data.length; i += 4) if (data.slice(i, i + 4).join() !== first) return false;
    return true;
}, name);

const opened = async (page) => {
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector(".lab .lab-say")?.textContent && !document.querySelector(".lab[aria-busy]"), null, { timeout: 20000 });
};
const settled = (page) => page.waitForTimeout(60);

// One page in one look: it opens on something, steps, goes back, plays, and the keyboard alone does all of that.
const look = async (page, slug, told) => {
    await page.goto(place(slug));
    await opened(page);
    if (await isBlank(page, "stage")) told("nothing is drawn on the stage");
    if (await isBlank(page, "time")) told("nothing is drawn on the time line");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) told(`the page is ${wide} px wider than the window`);
    const cut = await page.evaluate(() => [...document.querySelectorAll(".lab *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.className || one.tagName).slice(0, 3).join());
    if (cut) told(`the lab is cut at the right: ${cut}`);
    const before = await state(page);
    if (before.at === "0" || before.at === before.top) told("the lab opens on an empty moment");
    await page.locator(".lab .lab-next").first().click();
    await settled(page);
    const after = await state(page);
    if (after.at === before.at) told("a step goes nowhere");
    await page.locator(".lab .lab-back").first().click();
    await settled(page);
    if (!same(await state(page), before)) told("a step and a step back do not end where they began");
    await page.locator(".lab .lab-stage").focus();
    for (const key of ["2", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "1"]) await page.keyboard.press(key);
    await settled(page);
    if ((await state(page)).at !== before.at) told("two lines forward and back by keyboard do not end where they began");
    await page.keyboard.press("Home");
    await page.keyboard.press(" ");
    await page.waitForTimeout(700);
    await page.keyboard.press(" ");
    if ((await state(page)).at === "0") told("it does not play");
    await page.keyboard.press("End");
    await settled(page);
    const end = await state(page);
    if (end.at !== end.top) told("the key End does not go to the end");
    if (!new URL(page.url()).pathname.endsWith(`${slug}.html`)) told("a key turned the book's page");
    await page.waitForTimeout(400);
    if (!page.url().includes(`#lab=${slug}`)) told("the moment is not in the address");
    await page.keyboard.press("Tab");
    if (!(await page.evaluate(() => document.activeElement.closest(".lab")))) told("the tabulator leaves the lab at once");
};

// What only some pages have: a guess, another kernel beside, many seeds, a link in the text.
const extras = async (page, slug, told) => {
    const visible = (name) => page.locator(`.lab ${name}`).first().isVisible();
    const press = (name) => page.locator(`.lab button.lab-${name}`).first().click();
    await page.evaluate((slug) => {
        const link = Object.assign(document.createElement("a"), { className: "lab-to", href: `#lab=${slug}&at=round1`, textContent: "the first round" });
        document.querySelector(".lab").before(link);
    }, slug);
    const before = await state(page);
    await page.locator("a.lab-to").first().click();
    await page.waitForFunction((slug) => document.querySelector(".lab").labFigure.answered === `#lab=${slug}&at=round1`, slug, { timeout: 20000 });
    if ((await state(page)).at === before.at) told("a link in the text does not set the lab");
    await press("predict");
    await page.locator(".lab .lab-guess").fill("99999");
    await page.keyboard.press("Enter");
    if (!/^✗ It is \d/.test(await page.locator(".lab .lab-verdict").textContent())) told("a wrong guess is not told");
    const answer = await page.evaluate(() => document.querySelector(".lab").labFigure.asks.answer);
    await page.locator(".lab .lab-guess").fill(String(answer));
    await page.keyboard.press("Enter");
    if (!/^✓/.test(await page.locator(".lab .lab-verdict").textContent())) told("a right guess is not told");
    await press("predict");
    if (await visible(".lab-compare:not(button)")) told("a comparison that nobody asked for");
    if (await visible("button.lab-compare")) {
        await press("compare");
        await page.waitForSelector(".lab .lab-table td", { timeout: 20000 });
    }
    if (await visible("button.lab-many")) {
        await press("many");
        await page.waitForSelector(".lab .lab-dot-wrong", { timeout: 20000 });
        const dots = await page.locator(".lab .lab-dot").count();
        if (dots !== 100) told(`${dots} of 100 seeds are shown`);
        await page.evaluate(() => { window.before = document.querySelector(".lab").labFigure.reply; });
        await page.locator(".lab .lab-dot-wrong").last().click();
        await page.waitForFunction(() => document.querySelector(".lab").labFigure.reply !== window.before, null, { timeout: 20000 });
        if (await page.evaluate(() => document.querySelector(".lab").labFigure.result === document.querySelector(".lab").labFigure.expected)) told("a wrong seed opens a right run");
        if (!(await state(page)).say.startsWith("✗")) told("a wrong seed does not open at its fault");
    }
};

// Cases that the page asks the engine for: result and counts are those of the native simulator.
const compare = async (page, slug, cases, told) => {
    await page.goto(place(slug));
    await opened(page);
    await extras(page, slug, told);
    for (const { hash, counts, result, steps } of cases) {
        await page.evaluate((hash) => { location.hash = hash; }, hash);
        await page.waitForFunction((hash) => document.querySelector(".lab").labFigure.answered === hash, hash, { timeout: 20000 });
        const got = await page.evaluate(() => {
            // The inputs that a block's sum is said to be made of, as often as they are in it, add up to that sum.
            const traced = ({ model, shown, view }) => {
                if (!shown || model.resultCell < 0 || model.replay.isPartial) return null;
                const held = view.cell(model.resultCell);
                if (!held || held.shown === null) return null;
                const times = model.replay.values.receipt(held.value, model.n);
                return { sum: times.reduce((sum, many, i) => (sum + many * reductionLab.element(model.n, i, model.chosen.given)) | 0, 0), shown: held.shown };
            };
            const figure = document.querySelector(".lab").labFigure;
            if (figure.shown) figure.go(figure.shown.to, false);
            return { result: figure.result, totals: figure.totals, steps: figure.shown ? figure.at - figure.shown.from : 0, blocks: figure.model?.blocks.length, launches: figure.chosen.launches.length, traced: traced(figure), expected: figure.expected, measured: figure.measured, ms: figure.reply.ms };
        });
        runs += 1;
        if (got.traced) receipts += 1;
        if (got.traced && got.traced.sum !== got.traced.shown) told(`${hash}: the inputs in the sum add up to ${got.traced.sum}, the sum is ${got.traced.shown}`);
        if (got.result !== result) told(`${hash}: the result is ${got.result}, natively ${result}`);
        for (const [name, count] of Object.entries(counts)) if (got.totals[name] !== count) told(`${hash}: ${name} is ${got.totals[name]}, natively ${count}`);
        if (got.steps && steps && got.blocks === 1 && got.launches === 1) {
            const shown = (await state(page)).counts;
            for (const [name, count] of Object.entries(shown)) if (Number(count) !== counts[name]) told(`${hash}: ${name} counts up to ${count}, natively ${counts[name]}`);
        }
        measured[hash] = { ...got.measured, run: got.ms };
    }
};

const withPage = async (slug, options, act, what = "") => {
    const context = await browser.newContext({ ...options, reducedMotion: options.reducedMotion || "no-preference" });
    const page = await context.newPage();
    const name = `${what}${slug} ${options.viewport.width} ${options.colorScheme}`;
    const told = (what) => problems.push(`${name}: ${what}`);
    page.on("console", (message) => { if (message.type() === "error") told(`console: ${message.text()}`); });
    page.on("pageerror", (error) => told(`error: ${error.message}`));
    page.on("request", (request) => { if (!/^(file|blob|data|about):/.test(request.url())) told(`asks the network for ${request.url()}`); });
    try {
        await act(page, told);
    } catch (error) {
        told(error.message.split("\n")[0]);
    }
    await page.locator(".lab").first().screenshot({ path: `${pictures}/${name.replaceAll(" ", "-")}.png` }).catch(() => {});
    await context.close();
};

const light = { colorScheme: "light", viewport: { width: 1280, height: 900 } };
const jobs = expected.flatMap(({ slug, cases }) => [
    ...[390, 1280].flatMap((width) => ["light", "dark"].map((colorScheme) => () => {
        views += 1;
        return withPage(slug, { viewport: { width, height: 900 }, colorScheme }, (page, told) => look(page, slug, told));
    })),
    () => withPage(slug, { ...light, reducedMotion: "reduce" }, (page, told) => compare(page, slug, cases, told)),
    ...[390, 1280].map((width) => () => withPage(slug, { viewport: { width, height: 900 }, colorScheme: "dark" }, async (page, told) => {
        views += 1;
        await page.goto(place(slug));
        await opened(page);
        await inspect(page, slug, { told, measured });
    }, "asked ")),
]);
// A view mostly waits, so that several share the processor.
await Promise.all(Array.from({ length: 4 }, async () => { for (let job = jobs.shift(); job; job = jobs.shift()) await job(); }));
await browser.close();
for (const problem of problems) console.log(problem);
console.error(JSON.stringify({ views, runs, receipts, measured }));
process.exitCode = problems.length ? 1 : 0;
