// What colours make of a page's words, by axe. A page shows thousands of words in a few dozen looks, and axe takes its time for each:
// the first few words of each look stand for the others. A look is the words' colour, size and weight, and all that lies behind them.
const FEW = 5;
// What axe says of colours alone.
export const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

// Words of the page that are hard to read, and links that only their colour tells from the text.
export const faint = (page) => page.evaluate(([few, rules]) => {
    const behind = new Map([[null, ""]]);
    const backdrop = (one) => {
        if (!behind.has(one)) {
            const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position, zIndex } = getComputedStyle(one);
            const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position, zIndex].join();
            const outer = backdrop(one.parentElement);
            behind.set(one, outer.endsWith(`/${own}`) ? outer : `${outer}/${own}`);
        }
        return behind.get(one);
    };
    const looks = new Map();
    for (const one of document.querySelectorAll("body *")) {
        // axe leaves out what is hidden, disabled, or a single sign: such words cannot stand for others.
        const words = one.value || [...one.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE).map((child) => child.data.trim()).join("");
        if (words.length < 2 || !/[\p{L}\p{N}]/u.test(words) || !one.checkVisibility({ visibilityProperty: true })) continue;
        const { color, fontSize, fontWeight, textShadow, webkitTextFillColor } = getComputedStyle(one);
        const isOff = Boolean(one.closest(":disabled, [aria-disabled=true], label:has(:disabled)"));
        const look = [color, fontSize, fontWeight, textShadow, webkitTextFillColor, isOff, backdrop(one)].join(" ");
        looks.set(look, [...(looks.get(look) ?? []), one]);
    }
    const include = [...[...looks.values()].flatMap((alike) => alike.slice(0, few)), ...document.querySelectorAll("p a")];
    if (include.length === 0) return [];
    return window.axe.run({ include }, { resultTypes: ["violations"], preload: false, runOnly: rules }).then(({ violations }) => violations);
}, [FEW, COLOUR_RULES]);
