// A figure as pages include it: SVG in two widths, of which the page shows the one that fits, each with a title and a description.
(() => {
    "use strict";
    const lab = reductionLab;
    const WIDTHS = { wide: 720, narrow: 340 };
    const NAMED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
    lab.escaped = (words) => String(words).replace(/[&<>"]/g, (sign) => NAMED[sign]);

    // `draw(pen, narrow)` gives the height.
    lab.picture = ({ title, description, draw }) => Object.entries(WIDTHS).map(([kind, width]) => {
        const pen = new lab.Pen(width);
        const height = Math.ceil(draw(pen, kind === "narrow"));
        return `<svg class="still still-${kind}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">\n`
            + `<title>${lab.escaped(title)}</title>\n<desc>${lab.escaped(description)}</desc>\n${pen.svg()}\n</svg>`;
    }).join("\n") + "\n";

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
