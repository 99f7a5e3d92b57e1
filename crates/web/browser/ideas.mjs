// The small figures at the top of part two's chapters, in a page that is open: a keyboard alone changes their numbers and settings, and
// what they show is what this file computes in doubles.

const number = (text) => Number(text.replaceAll("−", "-").replace("inf", "Infinity"));
// Three digits are shown.
const isNear = (found, expected) => Object.is(found, expected) || Math.abs(found - expected) <= Math.max(0.006 * Math.abs(expected), 0.0006);
const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// Rows of numbers under the inputs, and words that the sentence must have.
const expected = {
    softmax: (x) => {
        const powers = x.map((one) => Math.exp(one - Math.max(...x)));
        return { rows: [powers, powers.map((one) => one / (8 * mean(powers)))], words: "1000" };
    },
    norm: (x) => {
        const apart = x.map((one) => one - mean(x));
        const root = (numbers) => Math.sqrt(mean(numbers.map((one) => one * one)) + 1e-5);
        return { rows: [apart.map((one) => one * one), apart.map((one) => one / root(apart)), x.map((one) => one / root(x))], words: "1000" };
    },
};

const shown = (figure) => figure.evaluate((one) => ({
    x: [...one.querySelectorAll(".idea-in input")].map((input) => input.value),
    rows: [...one.querySelectorAll(".idea-rows > *")].map((row) => [...row.children].slice(1, -1).map((cell) => cell.textContent)),
    result: one.querySelector(".idea-rows > :last-child > .idea-result b")?.textContent,
    say: one.querySelector(".idea-say").textContent,
}));

export const touched = async (page, told) => {
    const figure = page.locator("figure.idea");
    if (await figure.count() === 0) return 0;
    const name = await figure.getAttribute("data-idea");
    await page.locator("figure.idea-on").waitFor({ timeout: 20000 });
    const { height } = await figure.boundingBox();
    // The smallest of the window that the course is made for is 720 px high.
    if (page.viewportSize().width === 1280 && height > 241) told(`the figure ${name} is ${height} px high, more than a third of a screen`);
    const judge = (what, found, wanted) => { if (!(typeof wanted === "number" ? isNear(number(found), wanted) : found === wanted)) told(`the figure ${name}: ${what} is ${found}, not ${wanted}`); };
    // From the first control on by the tabulator, to the one that `selector` names.
    const reach = async (selector) => {
        await figure.locator("button, select, input").first().focus();
        for (let i = 0; i < 20 && !(await page.evaluate((selector) => document.activeElement.matches(selector), selector)); i++) await page.keyboard.press("Tab");
    };
    const put = async (place, keys) => {
        await reach(`[aria-label$=" ${place}"]`);
        for (const key of keys) await page.keyboard.press(key);
    };
    if (name === "rows") {
        await reach('[data-set="rows"]');
        await page.keyboard.press("Home");
        await page.keyboard.press("Tab");
        await page.keyboard.press("End");
        const { say } = await shown(figure);
        if (!say.startsWith("1 × 1,048,576 floats")) told(`the figure rows says “${say}” of the least rows and the most columns`);
        await page.keyboard.press("Home");
        judge("the text of the slider", await figure.locator('[data-set="cols"]').getAttribute("aria-valuetext"), "1");
        return 1;
    }
    if (name === "accuracy") {
        judge("the exact sum", (await shown(figure)).result, "7.75");
        await reach('[data-set="order"]');
        await page.keyboard.press("ArrowDown");
        const { say, result } = await shown(figure);
        judge("the exact sum from the end", result, "7.75");
        if (!say.includes("plain sum is 0.")) told(`the figure accuracy says “${say}” of the sum from the end`);
        await put(3, [..."nan"]);
        judge("the sum of a NaN", (await shown(figure)).result, "NaN");
        return 1;
    }
    await put(3, [..."1000"]);
    let { x, rows, say, result } = await shown(figure);
    judge("the number at place 3", x[3], "1000");
    if (name === "operator") {
        judge("the result", result, "(1000, 3)");
        await put(1, [..."nan"]);
        ({ result } = await shown(figure));
        judge("the result", result, "(NaN, 1)");
        await reach('[data-set="op"]');
        for (const key of "sum") await page.keyboard.press(key);
        await put(1, ["Backspace"]);
        ({ x, result } = await shown(figure));
        judge("the sum without place 1", result, x.reduce((sum, one) => sum + number(one || "0"), 0));
        return 1;
    }
    const { rows: all, words } = expected[name](x.map(number));
    all.forEach((row, i) => row.forEach((one, place) => judge(`row ${i}, place ${place}`, rows[i][place], one)));
    if (!say.includes(words)) told(`the figure ${name} says “${say}” of an outlier`);
    await put(3, ["ArrowUp", "ArrowUp", "ArrowDown"]);
    judge("one more at place 3", (await shown(figure)).x[3], "1001");
    await put(3, [..."abc"]);
    if (!(await shown(figure)).say.includes("1001")) told(`the figure ${name} takes “abc” for a number`);
    await reach("[type=checkbox]");
    await page.keyboard.press("Space");
    await put(3, [...(name === "softmax" ? "1000" : "3")]);
    ({ rows } = await shown(figure));
    if (name === "softmax") judge("the share of e^1000", rows[1][3], "NaN");
    await reach("[data-put=reset]");
    await page.keyboard.press("Enter");
    judge("the first number", (await shown(figure)).x[3] === "1000", false);
    return 1;
};
