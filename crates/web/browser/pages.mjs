// Looks at every page of a built book in Chromium, from files: `node pages.mjs SITE CHROMIUM PICTURES [PAGE...]`.
// Prints a line for each problem; the status is 1 if there is one. What it counted is a JSON object on the error stream.
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { COLOUR_RULES, faint } from "./contrast.mjs";
import { editionJobs } from "./editions.mjs";
import { touched } from "./ideas.mjs";

const [site, executablePath, pictures, ...wanted] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// What a page may weigh with all that it loads before a reader touches anything: its text and pictures, mdBook's scripts and fonts, its
// lab with its cases and the run that it opens with. The engine and the editor come when she asks for something else.
const PAGE_BYTES_MAX = 600_000;
const ENGINE_BYTES_MAX = 700_000;
// Far more than any page has: a page where the keyboard never comes to the end fails.
const STOPS_MAX = 1_000;
// mdBook's helpers: the whole book to print, the contents for browsers without scripts, what a server says of a wrong address.
const NO_PAGES = ["print.html", "toc.html", "404.html"];
// The pages with something to play or answer, and one of links alone: each of their stops is looked at.
const BY_KEYBOARD = /^(ch\d\d|first-kernel|glossary)/;
const names = readdirSync(site).filter((name) => name.endsWith(".html") && !NO_PAGES.includes(name) && (wanted.length === 0 || wanted.includes(name)));

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
mkdirSync(pictures, { recursive: true });
const problems = [];
const counted = { pages: names.length, views: 0, answers: 0, figures: 0, terms: 0, largest: 0 };

