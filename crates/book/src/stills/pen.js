// Draws as a canvas's context does, and writes SVG. What has one style becomes one path, as long as nothing else is drawn between
// that could lie above or below it: rectangles first, the lines that cross them in a group of their own, words on top of each group.
(() => {
    "use strict";
    const lab = reductionLab;
    const round = (value) => String(Math.round(value * 10) / 10);
    const at = (x, y) => `${round(x)} ${round(y)}`;

    // Colours by name, so that the page's theme decides.
    const colours = Object.fromEntries(["ink", "soft", "read", "write", "problem", "right", "line", "paper", "wait"].map((name) => [name, `var(--lab-${name})`]));
    colours.scale = (depth) => `var(--lab-d${Math.round(depth * 10)})`;
    // On the middle of the scale dark words are the ones to read, in every theme.
    colours.on = (depth) => `var(--lab-on-${depth < 0.45 ? "low" : depth < 0.62 ? "mid" : "high"})`;
    lab.inks = colours;

    class Pen {
        constructor(width) {
            this.width = width;
            this.written = [];
            this.#fresh();
            Object.assign(this, { globalAlpha: 1, lineWidth: 1, dash: [], textAlign: "left", textBaseline: "alphabetic", font: "11px sans-serif" });
        }
        // ---- What the stage asks of a context.
        setTransform() {}
        clearRect() {}
        setLineDash(dash) { this.dash = dash; }
        fillRect(x, y, w, h) {
            this.#begin("boxes");
            this.#add(`fill:${this.fillStyle}`, `M${at(x, y)}h${round(w)}v${round(h)}h${round(-w)}z`);
        }
        strokeRect(x, y, w, h) {
            this.#begin("boxes");
            this.#add(this.#stroked(), `M${at(x, y)}h${round(w)}v${round(h)}h${round(-w)}z`);
        }
        beginPath() { this.path = ""; }
        moveTo(x, y) { this.path += `M${at(x, y)}`; }
        lineTo(x, y) { this.path += `L${at(x, y)}`; }
        bezierCurveTo(a, b, c, d, x, y) { this.path += `C${at(a, b)} ${at(c, d)} ${at(x, y)}`; }
        stroke() {
            this.#begin("lines");
            this.#add(this.#stroked(), this.path);
        }
        fill() {
            this.#begin("lines");
            this.#add(`fill:${this.fillStyle}`, `${this.path}z`);
        }
        fillText(words, x, y) {
            const [, weight, size] = /^(600 )?([\d.]+)px/.exec(this.font);
            const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
            const key = `style="fill:${this.fillStyle}" font-size="${round(Number(size))}"${weight ? ' font-weight="600"' : ""}${anchor === "start" ? "" : ` text-anchor="${anchor}"`}`;
            const down = this.textBaseline === "middle" ? Number(size) * 0.35 : 0;
            if (!this.texts.has(key)) this.texts.set(key, []);
            this.texts.get(key).push({ words: String(words), x, y: y + down });
        }
        // ---- Shorter ways to say the same, for the small figures.
        box(x, y, w, h, { fill, stroke, thick = 1, dash = [] }) {
            if (fill) {
                this.fillStyle = fill;
                this.fillRect(x, y, w, h);
            }
            if (!stroke) return;
            Object.assign(this, { strokeStyle: stroke, lineWidth: thick, dash });
            this.strokeRect(x, y, w, h);
            this.dash = [];
        }
        words(words, x, y, { align = "left", size = 12, colour = colours.ink, bold = false } = {}) {
            Object.assign(this, { font: `${bold ? "600 " : ""}${size}px`, textAlign: align, textBaseline: "middle", fillStyle: colour });
            this.fillText(words, x, y);
        }
        // Words of one line or more, each at most `width` long; gives the height.
        note(words, x, y, width, { size = 12, ...more } = {}) {
            // A sign is half as wide as it is high, a little more in some fonts.
            const most = Math.floor(width / (0.52 * size));
            const lines = [""];
            for (const word of words.split(" ")) {
                const last = lines[lines.length - 1];
                if (last && last.length + word.length + 1 > most) lines.push(word);
                else lines[lines.length - 1] = last ? `${last} ${word}` : word;
            }
            lines.forEach((line, i) => this.words(line, x, y + i * size * 1.35, { size, ...more }));
            return lines.length * size * 1.35;
        }
        line(points, { colour = colours.ink, thick = 1.2, dash = [], alpha = 1 } = {}) {
            this.beginPath();
            points.forEach(([x, y], i) => (i ? this.lineTo(x, y) : this.moveTo(x, y)));
            Object.assign(this, { strokeStyle: colour, lineWidth: thick, dash, globalAlpha: alpha });
            this.stroke();
            Object.assign(this, { dash: [], globalAlpha: 1 });
        }
        arrow(x0, y0, x1, y1, more = {}) {
            const length = Math.hypot(x1 - x0, y1 - y0) || 1;
            const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
            this.line([[x0, y0], [x1 - ux * 5, y1 - uy * 5]], more);
            this.beginPath();
            this.moveTo(x1, y1);
            this.lineTo(x1 - ux * 7 - uy * 3.2, y1 - uy * 7 + ux * 3.2);
            this.lineTo(x1 - ux * 7 + uy * 3.2, y1 - uy * 7 - ux * 3.2);
            this.fillStyle = more.colour || colours.ink;
            this.fill();
        }

        // ---- SVG.
        #fresh() {
            Object.assign(this, { kind: null, paths: new Map(), texts: new Map() });
        }
        #begin(kind) {
            if (this.kind && this.kind !== kind) this.#flush();
            this.kind = kind;
        }
        #stroked() {
            const dash = this.dash.length ? `;stroke-dasharray:${this.dash.join(" ")}` : "";
            const alpha = this.globalAlpha < 1 ? `;opacity:${this.globalAlpha}` : "";
            return `fill:none;stroke:${this.strokeStyle};stroke-width:${round(this.lineWidth)}${dash}${alpha}`;
        }
        #add(style, path) {
            if (!this.paths.has(style)) this.paths.set(style, []);
            this.paths.get(style).push(path);
        }
        #flush() {
            // Frames stand on what they frame.
            const paths = [...this.paths].sort((a, b) => a[0].startsWith("fill:none") - b[0].startsWith("fill:none"));
            for (const [style, parts] of paths) {
                // Lines that are not wholly opaque show where they cross.
                const all = style.includes("opacity") ? parts : [parts.join("")];
                const inner = all.map((path) => (all.length > 1 ? `<path d="${path}"/>` : `<path d="${path}" style="${style}"/>`)).join("");
                this.written.push(all.length > 1 ? `<g style="${style}">${inner}</g>` : inner);
            }
            for (const [key, items] of this.texts) this.written.push(`<g ${key}>${this.#words(items)}</g>`);
            this.#fresh();
        }
        // Single signs of one row are one element with a place for each.
        #words(items) {
            const rows = new Map();
            for (const item of items) {
                const key = item.words.length === 1 ? `row ${round(item.y)}` : `one ${rows.size}`;
                if (!rows.has(key)) rows.set(key, []);
                rows.get(key).push(item);
            }
            return [...rows.values()].map((row) => `<text x="${row.map(({ x }) => round(x)).join(" ")}" y="${round(row[0].y)}">${row.map(({ words }) => lab.escaped(words)).join("")}</text>`).join("");
        }
        svg() {
            this.#flush();
            return this.written.join("\n");
        }
    }
    lab.Pen = Pen;
})();
