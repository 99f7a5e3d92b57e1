// Looks at the labs of a built book in Chromium, from files: `node labs.mjs SITE EXPECTED CHROMIUM PICTURES PAGE...`, at those of PAGE.
// EXPECTED is what the native simulator says of some cases. Prints a line for each problem; the status is 1 if there is one.
import { readFileSync, mkdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { alive, still } from "./stills.mjs";
import { beside } from "./beside.mjs";
import { inspect } from "./inspect.mjs";
import { film, firstKernel } from "./first.mjs";
import { harmless, links } from "./links.mjs";
import { steady } from "./steady.mjs";

const [site, expectedFile, executablePath, pictures, ...pages] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const problems = [];
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
mkdirSync(pictures, { recursive: true });
let views = 0;
let runs = 0;
let receipts = 0;
let sentences = 0;
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
const look = async (page, slug, told, isAtLine = true) => {
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
    // A lab that opens on an event may open within a line.
    if (isAtLine && (await state(page)).at !== before.at) told("two lines forward and back by keyboard do not end where they began");
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

// The same page then: steps on a screen of this height, and everything that a reader can ask.
const explore = async (page, slug, { width, height }, told) => {
    await look(page, slug, told);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.setViewportSize({ width, height });
    // The lab brings what has the focus into sight when it draws it anew.
    await page.evaluate(() => document.activeElement.blur());
    await steady(page, (what) => told(`steady: ${what}`));
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.setViewportSize({ width, height: 900 });
    await inspect(page, slug, { told: (what) => told(`asked: ${what}`), measured });
};

// False sentences of the run that is shown, by the audit of the still figures.
const audit = fileURLToPath(new URL("../../book/src/stills/audit.js", import.meta.url));
const untrue = async (page) => {
    if (!(await page.evaluate(() => Boolean(reductionLab.audit)))) await page.addScriptTag({ path: audit });
    const { count, problems } = await page.evaluate(() => {
        const figure = document.querySelector(".lab").labFigure;
        return figure.shown ? reductionLab.audit(figure) : { count: 0, problems: [] };
    });
    sentences += count;
    return problems.slice(0, 3);
};

// What only some pages have: a guess, another kernel beside, many seeds, a link in the text.
const extras = async (page, slug, told) => {
    const visible = (name) => page.locator(`.lab ${name}`).first().isVisible();
    const press = (name) => page.locator(`.lab button.lab-${name}`).first().click();
    await page.evaluate((slug) => {
        const link = Object.assign(document.createElement("a"), { id: "to-round-1", className: "lab-to", href: `#lab=${slug}&at=round1`, textContent: "the first round" });
        document.querySelector(".lab").before(link);
    }, slug);
    const before = await state(page);
    await page.locator("#to-round-1").click();
    await page.waitForFunction((slug) => document.querySelector(".lab").labFigure.answered === `#lab=${slug}&at=round1`, slug, { timeout: 20000 });
    if ((await state(page)).at === before.at) told("a link in the text does not set the lab");
    // A link that is followed while the moment before is due to be written into the address.
    const hash = `#lab=${slug}&at=end`;
    await page.evaluate((hash) => {
        document.querySelector(".lab").labFigure.write();
        for (const from = performance.now(); performance.now() < from + 400;);
        location.hash = hash;
    }, hash);
    await page.waitForFunction((hash) => document.querySelector(".lab").labFigure.answered === hash, hash, { timeout: 20000 }).catch(() => told("a link that is followed as the address is written is lost"));
    if (!page.url().endsWith(hash)) told(`the address is ${page.url()} after ${hash}`);
    await page.evaluate(() => { location.hash = document.querySelector("#to-round-1").hash; });
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
        await page.waitForSelector(".lab .lab-beside .lab-table td", { timeout: 20000 });
        await beside(page, told);
        await press("compare");
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
                if (!shown || model.resultCell < 0 || (figure.chosen.op ?? "sum") !== "sum") return null;
                const held = view.cell(model.resultCell);
                if (!held || held.shown === null) return null;
                const { values } = model.replay;
                if (values.isMixed[held.value]) return null;
                const times = values.receipt(held.value, model.n);
                const { given, fill } = model.chosen;
                const sum = times.reduce((sum, many, i) => sum + many * reductionLab.element(model.n, i, given, fill), 0);
                return { sum: fill === undefined ? sum | 0 : sum, shown: held.shown };
            };
            const figure = document.querySelector(".lab").labFigure;
            if (figure.shown) figure.go(figure.shown.to, false);
            return { result: figure.result, totals: figure.totals, steps: figure.shown ? figure.at - figure.shown.from : 0, blocks: figure.model?.blocks.length, launches: figure.chosen.launches.length, traced: traced(figure), expected: figure.expected, measured: figure.measured, ms: figure.reply.ms };
        });
        runs += 1;
        for (const problem of await untrue(page)) told(`${hash}: ${problem}`);
        if (got.traced) receipts += 1;
        if (got.traced && got.traced.sum !== got.traced.shown) told(`${hash}: the inputs in the sum add up to ${got.traced.sum}, the sum is ${got.traced.shown}`);
        // Floats of 32 bits, whatever digits they were written with.
        const floats = (all) => String(all).split(",").map((one) => (one.includes(".") ? Math.fround(Number(one)) : one)).join();
        if (floats(got.result) !== floats(result)) told(`${hash}: the result is ${got.result}, natively ${result}`);
        for (const [name, count] of Object.entries(counts)) if (got.totals[name] !== count) told(`${hash}: ${name} is ${got.totals[name]}, natively ${count}`);
        if (got.steps && steps && got.blocks === 1 && got.launches === 1) {
            const shown = (await state(page)).counts;
            for (const [name, count] of Object.entries(shown)) if (Number(count) !== counts[name]) told(`${hash}: ${name} counts up to ${count}, natively ${counts[name]}`);
        }
        measured[hash] = { ...got.measured, run: got.ms };
    }
    await alive(page, told);
};

