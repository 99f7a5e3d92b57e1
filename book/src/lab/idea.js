// The small figure at the top of a chapter of part two: eight numbers that a reader can change, and what becomes of them, row under row.
// Each subject has a script of its own (`idea-softmax.js`), which computes and says; this one reads numbers, writes rows and listens.
// Without a browser it makes what the page shows first, for `crates/book/src/stills/ideas.js`.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const subjects = {};

    // Floats, as the chapters' kernels have them: every operation is rounded to 32 bits.
    const f32 = Math.fround;
    // Sums by pairs, as a tree adds.
    const sum = (numbers) => {
        if (numbers.length === 1) return numbers[0];
        const half = numbers.length / 2;
        return f32(sum(numbers.slice(0, half)) + sum(numbers.slice(half)));
    };

    // A number as people write it; an empty text is null, and what is no number is undefined.
    const parsed = (words) => {
        const plain = words.trim().replace(/[−–]/g, "-").toLowerCase();
        if (plain === "") return null;
        const [, sign, word] = /^([-+]?)(inf|infinity|∞|nan)$/.exec(plain) ?? [];
        if (word) return word === "nan" ? NaN : sign === "-" ? -Infinity : Infinity;
        return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(plain) ? f32(Number(plain)) : undefined;
    };
    // Three digits, or three decimals; integers of up to five digits.
    const shown = (x) => {
        if (!Number.isFinite(x)) return String(x).replace("Infinity", "inf").replace("-", "−");
        const size = Math.abs(x);
        const isPlain = size >= 5e-4 && size < 1e5;
        const digits = Number.isInteger(x) ? x : Number(size < 1 ? x.toFixed(3) : x.toPrecision(3));
        const words = isPlain || x === 0 ? String(digits) : x.toExponential(1).replace("e+", "e");
        return words.replace(/^-0$/, "0").replaceAll("-", "−");
    };
    // Which place stands where, as a reader may choose.
    const ORDERS = { neighbours: [0, 1, 2, 3, 4, 5, 6, 7], halves: [0, 4, 2, 6, 1, 5, 3, 7], backwards: [7, 6, 5, 4, 3, 2, 1, 0] };
    const cell = ({ html, span = 1, mark = "", part }) => {
        const style = [span > 1 && `grid-column:span ${span}`, part !== undefined && `--part:${Math.round(part * 1000) / 1000}`].filter(Boolean).join(";");
        return `<span role="cell"${span > 1 ? ` aria-colspan="${span}"` : ""}${mark && ` class="${mark}"`}${style && ` style="${style}"`}>${html}</span>`;
    };
    const row = ({ label, cells, result = "", kind = "" }) => `<div role="row" class="idea-row${kind && ` ${kind}`}"><span role="rowheader">${label}</span>${cells.map(cell).join("")}<span role="cell" class="idea-result">${result}</span></div>\n`;
    const head = (count) => `<div role="row" class="idea-row idea-head"><span role="columnheader">${text("ideaPlace")}</span>${Array.from({ length: count }, (_, i) => `<span role="columnheader">${i}</span>`).join("")}<span role="cell" class="idea-result"></span></div>\n`;

    // What a page shows of a state, before and without this script.
    const still = (name, data) => {
        const subject = subjects[name];
        const state = { ...subject.start, data };
        const { input, rows, say, below } = subject.show(state);
        const first = state.x ? head(state.x.length) + row({ kind: "idea-in", label: "<i>x</i>", cells: state.x.map((x) => ({ html: shown(x) })), result: input }) : "";
        const table = first && `<div class="idea-table" role="table" aria-label="${text("ideaTable")}">\n${first}<div role="rowgroup" class="idea-rows">\n${rows.map(row).join("")}</div>\n</div>\n`;
        const extra = below === undefined ? "" : `<div class="idea-below">${below}</div>\n`;
        return `${table}${extra}<p class="idea-say" role="status">${say}</p>\n`;
    };

    // A figure of the page comes alive.
    const start = (figure) => {
        const subject = subjects[figure.dataset.idea];
        const state = { ...subject.start, x: [...(subject.start.x ?? [])], data: figure.dataset.plan };
        const part = (name) => figure.querySelector(`.idea-${name}`);
        // A screen reader says a sentence again when it is written again.
        const written = {};
        const set = (selector, html) => {
            if (html === undefined) return;
            const one = figure.querySelector(selector);
            if ((written[selector] ??= one.innerHTML) !== html) one.innerHTML = written[selector] = html;
        };
        const update = () => {
            const { input, rows, say, below, values = {}, style = {} } = subject.show(state);
            set(".idea-in .idea-result", input);
            set(".idea-rows", rows?.map(row).join(""));
            set(".idea-below", below);
            set(".idea-say", say);
            for (const [name, value] of Object.entries(values)) {
                set(`[data-value="${name}"]`, value);
                figure.querySelector(`[data-set="${name}"]`).setAttribute("aria-valuetext", value);
            }
            for (const [name, value] of Object.entries(style)) figure.style.setProperty(name, value);
        };
        const inputs = [];
        const take = (i) => {
            const x = parsed(inputs[i].value);
            const isNumber = x !== undefined && (x !== null || subject.takesNone);
            inputs[i].setAttribute("aria-invalid", String(!isNumber));
            if (isNumber) {
                state.x[i] = x;
                update();
            } else {
                set(".idea-say", text("ideaNoNumber", { i, x: shown(state.x[i]) }));
            }
        };
        const put = (i, x) => {
            inputs[i].value = x === null ? "" : shown(x);
            take(i);
        };
        const cells = part("in") ? [...part("in").children].slice(1, -1) : [];
        for (const [i, one] of cells.entries()) {
            const input = Object.assign(document.createElement("input"), { type: "text", value: one.textContent, autocomplete: "off", spellcheck: false });
            input.setAttribute("aria-label", text("ideaNumber", { i }));
            input.addEventListener("input", () => take(i));
            input.addEventListener("focus", () => input.select());
            one.replaceChildren(input);
            inputs.push(input);
        }
        // Up and down are one more and one less.
        figure.addEventListener("keydown", (event) => {
            const i = inputs.indexOf(event.target);
            const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
            if (i < 0 || !step || !Number.isFinite(state.x[i] ?? NaN)) return;
            event.preventDefault();
            put(i, f32(state.x[i] + step));
        });
        for (const control of figure.querySelectorAll("[data-set]")) {
            const read = () => { state[control.dataset.set] = control.type === "checkbox" ? control.checked : control.type === "range" ? Number(control.value) : control.value; };
            control.addEventListener("input", () => { read(); update(); });
            // A browser that goes back may have kept what was chosen.
            read();
        }
        // `3:1000 5:-inf` puts numbers in places, `reset` the first ones.
        for (const button of figure.querySelectorAll("[data-put]")) {
            button.addEventListener("click", () => {
                const all = button.dataset.put === "reset" ? subject.start.x.map((x, i) => [i, shown(x)]) : button.dataset.put.split(" ").map((one) => one.split(":"));
                for (const [i, x] of all) put(Number(i), parsed(x));
            });
        }
        subject.wire?.(figure);
        figure.classList.add("idea-on");
        update();
    };

    const define = (name, subject) => {
        subjects[name] = subject;
        if (typeof document === "undefined") return;
        for (const figure of document.querySelectorAll(`[data-idea="${name}"]`)) start(figure);
    };
    lab.idea = { define, subjects, still, shown, sum, f32, ORDERS };
})();
