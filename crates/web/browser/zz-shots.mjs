import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
const [site, hash = "", name = "s"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("console", (m) => { if (m.type() === "error") console.log("console:", m.text()); });
    page.on("pageerror", (e) => console.log("error:", e.stack));
    await page.goto(`${pathToFileURL(`${site}/ch14-all-reduce.html`)}${hash}`);
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => document.querySelector(".lab .lab-say")?.textContent && !document.querySelector(".lab[aria-busy]"), null, { timeout: 20000 }).catch(async () => console.log("TIMEOUT", (await page.evaluate(() => document.querySelector(".lab").innerText)).slice(0, 400), await page.evaluate(() => String(document.querySelector(".lab").labFigure?.failure))));
    await page.waitForTimeout(500);
    if (process.argv[5]) { await page.evaluate(process.argv[5]); await page.waitForTimeout(1500); }
    console.log(width, await page.evaluate(() => document.querySelector(".lab-say").textContent), await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
    await page.locator(".lab").first().screenshot({ path: `/tmp/${name}-${width}.png` });
    await context.close();
}
await browser.close();