// Launches of several blocks at telling moments: how the blocks stand there, what is said, and what the figure does with it.
const moments = [
    { hash: "v=last_block&n=512&b=64&g=4&s=independent&grain=blocks&at=ticket", states: ["done", "done", "done", "runs"], block: 3, words: 4, say: /ticket 3, the last/ },
    { hash: "v=last_block&n=512&b=64&g=4&s=independent:2&grain=blocks&at=ticket", states: ["runs", "done", "done", "done"], block: 0, words: 4, say: /Block 0 takes ticket 3, the last/ },
    { hash: "v=last_block&n=512&b=64&g=4&s=independent&at=takes", block: 3, lines: 4, say: /Block 3 reads what blocks 0 to 2 left/ },
    { hash: "v=grid_sync&n=512&b=64&g=4&s=independent&grain=blocks&at=spin", states: ["spins", "spins", "notStarted", "notStarted"], block: 0, words: 2, say: /nothing new: it spins/ },
    { hash: "v=cluster&n=512&b=64&s=independent&at=remote", states: ["runs", ...Array(7).fill("waits")], block: 0, lines: 7, frames: 1, say: /of_block of blocks 1 to 7/ },
    { hash: "v=single_pass&n=16384&b=256&g=4&s=independent&grain=blocks&at=ticket", states: ["done", "done", "done", "runs"], block: 3, say: /the last of 4/ },
    { hash: "v=single_pass_f32&n=16384&b=256&g=4&s=independent&grain=blocks&at=spin", states: ["spins", "done", "notStarted", "notStarted"], block: 0, say: /nothing new: it spins/ },
    { hash: "v=single_pass_f32&n=16384&b=256&g=4&s=independent&grain=blocks&at=message", block: 0, words: 4, say: /finds 1 message in state, from block 1/ },
    { hash: "v=last_block&n=16384&b=32&s=independent&grain=blocks&at=ticket", states: [...Array(63).fill("done"), "runs"], block: 63, words: 64, say: /ticket 63, the last/ },
];
const gridState = (page) => page.evaluate(() => {
    const [lab, all] = [document.querySelector(".lab"), (name) => [...document.querySelectorAll(`.lab ${name}`)]];
    return {
        states: all(".lab-tile").map((tile) => tile.dataset.state), names: all(".lab-tile").map((tile) => tile.getAttribute("aria-label")),
        pressed: all('.lab-tile[aria-pressed="true"]').map((tile) => Number(tile.dataset.block)), block: lab.labFigure.shown.block,
        words: all(".lab-group:first-of-type .lab-word-there").length, lines: all(".lab-lines path").length, frames: all(".lab-cluster").length,
        say: lab.querySelector(".lab-say").textContent, wide: document.documentElement.scrollWidth - innerWidth,
    };
});
const showsMoment = async (page, slug, moment, told) => {
    const hash = `#lab=${slug}&${moment.hash}`;
    await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.waitForFunction((hash) => document.querySelector(".lab").labFigure?.answered === hash, hash, { timeout: 30000 });
    const got = await gridState(page);
    for (const key of ["states", "block", "words", "lines", "frames"]) {
        if (moment[key] !== undefined && !same(got[key], moment[key])) told(`${hash}: ${key} is ${JSON.stringify(got[key])}, not ${JSON.stringify(moment[key])}`);
    }
    if (!moment.say.test(got.say)) told(`${hash}: it says ${got.say}`);
    if (!same(got.pressed, [got.block])) told(`${hash}: pressed is ${got.pressed}`);
    if (got.names.some((name) => !/^Block \d+: \S/.test(name))) told(`${hash}: a tile has no name`);
    if (got.wide > 0) told(`${hash}: the page is ${got.wide} px wider than the window`);
};
// Tiles by mouse and by keyboard, from event to event and back.
const usesGrid = async (page, told) => {
    await page.locator('.lab .lab-tile[data-block="1"]').click();
    if ((await gridState(page)).block !== 1) told("a press on a tile does not show its block");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    if ((await gridState(page)).block !== 2) told("the keyboard does not go from tile to tile");
    await page.locator(".lab .lab-event").last().click();
    const first = await gridState(page);
    await page.locator(".lab .lab-event").last().click();
    const second = await gridState(page);
    if (same(first, second)) told("the next event is the same one");
    await page.locator(".lab .lab-event").first().click();
    if (!same(await gridState(page), first)) told("an event further and one back do not end where they began");
    // All of them, from the first on: each has something to say, and the last one is where the run ends.
    const said = await page.evaluate(() => {
        const figure = document.querySelector(".lab").labFigure;
        figure.toEvent(figure.between.events[0]);
        figure.draw();
        const words = [];
        do words.push(document.querySelector(".lab-say").textContent); while (figure.step(false));
        return { words, events: figure.between.events.length };
    });
    if (said.words.length !== said.events || said.words.some((words) => !/^Block \d+ /.test(words))) told(`${said.words.length} of ${said.events} events are told`);
};
const grids = async (page, slug, told) => {
    await page.goto(place(slug));
    await opened(page);
    for (const moment of moments) await showsMoment(page, slug, moment, told);
    await showsMoment(page, slug, moments[3], told);
    await usesGrid(page, told);
    // Every link of the text to a moment finds it.
    for (const hash of await page.evaluate(() => [...document.querySelectorAll('a.lab-to[href^="#lab="]')].map((link) => link.getAttribute("href")))) {
        await page.locator(`a.lab-to[href="${hash}"]`).click();
        await page.waitForFunction((hash) => document.querySelector(".lab").labFigure.answered === hash, hash, { timeout: 30000 });
        if (!(await page.evaluate(() => document.querySelector(".lab").labFigure.event))) told(`the link ${hash} sets no moment`);
    }
};

