// Edit and run against a real server: `node edit.mjs ADDRESS SITE CHROMIUM PICTURES SHOWN…`. SITE is the same site as files, SHOWN the pages of
// `cargo course show`: of an exercise, and of a trace.
// Prints a line for each problem; the status is 1 if there is one.
import { createServer } from "node:http";
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { copy } from "./links.mjs";

const [address, site, executablePath, pictures, ...shown] = process.argv.slice(2);
const PAGE = "ch05-unroll.html";
// A right kernel of the page, at a size that is drawn.
const RIGHT = "#lab=ch05-unroll&v=unroll_shuffle&n=256&b=128&s=independent";
// Unrolled templates, each some seconds of work for a compiler, and a hundred of them.
const SLOW = Array.from({ length: 100 }, (_, k) => `extern "C" __global__ void slow${k}(unsigned* x) { *x = f<3, ${k}>(*x); }`);
const ENDLESS = `template <int N, int K> struct F {
    static __device__ unsigned of(unsigned x) {
#pragma unroll
        for (int i = 0; i < 64; ++i) x = x * (x + i + K) ^ F<N - 1, K>::of(x + i);
        return x;
    }
};
template <int K> struct F<0, K> {
    static __device__ unsigned of(unsigned x) { return x * 3 + K; }
};
template <int N, int K> __device__ unsigned f(unsigned x) { return F<N, K>::of(x); }
${SLOW.join("\n")}
`;
const problems = [];
const told = (what) => problems.push(what);
let done = 0;
const expect = (isSo, what) => {
    done += 1;
    if (!isSo) told(what);
};
mkdirSync(pictures, { recursive: true });
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });

const opened = async (page) => {
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector(".lab .lab-say")?.textContent && !document.querySelector(".lab[aria-busy]"), null, { timeout: 30000 });
};
const editing = async (page) => {
    await page.locator(".lab .lab-editing").first().click();
    await page.waitForSelector(".lab .cm-content", { timeout: 30000 });
};
const status = (page) => page.locator(".lab .lab-edit-status").textContent();
const text = (page) => page.evaluate(() => document.querySelector(".lab").labFigure.editing.editor.text());
const put = (page, words) => page.evaluate((words) => document.querySelector(".lab").labFigure.editing.editor.put(words), words);
const run = async (page) => {
    await page.locator(".lab .lab-runMine").click();
    await page.waitForFunction(() => !document.querySelector(".lab .lab-runMine").disabled, null, { timeout: 90000 });
    return status(page);
};
// Lines of the editor that have a mark in the gutter, of those that are on the screen.
const marked = (page) => page.evaluate(() => [...document.querySelectorAll(".lab .cm-lint-marker-error")].map((mark) => {
    const { top } = mark.closest(".cm-gutterElement").getBoundingClientRect();
    const numbers = [...document.querySelectorAll(".lab .cm-lineNumbers .cm-gutterElement")];
    return Number(numbers.find((one) => Math.abs(one.getBoundingClientRect().top - top) < 3)?.textContent);
}));
const lineOf = (words, part) => words.slice(0, words.indexOf(part)).split("\n").length;
const picture = (page, name) => page.locator(".lab").first().screenshot({ path: `${pictures}/${name}.png` });

// On the site as files the button says what it needs, and no editor is loaded.
const still = async (page) => {
    const loaded = [];
    page.on("request", (request) => loaded.push(request.url()));
    await page.goto(`${pathToFileURL(`${site}/${PAGE}`)}`);
    await opened(page);
    await page.locator(".lab .lab-editing").first().click();
    const words = await page.locator(".lab .lab-edit").textContent();
    expect(words.includes("cargo course book --serve"), `from a file, the button does not say what it needs: ${words}`);
    expect(!loaded.some((url) => url.includes("editor.js")), "from a file, the editor is loaded for nothing");
};

