// How the labs of a built book feel, measured by hand and by no test, as it depends on the machine: `node feel.mjs SITE CHROMIUM [PAGE...]`.
// Prints for each page the best of many tries, in ms, beside what it should be at most; the status is 1 where one is above.
import { readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [site, executablePath, ...wanted] = process.argv.slice(2);
const TRIES = 7;
// What a reader does, and how long it may take from her click to the picture. A step of a block of 1,024 threads fits one frame.
const LIMITS = { opened: 300, step: 16, million: 500 };
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
const names = wanted.length ? wanted : readdirSync(site).filter((name) => /^ch\d\d-.*\.html$/.test(name));

// In the page: times of openings of another case, from the call to the frame after the drawing.
const inPage = async ({ tries }) => {
    const figure = document.querySelector(".lab").labFigure;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const timed = async (wanted) => {
        const from = performance.now();
        await figure.open(wanted, false);
        await frame();
        return performance.now() - from;
    };
    const { variant, n, block, grid } = figure.data.opening;
    const best = (times) => Math.round(10 * Math.min(...times)) / 10;
    const middle = (times) => Math.round(10 * times.sort((a, b) => a - b)[times.length >> 1]) / 10;
    const times = { opened: [], step: [], million: [] };
    await timed({ variant, n, block, grid, schedule: "independent:7" });
    for (let i = 0; i < tries; i += 1) times.opened.push(await timed({ variant, n, block, grid, schedule: `independent:${i}` }));
    // The widest block that is drawn, of whatever variant has it.
    let wide = null;
    for (const one of figure.data.variants) {
        const found = one.cases.filter((it) => it.block === 1024 && reductionLab.traced(it)).sort((a, b) => a.n - b.n).pop();
        if (found && (!wide || found.n > wide.n)) wide = { variant: one.name, n: found.n, block: 1024, grid: found.grid };
    }
    if (wide) {
        await timed({ ...wide, schedule: "independent" });
        // A step, its drawing, and the time that the browser takes to show it.
        for (let round = 0; round < 3; round += 1) {
            figure.go(figure.shown.from, false);
            for (let i = 0; i < 12 && figure.at < figure.shown.to; i += 1) {
                const from = performance.now();
                figure.step(false);
                times.step.push(performance.now() - from);
                await frame();
            }
        }
    }
    const all = figure.data.variants.filter((one) => one.cases.some((it) => it.n === 1 << 20));
    const slowest = { variant: "", ms: 0 };
    for (const one of all) {
        const own = [];
        for (let i = 0; i < 3; i += 1) own.push(await timed({ variant: one.name, n: 1 << 20, block: 256, schedule: "independent" }));
        times.million.push(Math.min(...own));
        if (Math.min(...own) > slowest.ms) Object.assign(slowest, { variant: one.name, ms: Math.min(...own) });
    }
    return {
        opened: best(times.opened), step: wide ? best(times.step) : null, stepMiddle: wide ? middle(times.step) : null, wide: wide && `${wide.variant} ${wide.n}`,
        million: all.length ? best([Math.max(...times.million)]) : null, slowest: slowest.variant,
    };
};

let isSlow = false;
for (const name of names) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    await page.goto(pathToFileURL(`${site}/${name}`).href);
    const started = Date.now();
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await page.waitForSelector(".lab .lab-say:not(:empty)");
    const first = Date.now() - started;
    const told = await page.evaluate(inPage, { tries: TRIES });
    const over = Object.entries(LIMITS).filter(([key, limit]) => told[key] !== null && told[key] > limit).map(([key]) => key);
    isSlow ||= over.length > 0;
    console.log(`${name}: first picture ${first}, another case ${told.opened}, step with 1,024 threads ${told.step} (middle ${told.stepMiddle}; ${told.wide}), 2^20 ${told.million} (${told.slowest})${over.length ? `  over: ${over.join(", ")}` : ""}`);
    await page.close();
}
await browser.close();
process.exitCode = isSlow ? 1 : 0;