// On a machine of CI nobody looks at pictures, which take as long as the page itself: there they are of problems.
const takesPictures = !process.env.CI;
const withPage = async (slug, options, act, what = "") => {
    const context = await browser.newContext({ ...options, reducedMotion: options.reducedMotion || "no-preference" });
    const page = await context.newPage();
    const name = `${what}${slug} ${options.viewport.width} ${options.colorScheme}`;
    let isFine = true;
    const told = (what) => { isFine = false; problems.push(`${name}: ${what}`); };
    page.on("console", (message) => { if (message.type() === "error") told(`console: ${message.text()}`); });
    page.on("pageerror", (error) => told(`error: ${error.message}`));
    page.on("request", (request) => { if (!/^(file|blob|data|about):/.test(request.url())) told(`asks the network for ${request.url()}`); });
    try {
        await act(page, told);
    } catch (error) {
        const at = await page.evaluate(() => {
            const [lab, say] = [document.querySelector(".lab"), document.querySelector(".lab .lab-say")];
            return `the lab answered ${lab?.labFigure?.answered}, the address says ${location.hash}, the lab says "${say?.textContent}"${lab?.matches("[aria-busy]") ? ", and is busy" : ""}`;
        }).catch(() => "there is no page");
        const asked = error.stack.match(/\w+\.mjs:\d+/)?.[0];
        told(`${error.message.split("\n")[0]} (${asked}; ${at})`);
    }
    const picture = options.javaScriptEnabled === false ? `${name} still` : name;
    if (takesPictures || !isFine) await page.locator(".lab").first().screenshot({ path: `${pictures}/${picture.replaceAll(" ", "-")}.png` }).catch(() => {});
    await context.close();
};

