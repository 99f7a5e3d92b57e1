// Links to a moment and links that carry a kernel: copied by keyboard, opened again, and harmless whatever they hold.
import { deflateSync } from "node:zlib";

const base64 = (bytes) => Buffer.from(bytes).toString("base64url");
// A kernel, packed as book/src/lab/link.js packs it.
export const packed = (kernel) => base64(deflateSync(JSON.stringify(kernel)));

const opened = async (page, address) => {
    await page.goto("about:blank");
    await page.goto(address);
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector(".lab .lab-say")?.textContent && !document.querySelector(".lab[aria-busy]"), null, { timeout: 30000 });
};
// Presses the button, and returns what the page would have put on the clipboard.
export const copy = async (page) => {
    await page.evaluate(() => { window.copied = null; navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
    await page.locator(".lab .lab-link").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".lab .lab-link-status").textContent !== "");
    return page.evaluate(() => window.copied);
};
const state = (page) => page.evaluate(() => {
    const { variant, chosen, at, shown, grain } = document.querySelector(".lab").labFigure;
    return JSON.stringify([variant.name, chosen.n, chosen.block, at - shown.from, grain]);
});

// Markup and script as source, as PTX, as other types; a decompression bomb; damaged bytes.
const EVIL = `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;
const hostile = [
    packed({ source: EVIL, ptx: EVIL }), packed({ source: [EVIL] }), packed({ ptx: "x" }), packed([EVIL]), packed({ source: "a", ptx: { name: EVIL } }),
    packed({ source: "a".repeat(3 << 20) }), base64("not deflated"), "x".repeat(40000), encodeURIComponent(EVIL), "__proto__", "",
];

export const links = async (page, place, slug, told) => {
    await opened(page, place(slug));
    await page.locator(".lab .lab-next").first().click();
    const before = await state(page);
    const address = await copy(page);
    if (!address?.includes(`#lab=${slug}`)) return told(`Copy link copies ${address}`);
    await opened(page, address);
    if ((await state(page)) !== before) told(`the copied link leads to ${await state(page)}, not to ${before}`);
    // The reader's own kernel, here the page's own with a line more.
    const mine = await page.evaluate(async () => {
        const { labFigure: figure } = document.querySelector(".lab");
        const source = `${figure.data.files[figure.variant.source]}\n// mine\n`;
        await reductionLab.adopt(figure, figure.variant, source, figure.played.ptx.text);
        return { source, result: figure.result };
    });
    const own = await copy(page);
    if (!/&my=[\w-]+$/.test(own) || own.length > 33000) return told(`a link with a kernel has ${own?.length} characters: ${own?.slice(0, 99)}`);
    await opened(page, own);
    await page.waitForSelector(".lab .lab-offer:not([hidden])");
    const asked = await page.evaluate(() => ({ of: document.querySelector(".lab").labFigure.variant.of, text: document.querySelector(".lab .lab-offer pre").textContent }));
    if (asked.of) told("a kernel of a link runs without being asked to");
    if (asked.text !== mine.source) told("a link brings another text than it was made from");
    await page.locator(".lab .lab-offerRun").press("Enter");
    await page.waitForFunction(() => /[✓✗]|PTX/.test(document.querySelector(".lab .lab-offer-status").textContent), null, { timeout: 30000 });
    const ran = await page.evaluate(() => ({ of: document.querySelector(".lab").labFigure.variant.of, result: document.querySelector(".lab").labFigure.result, said: document.querySelector(".lab .lab-offer-status").textContent }));
    const hasPtx = !/not its PTX/.test(ran.said);
    if (hasPtx && (!ran.of || String(ran.result) !== String(mine.result))) told(`a kernel of a link comes to ${ran.result}: ${ran.said}`);
    await page.locator(".lab .lab-offerDrop").click();
    await page.waitForFunction(() => !location.hash.includes("my="));
};

// Nothing in a hostile link runs by itself or becomes part of the page.
export const harmless = async (page, place, slug, told) => {
    for (const [i, my] of hostile.entries()) {
        const words = encodeURIComponent(EVIL);
        await opened(page, place(slug, `#lab=${slug}&v=${words}&n=${words}&at=${words}&lane=${words}&in=${words}&s=${words}&op=${words}&k=${words}&my=${my}`));
        await page.waitForTimeout(150);
        const got = await page.evaluate(() => {
            const lab = document.querySelector(".lab");
            return { isHurt: window.hurt !== undefined, made: lab.querySelectorAll("img, script, iframe").length, of: lab.labFigure.variant.of, status: lab.querySelector(".lab-offer-status")?.textContent };
        });
        if (got.isHurt || got.made || got.of || got.status) told(`hostile link ${i}: ${JSON.stringify(got)}`);
        const run = page.locator(".lab .lab-offerRun");
        if (i > 0 || !(await run.count())) continue;
        // Even if the reader runs it, the page shows text and nothing else.
        await run.click();
        await page.waitForFunction(() => document.querySelector(".lab .lab-offer-status").textContent.length > 20, null, { timeout: 30000 });
        await page.waitForTimeout(150);
        if (await page.evaluate(() => window.hurt !== undefined || document.querySelectorAll(".lab img, .lab script").length)) told("a hostile kernel that is run gets into the page");
    }
};
