// The editions of a book in other languages, folders of its site: each page once, on a phone; how one comes from one language to the other
// and keeps one's place; and the search, in Chinese too.
import { existsSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";

const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, reducedMotion: "reduce" };
const DESK = { viewport: { width: 1280, height: 900 }, colorScheme: "light", reducedMotion: "reduce" };
// What is looked for in an edition, and must be found.
const SOUGHT = { zh_CN: ["归约", "存储体冲突", "bank", "warp", "线程束 shuffle"] };

const opened = (page) => page.waitForFunction(() => document.querySelector(".lab .lab-say")?.textContent && !document.querySelector(".lab[aria-busy]"), null, { timeout: 20000 });
const shown = (page) => page.evaluate(() => {
    const { variant, chosen, at, shown } = document.querySelector(".lab").labFigure;
    return JSON.stringify([variant.name, chosen.n, chosen.block, at - shown.from]);
});
const top = (page, id) => page.evaluate((id) => Math.round(document.getElementById(id).getBoundingClientRect().top), id);

const ENGLISH = /[a-z]{3,} [a-z]{2,} [a-z]{2,}/;
// Names of a lab's choices and buttons in which no word is Chinese.
const unnamed = (page) => page.evaluate(() => [...document.querySelectorAll(".lab [aria-label], .lab [title]")]
    .flatMap((one) => [one.getAttribute("aria-label"), one.getAttribute("title")]).filter((name) => /[a-z]/i.test(name || "") && !/\p{Script=Han}/u.test(name)));

// The lab of a chapter steps and plays, and says so in the edition's language.
const played = async (page, told) => {
    await page.locator(".lab").first().scrollIntoViewIfNeeded();
    await opened(page);
    const before = await shown(page);
    await page.locator(".lab .lab-next").first().click();
    await page.waitForTimeout(100);
    if ((await shown(page)) === before) told("a step goes nowhere");
    await page.locator(".lab .lab-stage").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press(" ");
    await page.waitForTimeout(700);
    await page.keyboard.press(" ");
    if ((await page.locator(".lab .lab-range").first().inputValue()) === "0") told("it does not play");
    const words = await page.locator(".lab .lab-say").first().textContent();
    if (ENGLISH.test(words)) told(`the lab speaks English: ${words}`);
};

// What the simulator says of a fault has words of the edition too, and so has what only a screen reader says.
const faulty = async (page, told) => {
    await page.evaluate(() => document.querySelector(".lab").labFigure.open({ variant: "unroll_volatile", at: "fault" }, false));
    const words = await page.locator(".lab .lab-say").first().textContent();
    if (!words.startsWith("✗") || ENGLISH.test(words)) told(`the lab says of a fault: ${words}`);
    for (const name of await unnamed(page)) told(`a part of the lab is named in English: ${name}`);
};

// From a page with its lab at a moment to the other language and back: the moment and the heading in view stay.
const switched = async (page, site, name, edition, told) => {
    await played(page, told);
    await page.waitForTimeout(400);
    const moment = await shown(page);
    const id = await page.evaluate(() => [...document.querySelectorAll("main h2[id]")].filter((one) => !one.closest("details")).at(-3).id);
    const language = () => page.evaluate(() => document.documentElement.lang);
    for (const [to, folder] of [["en", ""], ["zh-CN", `${edition}/`]]) {
        // The keyboard comes from there, and from no lab, which would bring itself into view.
        await page.evaluate((id) => { document.activeElement.blur(); document.getElementById(id).scrollIntoView({ behavior: "instant" }); }, id);
        await page.keyboard.press("Shift");
        await page.locator(".right-buttons a.edition").focus();
        await page.keyboard.press("Enter");
        await page.waitForURL((url) => url.pathname.endsWith(`/${folder}${name}`) && (folder !== "" || !url.pathname.includes(`/${edition}/`)), { timeout: 10000 });
        await opened(page);
        await page.waitForTimeout(500);
        if ((await language()) !== to) told(`the link leads to a page in ${await language()}`);
        if ((await shown(page)) !== moment) told(`the link to ${to} leads to another moment of the lab: ${await shown(page)}, not ${moment}`);
        const at = await top(page, id);
        if (Math.abs(at) > 100) told(`the link to ${to} leaves the heading ${id} at ${at} px`);
    }
    // Without a lab in the address it is the heading's own.
    await page.goto(pathToFileURL(`${site}/${edition}/glossary.html`).href);
    await page.evaluate(() => [...document.querySelectorAll("main h3[id]")].at(20).scrollIntoView());
    await page.locator(".right-buttons a.edition").click();
    await page.waitForURL(/\/glossary\.html#[\w-]+$/, { timeout: 10000 });
};

const searched = async (page, edition, told) => {
    for (const words of SOUGHT[edition] || []) {
        await page.goto(page.url().replace(/[?#].*$/, ""));
        await page.locator("#mdbook-search-toggle").click();
        await page.locator("#mdbook-searchbar").fill(words);
        await page.locator("#mdbook-searchbar").press("End");
        const found = page.locator("#mdbook-searchresults li");
        await found.first().waitFor({ timeout: 20000 }).catch(() => told(`nothing is found for ${words}`));
        const marked = await found.locator(".teaser em").count();
        if (!marked && !words.includes(" ")) told(`what is found for ${words} does not show it`);
    }
};

// Jobs for `pages.mjs`, whose `withPage` opens a page: those of `looked` in each edition, the switch and the search.
export const editionJobs = (site, looked, withPage, look) => {
    const editions = readdirSync(site).filter((name) => existsSync(`${site}/${name}/index.html`));
    return editions.flatMap((edition) => {
        const names = looked.filter((name) => existsSync(`${site}/${edition}/${name}`));
        const chapter = "ch05-unroll.html";
        return [
            ...names.map((name) => () => withPage(`${edition}/${name}`, PHONE, look)),
            () => withPage(`${edition}/${chapter}`, DESK, (page, told) => switched(page, site, chapter, edition, told)),
            () => withPage(`${edition}/${chapter}`, DESK, async (page, told) => {
                await page.locator(".lab").first().scrollIntoViewIfNeeded();
                await opened(page);
                if (edition.startsWith("zh")) await faulty(page, told);
                await searched(page, edition, told);
            }),
        ];
    });
};