const edit = async (page) => {
    await page.goto(`${address}/${PAGE}${RIGHT}`);
    await opened(page);
    await editing(page);
    const original = await text(page);
    expect((await run(page)).startsWith("✓"), `the original is not right: ${await status(page)}`);
    await picture(page, "right");

    const broken = original.replace("__syncthreads();", "syncthreads();");
    await put(page, broken);
    const refused = await run(page);
    const at = lineOf(broken, " syncthreads();");
    expect(refused.includes("does not compile"), `an error of the compiler is not told: ${refused}`);
    expect((await marked(page)).includes(at), `the error is at line ${at}, marked are ${await marked(page)}`);
    await picture(page, "error");

    const racy = original.replace("__syncthreads();", "");
    await put(page, racy);
    const wrong = await run(page);
    expect(wrong.startsWith("✗"), `a race is not told: ${wrong}`);
    const faults = await page.evaluate(() => document.querySelector(".lab").labFigure.reply.json.launches.flatMap(({ faults }) => faults).map(({ code, line }) => ({ code, line })));
    expect(faults.some(({ code }) => code === "shared-race"), `no race is found: ${JSON.stringify(faults)}`);
    expect((await marked(page)).some((line) => faults.some((fault) => fault.line === line)), "no fault is marked at its line");
    await page.locator(".lab .lab-next").first().click();
    await picture(page, "fault");

    await page.locator(".lab .lab-compareMine").click();
    await page.waitForSelector(".lab .lab-beside .lab-table td", { timeout: 30000 });
    expect((await page.locator(".lab .lab-beside .lab-table").textContent()).includes("unroll_shuffle"), "it is not compared with the original");
    await page.locator(".lab .lab-backToOriginal").click();
    await page.waitForFunction(() => document.querySelector(".lab").labFigure.variant.name === "unroll_shuffle");

    // The text is kept; an endless loop is stopped; a compiler that does not come to an end, too; a text may be too long.
    await page.reload();
    await opened(page);
    await editing(page);
    expect((await text(page)) === racy, "the reader's text is not kept");
    await page.locator(".lab .lab-startOver").click();
    expect((await text(page)) === original, "starting over does not bring the original back");
    await put(page, original.replace("    __syncthreads();", "    while (true) { }"));
    const endless = await run(page);
    expect(endless.includes("fault") && !endless.includes(" 0 "), `an endless loop: ${endless}`);
    // It is drawn up to where its budget ended, and the last step that is drawn is in the loop.
    const drawn = await page.evaluate(() => {
        const { labFigure: figure } = document.querySelector(".lab");
        if (!figure.shown) return "nothing";
        figure.go(figure.shown.to);
        const { line } = figure.model.code[figure.model.steps[figure.shown.to - 1].pc];
        return `${figure.data.files[figure.variant.source].split("\n")[line - 1]} ${document.querySelector(".lab-say").textContent}`;
    });
    expect(/while \(true\).*without an end/.test(drawn), `of an endless loop is drawn: ${drawn}`);
    await put(page, ENDLESS);
    expect((await run(page)).includes("stopped"), `an endless compilation: ${await status(page)}`);
    await put(page, `// ${"x".repeat(300000)}`);
    expect((await run(page)).includes("too large"), `a text that is too long: ${await status(page)}`);
    await page.locator(".lab .lab-startOver").click();
    expect((await run(page)).startsWith("✓"), "after all of that, the original is not right any more");
    // The registers come from ptxas.
    await page.waitForFunction(() => /registers? a thread/.test(document.querySelector(".lab .lab-resident").textContent), null, { timeout: 60000 });
    const resident = await page.locator(".lab .lab-resident").textContent();
    expect(/holds 16 such blocks at a time: 64 of 64 warps, 100 %.*By NVRTC/.test(resident), `blocks of a multiprocessor: ${resident}`);
    // A link takes the kernel to a reader who has a compiler, which compiles it anew.
    const link = await copy(page);
    await page.goto("about:blank");
    await page.goto(link);
    await opened(page);
    await page.locator(".lab .lab-offerRun").click();
    await page.waitForFunction(() => document.querySelector(".lab .lab-offer-status").textContent.startsWith("✓"), null, { timeout: 60000 });
    expect(await page.evaluate(() => Boolean(document.querySelector(".lab").labFigure.variant.of)), "the kernel of a link does not run");
};

