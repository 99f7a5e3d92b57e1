// The figures that stand still, in a built page: without scripts and on paper one of the two widths of each is there, with a title
// and a description, the lab's own too; and a figure's link sets the lab to what the figure shows.

const looked = (page) => page.evaluate(() => {
    const isShown = (one) => one.getClientRects().length > 0;
    const drawings = [...document.querySelectorAll("svg.still")];
    const shown = drawings.filter(isShown);
    return {
        drawings: drawings.length,
        shown: shown.length,
        unnamed: shown.filter((one) => !one.querySelector("title")?.textContent || !one.querySelector("desc")?.textContent).length,
        cut: shown.filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().width < 200).length,
        sentence: [...document.querySelectorAll(".lab > .lab-still > .lab-still-say")].filter(isShown).map((one) => one.textContent).join(" "),
        canvases: [...document.querySelectorAll(".lab canvas")].filter(isShown).length,
        // A colour that the page's style does not know is drawn black, or not at all.
        colours: [...new Set(drawings.flatMap((one) => one.outerHTML.match(/var\(--[\w-]+\)/g) || []))].filter((name) => !getComputedStyle(drawings[0]).getPropertyValue(name.slice(4, -1)).trim()),
    };
});
const judge = (found, where, told) => {
    if (found.drawings === 0 || found.shown * 2 !== found.drawings) told(`${where}: ${found.shown} of ${found.drawings} drawings are shown, not one width of each`);
    if (found.unnamed) told(`${where}: ${found.unnamed} drawings have no title or no description`);
    if (found.cut) told(`${where}: ${found.cut} drawings are cut, or too small to see`);
    if (!found.sentence) told(`${where}: the lab's still picture is not there with its sentence`);
    if (found.canvases) told(`${where}: ${found.canvases} canvases are shown`);
    if (found.colours.length) told(`${where}: colours that no style has: ${found.colours.join(", ")}`);
};

// Without scripts, at two widths.
export const still = async (page, address, told) => {
    await page.goto(address);
    for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        for (const media of ["screen", "print"]) {
            await page.emulateMedia({ media });
            judge(await looked(page), `without scripts, ${width} px wide, on ${media}`, told);
        }
    }
};

// With scripts and the lab running: what is printed, and the links of the figures.
export const alive = async (page, told) => {
    if (await page.locator(".lab > .lab-still").first().isVisible()) told("the still picture stands beside the lab that runs");
    await page.emulateMedia({ media: "print" });
    judge(await looked(page), "in print", told);
    await page.emulateMedia({ media: "screen" });
    const links = await page.$$eval(".still-to a.lab-to", (all) => all.map((one) => one.hash));
    for (const [i, hash] of links.entries()) {
        await page.locator(".still-to a.lab-to").nth(i).click();
        await page.waitForFunction((hash) => document.querySelector(".lab").labFigure.answered === hash, hash, { timeout: 20000 }).catch(() => told(`the link of figure ${i} does not set the lab: ${hash}`));
        const wanted = new URLSearchParams(hash.slice(1));
        const got = await page.evaluate(() => {
            const { variant, chosen, schedule, at, shown } = document.querySelector(".lab").labFigure;
            return { v: variant.name, n: chosen.n, b: chosen.block, s: schedule, at: at - shown.from };
        });
        for (const [key, value] of Object.entries(got)) if (wanted.has(key) && wanted.get(key) !== String(value)) told(`the link of figure ${i} asks for ${key}=${wanted.get(key)} and gets ${value}`);
    }
};