// The champion's own lab opens on the moment that its page is about, with what the page brings and no engine; links on the page move it.
const champion = async (page, told) => {
    let isAsked = false;
    page.on("request", (request) => { isAsked ||= request.url().endsWith("/lab/engine.js"); });
    await page.goto(place("champion"));
    await opened(page);
    const { states, say, block } = await gridState(page);
    if (!same(states, ["spins", "done", "notStarted", "notStarted"]) || block !== 0 || !/nothing new: it spins/.test(say)) told(`opens on block ${block}, ${states}, and says ${say}`);
    if (isAsked) told("the engine is loaded before a touch");
    await page.locator("main a.lab-to", { hasText: "message" }).click();
    await page.waitForFunction(() => /finds 1 message/.test(document.querySelector(".lab .lab-say").textContent), null, { timeout: 20000 });
    const held = await page.evaluate(() => { const { model, view } = document.querySelector(".lab").labFigure; const state = model.buffers.find(({ name }) => name === "state"); return view.cell(state.first + 4)?.shown ?? view.cell(state.first)?.shown; });
    if (!(held > 0 && held < 2 ** 24)) told(`a message says ${held}, which is no sum of a block`);
    await page.locator(".lab .lab-whole").click();
    const rows = await page.evaluate(() => ({ rows: document.querySelectorAll(".lab .lab-row").length, now: document.querySelectorAll(".lab .lab-now").length }));
    if (rows.rows < 3 || rows.now !== 1) told(`the whole function has ${rows.rows} lines, ${rows.now} of them at work`);
};

// Several devices: the lab opens, without the engine, on a rank that waits while what it waits for is on its way; links set ranks and
// moments; a hundred schedules find a race wherever the kernel has one.
const rankMoments = [
    { hash: "v=one_shot_push&r=2&n=32&b=32&s=independent&grain=blocks&at=remote", say: /^Rank 0 writes 32 numbers into the memory of rank 1, over the link/ },
    { hash: "v=one_shot_pull&r=4&n=32&b=32&s=independent&grain=blocks&at=remote", say: /reads 32 numbers from the memory of rank \d/ },
    { hash: "v=low_latency&r=2&n=32&b=32&s=independent&grain=blocks&at=message", say: /finds 32 numbers from rank/ },
    { hash: "v=two_shot_direct&r=4&n=100&b=32&s=independent&grain=blocks&at=flag", say: /sets 3 flags at ranks/ },
    { hash: "v=device_scope&r=2&n=32&b=32&s=independent&at=fault", say: /^✗ Global race/ },
];
const ranks = async (page, told) => {
    let isAsked = false;
    page.on("request", (request) => { isAsked ||= request.url().endsWith("/lab/engine.js"); });
    await look(page, "ch14-all-reduce", told, false);
    await page.goto("about:blank");
    isAsked = false;
    await page.goto(place("ch14-all-reduce"));
    await opened(page);
    const { states, say, names } = await gridState(page);
    if (!states.includes("spins") || !/looks at its own flags/.test(say)) told(`opens on ${states}, and says ${say}`);
    if (names.some((name) => !/^Rank \d+: \S/.test(name))) told(`tiles are called ${names}`);
    if (isAsked) told("the engine is loaded before a touch");
    for (const { hash, say } of rankMoments) {
        const whole = `#lab=ch14-all-reduce&${hash}`;
        await page.evaluate((hash) => { location.hash = hash; }, whole);
        await page.waitForFunction((hash) => document.querySelector(".lab").labFigure.answered === hash, whole, { timeout: 30000 });
        const got = await gridState(page);
        if (!say.test(got.say)) told(`${whole}: it says ${got.say}`);
        if (got.wide > 0) told(`${whole}: the page is ${got.wide} px wider than the window`);
        for (const problem of await untrue(page)) told(`${whole}: ${problem}`);
        runs += 1;
    }
    await page.evaluate(() => { location.hash = "#lab=ch14-all-reduce&v=reused&r=2&n=32&b=32"; });
    await page.waitForFunction(() => document.querySelector(".lab").labFigure.variant.name === "reused" && !document.querySelector(".lab[aria-busy]"), null, { timeout: 30000 });
    await page.locator(".lab button.lab-many").first().click();
    await page.waitForSelector(".lab .lab-dot-wrong", { timeout: 60000 });
    const dots = await page.locator(".lab .lab-dot").count();
    if (dots !== 100) told(`${dots} of 100 seeds are shown`);
};