const withPage = async (name, options, act) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const told = (what) => problems.push(`${name} at ${options.viewport.width}, ${options.colorScheme}: ${what}`);
    const files = new Set();
    page.on("console", (message) => { if (message.type() === "error") told(`console: ${message.text()}`); });
    page.on("pageerror", (error) => told(`error: ${error.message}`));
    page.on("request", (request) => {
        if (request.url().startsWith("file:")) files.add(request.url().split(/[?#]/)[0]);
        else if (!/^(blob|data|about):/.test(request.url())) told(`asks the network for ${request.url()}`);
    });
    try {
        await page.goto(pathToFileURL(`${site}/${name}`).href);
        await act(page, told, files);
    } catch (error) {
        told(error.message.split("\n")[0]);
    }
    await context.close();
    counted.views += 1;
};

// The labs have a check of their own, with its own waiting; here they may be as they are.
const opened = async (page) => {
    await page.evaluate(() => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
    await page.waitForTimeout(300);
};

// Every lab starts when it comes near the screen.
const started = async (page) => {
    for (const lab of await page.locator("main .lab").all()) {
        await lab.scrollIntoViewIfNeeded();
        await lab.locator(".lab-say:not(:empty)").waitFor({ timeout: 20000 });
    }
};

const weigh = (files, told) => {
    const onTouch = /\/lab\/(engine|editor)\.js$/;
    const weights = [...files].filter((file) => !onTouch.test(file)).map((file) => [statSync(fileURLToPath(file), { throwIfNoEntry: false })?.size ?? 0, file.split("/").pop()]);
    const bytes = weights.reduce((sum, [size]) => sum + size, 0);
    counted.largest = Math.max(counted.largest, Math.round(bytes / 1000));
    if (bytes <= PAGE_BYTES_MAX) return;
    const most = weights.sort(([a], [b]) => b - a).slice(0, 4).map(([size, name]) => `${name} ${Math.round(size / 1000)}`);
    told(`loads ${Math.round(bytes / 1000)} KB, and ${PAGE_BYTES_MAX / 1000} may be; most of it: ${most.join(", ")}`);
};

const tell = (violations, told) => {
    for (const { id, impact, help, nodes } of violations.filter(({ impact }) => ["serious", "critical"].includes(impact))) {
        told(`${impact}: ${help} (${id}), ${nodes.length} times, first at ${nodes[0].target.join(" ")}: ${nodes[0].html.slice(0, 160)}`);
    }
};
// What of a page's structure depends on what is shown at a width. The rest of axe's rules is asked at one width alone: it takes seconds.
const WIDTH_RULES = ["aria-hidden-focus", "button-name", "empty-table-header", "link-name", "scrollable-region-focusable", "td-headers-attr", "th-has-data-cells"];
const accessible = async (page, told, isPhone) => {
    const rules = Object.fromEntries(COLOUR_RULES.map((rule) => [rule, { enabled: false }]));
    const asked = isPhone ? { runOnly: WIDTH_RULES } : { rules };
    const { violations } = await page.evaluate((asked) => window.axe.run(document, { resultTypes: ["violations"], preload: false, ...asked }), asked);
    tell([...violations, ...(await faint(page))], told);
};

const themed = async (page, told, wanted) => {
    const theme = await page.evaluate(() => document.documentElement.className.match(/\b(light|navy)\b/)?.[0]);
    if (theme !== wanted) told(`is ${theme}, not ${wanted}`);
};

// The page in dark colours after the light ones, by mdBook's menu. Their contrast is looked at on the phone.
const recoloured = async (page, told) => {
    await page.evaluate(() => document.getElementById("mdbook-theme-navy").click());
    await themed(page, told, "navy");
};

// Listings wrap, and tables fit or stand row under row.
const cut = (page) => page.evaluate(() => {
    const text = (one) => one.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
    const visible = [...document.querySelectorAll("main pre > code, main .table-wrapper, main table")].filter((one) => one.checkVisibility() && !one.closest(".lab"));
    const wide = visible.filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline");
    return wide.map((one) => {
        const isTable = one.matches(".table-wrapper, table");
        return { what: isTable ? "table" : "listing", text: text(one), px: one.scrollWidth - one.clientWidth };
    });
});
// Nothing reaches past the edge but what scrolls in a box of its own; pictures are there, and say what they are.
const shown = (page) => page.evaluate(() => {
    const main = document.querySelector("main");
    if (main.innerText.trim() === "") return ["shows nothing"];
    const scrolls = (one) => {
        for (let box = one.parentElement; box && box !== main; box = box.parentElement) if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return true;
        return false;
    };
    const named = (one) => `<${one.tagName.toLowerCase()}> “${(one.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40)}”`;
    const width = document.documentElement.clientWidth;
    const past = [...main.querySelectorAll("*")].find((one) => {
        if (one.ownerSVGElement || one.closest(".lab") || !one.checkVisibility({ visibilityProperty: true })) return false;
        const box = one.getBoundingClientRect();
        return box.width > 1 && Math.max(box.right - width, -box.left) > 1 && !scrolls(one);
    });
    const images = [...main.querySelectorAll("img")];
    const drawings = [...main.querySelectorAll("svg")].filter((svg) => !svg.closest(".lab"));
    const isFlat = (svg) => svg.checkVisibility() && !(svg.getBoundingClientRect().width > 0 && svg.getBoundingClientRect().height > 0);
    return [
        ...(past ? [`${named(past)} reaches past the edge`] : []),
        ...images.filter((image) => !(image.complete && image.naturalWidth > 0)).map((image) => `picture ${image.getAttribute("src")} is not shown`),
        ...images.filter((image) => !image.alt).map((image) => `picture ${image.getAttribute("src")} has no alternative text`),
        ...drawings.filter(isFlat).map((svg) => `${named(svg.parentElement)} holds a drawing without a size`),
        ...drawings.filter((svg) => svg.closest("figure") && !svg.querySelector("title") && !svg.getAttribute("aria-label")).map((svg) => `${named(svg.closest("figure"))} holds a drawing without a title`),
    ];
});
const uncut = async (page, told) => {
    // Folds that have just opened are set at the next frame, and on a busy machine that takes a while.
    let found = await cut(page);
    for (let i = 0; found.length && i < 10; i++) {
        await page.waitForTimeout(300);
        found = await cut(page);
    }
    for (const { what, text, px } of found) told(`a ${what} is cut by ${px} px: ${text}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) told(`the page is ${wide} px wider than the window`);
};

// The tabulator walks through a page, each stop can be seen and shows itself, and the end is reached. The page notes its stops itself:
// it is asked for them after every few, not after each.
const byKeyboard = async (page, told) => {
    await page.evaluate(() => {
        window.stops = [];
        const seen = new Set();
        document.addEventListener("keyup", ({ key }) => {
            if (key !== "Tab") return;
            const one = document.activeElement;
            if (one === document.body || seen.has(one)) { window.stopped = true; return; }
            seen.add(one);
            one.dataset.stop = seen.size;
            const { width, height, left, right } = one.getBoundingClientRect();
            const style = getComputedStyle(one);
            const marked = style.outlineStyle !== "none" || style.boxShadow !== "none" || one.matches(":focus-visible");
            window.stops.push({ html: one.outerHTML.slice(0, 90), marked, seen: width > 0 && height > 0 && right > 0 && left < innerWidth });
        }, { capture: true });
    });
    // A lab that comes near the screen brings stops of its own, so that their number is not known before; it ends where a stop comes again.
    let stops = [];
    for (let isAtEnd = false; !isAtEnd && stops.length < STOPS_MAX;) {
        for (let i = 0; i < 10; i++) await page.keyboard.press("Tab");
        [stops, isAtEnd] = await page.evaluate(() => [window.stops, Boolean(window.stopped)]);
    }
    for (const stop of stops) {
        if (!stop.seen && !stop.html.includes("mdbook-sidebar")) told(`the keyboard stops where nothing is seen: ${stop.html}`);
        if (!stop.marked) told(`the keyboard's place is not shown: ${stop.html}`);
    }
    const last = await page.evaluate(() => { const links = [...document.querySelectorAll("main a[href]")].filter((one) => one.checkVisibility()); return links.length ? links.at(-1).dataset.stop : "none"; });
    if (last === undefined) told(`the keyboard does not come to the page's last link in ${stops.length} stops`);
    await page.keyboard.press("Escape");
    await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
};

// Every question: nothing, a wrong answer, the right one, by keyboard alone; the browser remembers.
const answered = async (page, told) => {
    const questions = await page.locator("[data-exercise], [data-quiz]").count();
    for (let i = 0; i < questions; i++) {
        const question = page.locator("[data-exercise], [data-quiz]").nth(i);
        const { id, answer, right, wrong } = await question.evaluate((one) => ({
            id: one.id, answer: one.dataset.answer, right: one.dataset.lines?.[0],
            wrong: [...one.querySelectorAll("[data-when]")].find((item) => item.querySelector(".wrong-mark"))?.dataset.when,
        }));
        const status = () => question.locator(".exercise-status").getAttribute("class");
        const give = async (value) => {
            if (answer === undefined) {
                await question.locator(`input[value="${value}"]`).focus();
                await page.keyboard.press("Space");
            } else {
                await question.locator("input[type=text]").fill(value);
            }
            await page.keyboard.press("Enter");
        };
        await give(wrong);
        if (!(await status()).includes("is-wrong")) told(`${id}: ${wrong} is not wrong`);
        await give(answer ?? right);
        if (!(await status()).includes("is-right")) told(`${id}: ${answer ?? right} is not right`);
        counted.answers += 2;
    }
    await page.reload();
    const kept = await page.locator(".exercise.is-solved").count();
    if (kept !== questions) told(`${kept} of ${questions} answers are remembered`);
};

// A term is explained to a mouse, a keyboard and a finger; Escape puts the words away; nothing on the page moves.
const explained = async (page, told, isPhone) => {
    const terms = page.locator("main a[data-meaning]");
    const many = await terms.count();
    if (many === 0) return;
    counted.terms += many;
    const box = page.locator("#term-meaning");
    const term = terms.first();
    const height = () => page.evaluate(() => `${document.documentElement.scrollHeight} ${document.querySelector("main").getBoundingClientRect().height}`);
    const before = await height();
    const fits = async (how) => {
        await box.waitFor({ state: "visible", timeout: 2000 });
        const meaning = await term.getAttribute("data-meaning");
        if (!(await box.textContent()).startsWith(meaning.replaceAll("`", ""))) told(`${how}: another term is explained`);
        const at = await box.boundingBox();
        const width = await page.evaluate(() => document.documentElement.clientWidth);
        if (at.x < 0 || at.x + at.width > width) told(`${how}: the explanation is cut at the side`);
        if ((await term.getAttribute("aria-describedby")) !== "term-meaning") told(`${how}: a screen reader does not hear the explanation`);
        if ((await height()) !== before) told(`${how}: the page jumps`);
    };
    const gone = async (how) => box.waitFor({ state: "hidden", timeout: 2000 }).catch(() => told(`${how}: the explanation stays`));
    await term.scrollIntoViewIfNeeded();
    if (isPhone) {
        await term.tap();
        await fits("touch");
        await page.touchscreen.tap(5, 400);
        await gone("a touch elsewhere");
        return;
    }
    await term.hover();
    await fits("mouse");
    await page.keyboard.press("Escape");
    await gone("Escape");
    await page.mouse.move(0, 0);
    await page.keyboard.press("Tab");
    await term.evaluate((one) => one.focus({ focusVisible: true }));
    await fits("keyboard");
    await page.keyboard.press("Escape");
    await gone("Escape");
};

// Without scripts answers are folded under the questions, and terms are links with a title.
const still = (name) => withPage(name, { viewport: { width: 1280, height: 900 }, colorScheme: "light", javaScriptEnabled: false }, async (page, told) => {
    const questions = page.locator("[data-exercise], [data-quiz]");
    for (let i = 0; i < await questions.count(); i++) {
        if (await questions.nth(i).locator("form").isVisible()) told("a form that nothing answers is shown");
        if (await questions.nth(i).locator(".exercise-answers li").count() < 2) told("a question without answers");
    }
    const bare = await page.locator('main a[href^="glossary.html#"]:not([title])').count();
    if (bare) told(`${bare} links to terms have no title`);
    if (await page.locator(".idea-controls").isVisible()) told("a figure shows controls that nothing answers");
});

// The search is loaded when it is wanted, by a click, a key or a link to what was found.
const searched = () => withPage("ch05-unroll.html", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }, async (page, told, files) => {
    const isLoaded = () => [...files].some((file) => /\/(searcher|mark|elasticlunr)-/.test(file));
    const bar = page.locator("#mdbook-searchbar");
    if (isLoaded()) told("the search is loaded before anybody searches");
    for (const open of [() => page.keyboard.press("s"), () => page.locator("#mdbook-search-toggle").click()]) {
        // A search is in the address: the page begins anew without it.
        await page.goto(pathToFileURL(`${site}/ch05-unroll.html`).href);
        await open();
        await bar.waitFor({ state: "visible", timeout: 5000 });
        await bar.pressSequentially("shuffle");
        await page.locator("#mdbook-searchresults li").first().waitFor({ timeout: 20000 });
    }
    await page.goto(`${pathToFileURL(`${site}/ch05-unroll.html`).href}?highlight=shuffle`);
    await page.locator("main mark").first().waitFor({ state: "attached", timeout: 5000 });
});

// One sheet of A4, and no picture of the whole book cut at the side of the paper.
const printed = async () => withPage("cheat-sheet.html", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }, async (page, told) => {
    const pdf = await page.pdf({ format: "A4", margin: { top: "10mm", bottom: "10mm", left: "10mm", right: "10mm" }, path: `${pictures}/cheat-sheet.pdf` });
    const sheets = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length;
    if (sheets !== 1) told(`prints on ${sheets} sheets of A4, and should on one`);
});

const jobs = names.flatMap((name) => [
    ...[["light", 1280], ["dark", 390]].map(([colorScheme, width]) => () => {
        const isPhone = width === 390;
        return withPage(name, { viewport: { width, height: 844 }, colorScheme, hasTouch: isPhone, reducedMotion: "reduce" }, async (page, told, files) => {
            await themed(page, told, isPhone ? "navy" : "light");
            if (!isPhone && BY_KEYBOARD.test(name)) await byKeyboard(page, told);
            await started(page);
            await explained(page, told, isPhone);
            await opened(page);
            if (!isPhone) weigh(files, told);
            await uncut(page, told);
            for (const problem of await shown(page)) told(problem);
            await page.evaluate(axe);
            await accessible(page, told, isPhone);
            const figures = await touched(page, told);
            counted.figures += figures;
            // On a machine of CI nobody looks at pictures, and they take their time.
            if (!process.env.CI) await page.screenshot({ path: `${pictures}/${name.replace(".html", "")}-${width}-${colorScheme}.png` });
            // Neither contrast nor answers have to do with the width.
            if (isPhone) return;
            await recoloured(page, told);
            await answered(page, told);
        });
    }),
    () => still(name),
]);
const engine = statSync(`${site}/lab/engine.js`).size;
if (engine > ENGINE_BYTES_MAX) problems.push(`lab/engine.js has ${engine} bytes, and ${ENGINE_BYTES_MAX} may be`);
jobs.push(printed);
jobs.push(searched);
jobs.push(...editionJobs(site, names, withPage, async (page, told, files) => {
    await started(page);
    await opened(page);
    weigh(files, told);
    await uncut(page, told);
    for (const problem of await shown(page)) told(problem);
    if (!process.env.CI) await page.screenshot({ path: `${pictures}/${new URL(page.url()).pathname.split("/").slice(-2).join("-")}-390.png` });
}));

await Promise.all(Array.from({ length: 4 }, async () => { for (let job = jobs.shift(); job; job = jobs.shift()) await job(); }));
await browser.close();
for (const problem of problems) console.log(problem);
console.error(JSON.stringify(counted));
process.exitCode = problems.length ? 1 : 0;