// Who is no page of this server.
const strangers = async (page, context) => {
    const token = await page.evaluate(() => window.reductionServer.token);
    const ask = (headers) => context.request.post(`${address}/__lab/compile`, { headers, data: "x" });
    expect((await ask({ Origin: address })).status() === 403, "a request without a token is answered");
    expect((await ask({ Origin: "http://evil.example", "X-Lab-Token": token })).status() === 403, "another origin is answered");
    const stranger = createServer((_, response) => response.setHeader("content-type", "text/html").end("<p>stranger</p>")).listen(0, "127.0.0.1");
    await new Promise((ready) => stranger.once("listening", ready));
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${stranger.address().port}/`);
    const got = await other.evaluate(async ([address, token]) => {
        const tries = [[`${address}/__lab/compile`, { method: "POST", headers: { "X-Lab-Token": token }, body: "x" }], [`${address}/index.html`, {}]];
        return Promise.all(tries.map(([url, options]) => fetch(url, options).then(() => "answered", () => "refused")));
    }, [address, token]);
    expect(got.every((one) => one === "refused"), `a page of another origin reads what the server says: ${got}`);
    stranger.close();
};

// An answer in the page is known to a browser that has never been there.
const progress = async (page, fresh) => {
    const name = "[data-exercise=half-the-blocks]";
    await page.goto(`${address}/ch04-first-add.html`);
    const exercise = page.locator(name);
    const answer = await exercise.getAttribute("data-answer");
    const field = exercise.locator(".exercise-form input[type=text]");
    await field.fill(String(Number(answer) + 7));
    await field.press("Enter");
    await exercise.locator(".exercise-show").click();
    await page.waitForSelector(`${name} .lab .lab-say:not(:empty)`, { timeout: 30000 });
    await exercise.screenshot({ path: `${pictures}/show.png` });
    // A word is no answer: the page says so, and asks no server.
    let isSent = false;
    const sends = (request) => { isSent ||= request.url().endsWith("/__lab/progress"); };
    page.on("request", sends);
    await field.fill("many");
    await field.press("Enter");
    await page.waitForTimeout(300);
    page.off("request", sends);
    expect(!isSent, "a word is sent as an answer");
    await field.fill(answer);
    const noted = page.waitForResponse((response) => response.url().endsWith("/__lab/progress"));
    await field.press("Enter");
    expect((await noted).ok(), "the server does not take an answer");
    await fresh.goto(`${address}/ch04-first-add.html`);
    expect(await fresh.locator(`${name}.is-solved`).count() === 1, "what was solved is not known to another browser");
};

// A page of `cargo course show` opens on something and goes on, in both themes, on a desk and on a phone.
const show = async (page) => {
    for (const file of shown) {
        for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
            const name = file.split("/").pop();
            await page.setViewportSize({ width, height: 900 });
            await page.emulateMedia({ colorScheme });
            await page.goto(pathToFileURL(file).href);
            await opened(page);
            const at = () => page.locator(".lab .lab-range").inputValue();
            const before = await at();
            await page.locator(".lab .lab-back").click();
            expect(before !== "0" && (await at()) !== before, `${name}: it opens on nothing, or a step goes nowhere`);
            const words = await page.locator(".lab .lab-settings").textContent();
            expect(/two-blocks/.test(name) ? words.includes("sequential_i32, recorded") : words.includes("my/four-loads.cu"), `${name}: it is said to be ${words}`);
            expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: wider than the window`);
            await page.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true });
        }
    }
};

// A trace opens below any lab, and what is none is refused in words.
const pick = async (page) => {
    await page.goto(pathToFileURL(`${site}/${PAGE}`).href);
    await opened(page);
    await page.locator(".lab .lab-key summary").first().click();
    const input = page.locator(".lab .lab-key input[type=file]").first();
    await input.setInputFiles({ name: "nonsense.json", mimeType: "application/json", buffer: Buffer.from("[1]") });
    await page.waitForFunction(() => document.querySelector(".lab .lab-key .lab-problem").textContent.includes("nonsense.json"));
    await input.setInputFiles(`${pictures}/two-blocks.json`);
    await page.waitForFunction(() => document.querySelectorAll(".lab.lab-on").length === 2);
    const sum = await page.evaluate(() => {
        const { labFigure: figure } = document.querySelectorAll(".lab.lab-on")[1];
        figure.go(figure.shown.to);
        return figure.view.cell(figure.model.resultCell)?.shown;
    });
    expect(sum === (127 * 128) / 2, `the first block's sum is ${sum} in the lab of a trace`);
};

const withContext = async (act) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    // What the server refuses shows in the console too, as it should.
    page.on("console", (message) => { if (message.type() === "error" && !/status of (403|413|504)/.test(message.text())) told(`console: ${message.text()}`); });
    page.on("pageerror", (error) => told(`error: ${error.message}`));
    try {
        await act(page, context);
    } catch (error) {
        told(`${act.name || "progress"}: ${error.message.split("\n")[0]}`);
    }
    await context.close();
};

await withContext(still);
await withContext(show);
await withContext(pick);
await withContext(async (page, context) => {
    await edit(page);
    await strangers(page, context);
});
await withContext(async (page) => withContext((fresh) => progress(page, fresh)));
await browser.close();
for (const problem of problems) console.log(problem);
console.error(`${done} things that a reader or a stranger does`);
process.exitCode = problems.length ? 1 : 0;
