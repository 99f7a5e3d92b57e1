// What a beginner touches first: the labs of "Your first kernel", by mouse and by keyboard, and the introduction's figure that plays.

const said = (lab) => lab.locator("[role=status]").textContent();

const hello = async (page, lab, told) => {
    const [blocks, threads] = await lab.locator("select").all();
    for (const [grid, block] of [[2, 4], [3, 32]]) {
        await blocks.selectOption(String(grid));
        await threads.selectOption(String(block));
        await lab.locator(".first-run").focus();
        await page.keyboard.press("Enter");
        await lab.locator(".first-printed:not([hidden])").waitFor({ timeout: 20000 });
        const lines = (await lab.locator(".first-printed").textContent()).trim().split("\n");
        if (lines.length !== grid * block || new Set(lines).size !== lines.length) told(`${grid} blocks of ${block} print ${lines.length} lines`);
        const cells = await lab.locator(".first-done").allTextContents();
        if (cells.join() !== Array.from({ length: grid * block }, (_, i) => i).join()) told(`${grid} blocks of ${block} have the numbers ${cells}`);
    }
};

// By the value of each guard: whether it is right, how many threads write past the end, and how many keep from writing.
const GUARDS = { a: [false, 24, 0], b: [false, 1, 23], c: [true, 0, 24], d: [false, 24, 0], e: [false, 0, 25] };
const guard = async (page, lab, told) => {
    await lab.locator("input").first().focus();
    for (const [value, expected] of Object.entries(GUARDS)) {
        if (value !== "a") await page.keyboard.press("ArrowRight");
        if (!(await lab.locator(`input[value=${value}]`).isChecked())) told(`the arrow does not lead to guard ${value}`);
        const before = await said(lab);
        await lab.locator(".first-run").click();
        await page.waitForFunction(([place, before]) => { const words = place.textContent; return words !== before && /^[✓✗]/.test(words); }, [await lab.locator("[role=status]").elementHandle(), before], { timeout: 20000 });
        const words = await said(lab);
        const found = [words.startsWith("✓"), await lab.locator(".first-bad").count(), await lab.locator(".first-home").count()];
        if (found.join() !== expected.join()) told(`guard ${value} gives ${found}, not ${expected}: ${words}`);
        if (found[1] && !words.includes("out-of-bounds")) told(`guard ${value} does not name its fault: ${words}`);
        await lab.locator(`input[value=${value}]`).focus();
    }
};

// Both labs of the page.
export const firstKernel = async (page, address, told) => {
    await page.goto(address);
    const labs = page.locator(".lab-first");
    for (const [at, act] of [hello, guard].entries()) {
        await labs.nth(at).scrollIntoViewIfNeeded();
        await labs.nth(at).locator("[role=status]:not(:empty)").waitFor({ timeout: 20000 });
        await act(page, labs.nth(at), told);
    }
};

// The figure of the introduction is whole at first, starts over when it is played, and can be stepped.
export const film = async (page, address, told) => {
    await page.goto(address);
    const coming = () => page.locator("figure.film svg.still-wide .is-coming").count();
    const [play, next] = await page.locator(".film-controls button").all();
    const { y, height } = await play.boundingBox();
    if (y + height > page.viewportSize().height) told("Play is below the first screen");
    if (await coming()) told("the figure is not whole before it is played");
    await play.press("Enter");
    if ((await coming()) !== 4) told(`${await coming()} rounds are to come when it begins`);
    await next.press("Enter");
    if ((await coming()) !== 3) told(`${await coming()} rounds are to come after a step`);
    await play.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll("figure.film svg.still-wide .is-coming").length === 0, null, { timeout: 20000 });
    if (!/80/.test(await said(page.locator(".film-controls")))) told("it does not end with the sum");
};