// A button that is pressed as soon as it is there, before the first run is chosen.
const hasty = async (page) => {
    await page.addInitScript(() => {
        const press = new MutationObserver(() => {
            const button = document.querySelector(".lab .lab-grain");
            if (!button) return;
            press.disconnect();
            button.click();
        });
        press.observe(document, { childList: true, subtree: true });
    });
    await page.goto(place("champion"));
    await opened(page);
};

const light = { colorScheme: "light", viewport: { width: 1280, height: 900 } };
const isAsked = (name) => pages.includes(name);
// The last chapters take longest, and begin first.
const jobs = expected.toReversed().flatMap(({ slug, cases }) => [
    // Colours and widths have nothing to do with each other: each is looked at once.
    ...[["dark", { width: 390, height: 844 }], ["light", { width: 1280, height: 720 }]].map(([colorScheme, screen]) => () => {
        views += 1;
        return withPage(slug, { viewport: { width: screen.width, height: 900 }, colorScheme }, (page, told) => explore(page, slug, screen, told));
    }),
    () => withPage(slug, { ...light, javaScriptEnabled: false }, (page, told) => still(page, place(slug), told)),
    () => withPage(slug, { ...light, reducedMotion: "reduce" }, (page, told) => compare(page, slug, cases, told)),
    ...(slug !== "ch08-cooperative" ? [] : [light, { colorScheme: "dark", viewport: { width: 390, height: 900 } }].map((look) => () => {
        views += 1;
        return withPage(slug, { ...look, reducedMotion: "reduce" }, (page, told) => grids(page, slug, told));
    })),
]);
for (const slug of ["ch03-sequential", "ch12-norms"].filter(isAsked)) jobs.push(() => withPage(slug, { ...light, reducedMotion: "reduce" }, (page, told) => links(page, place, slug, told), "links "));
for (const slug of ["ch05-unroll"].filter(isAsked)) jobs.push(() => withPage(slug, { ...light, reducedMotion: "reduce" }, (page, told) => harmless(page, place, slug, told), "hostile "));
for (const [act, width, height] of isAsked("champion") ? [[champion, 1280, 720], [hasty, 390, 844]] : []) {
    views += 1;
    jobs.push(() => withPage("champion", { ...light, viewport: { width, height }, reducedMotion: "reduce" }, async (page, told) => {
        await act(page, told);
        await steady(page, told);
    }));
}
if (isAsked("ch14-all-reduce")) {
    for (const [colorScheme, width] of [["dark", 390], ["light", 1280]]) {
        views += 1;
        jobs.push(() => withPage("ch14-all-reduce", { colorScheme, viewport: { width, height: 900 } }, ranks));
    }
    jobs.push(() => withPage("ch14-all-reduce", { ...light, javaScriptEnabled: false }, (page, told) => still(page, place("ch14-all-reduce"), told)));
}
for (const [name, act] of [["first-kernel", firstKernel], ["introduction", film]].filter(([name]) => isAsked(name))) {
    for (const [width, height] of [[390, 844], [1280, 720]]) {
        views += 1;
        jobs.push(() => withPage(name, { ...light, viewport: { width, height } }, (page, told) => act(page, place(name), told)));
    }
}
// A view mostly waits, so that several share the processor.
await Promise.all(Array.from({ length: 4 }, async () => { for (let job = jobs.shift(); job; job = jobs.shift()) await job(); }));
await browser.close();
for (const problem of problems) console.log(problem);
console.error(JSON.stringify({ views, runs, receipts, sentences, measured }));
process.exitCode = problems.length ? 1 : 0;
