// A figure as pages include it: SVG in two widths, of which the page shows the one that fits, each with a title and a description.
(() => {
    "use strict";
    const lab = reductionLab;
    const WIDTHS = { wide: 720, narrow: 340 };
    const NAMED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
    lab.escaped = (words) => String(words).replace(/[&<>"]/g, (sign) => NAMED[sign]);

    // A link that sets the lab of the chapter's page to the moment of the picture; a smaller run leads to the lab's nearest.
    const link = ([figure, at]) => {
        const { data, variant, chosen, schedule, shown, model } = figure;
        const words = { lab: data.slug, v: variant.name, n: figure.asked.n, b: figure.asked.b, s: schedule };
        if (figure.asked.g) words.g = figure.asked.g;
        const isSame = chosen.n === figure.asked.n;
        if (isSame && model.blocks.length > 1) words.k = shown.block;
        if (isSame && at !== undefined) words.at = figure.end("line", at - 1) - shown.from;
        const address = Object.entries(words).map(([key, value]) => `${key}=${value}`).join("&amp;");
        const said = lab.text(isSame ? "step" : "stepLarger", { n: figure.asked.n });
        return `<p class="still-to"><a class="lab-to" href="${data.slug}.html#${address}">${lab.escaped(said)}</a></p>\n`;
    };

    // `draw(pen, narrow)` gives the height; `to` is the figure of a run and the step behind the moment that is shown.
    lab.picture = ({ title, description, draw, to }) => Object.entries(WIDTHS).map(([kind, width]) => {
        const pen = new lab.Pen(width);
        const height = Math.ceil(draw(pen, kind === "narrow"));
        return `<svg class="still still-${kind}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">\n`
            + `<title>${lab.escaped(title)}</title>\n<desc>${lab.escaped(description)}</desc>\n${pen.svg()}\n</svg>`;
    }).join("\n") + "\n" + (to ? link(to) : "");

    lab.drawings = [];
    // A figure by the name of its file; `make` gives its text.
    lab.still = (name, make) => lab.drawings.push([name, make]);
    lab.stills = () => JSON.stringify(lab.drawings.map(([name, make]) => {
        try {
            return [name, make()];
        } catch (error) {
            throw new Error(`${name}: ${error.message}\n${error.stack}`);
        }
    }));
})();
