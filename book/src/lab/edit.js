// The listing as an editor: the reader's own version of a kernel. The server that serves the page compiles it, and it runs with the
// launch that the page has: same buffers, n, block and schedule. Without that server the button says what it needs.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    // As crates/book/src/book/serve/compile.rs names what it compiles.
    const FILE = "edited.cu";
    const KEY = "reduction-course-kernel:";
    // Warp-instructions of a block: a loop without an end is stopped within seconds.
    const STEPS_PER_BLOCK_MAX = 2 ** 21;

    // Storage may be switched off, or full: then the text lasts as long as the page.
    const kept = (source) => {
        try {
            return localStorage.getItem(KEY + source);
        } catch {
            return null;
        }
    };
    const keep = (source, words) => {
        try {
            if (words === null) localStorage.removeItem(KEY + source);
            else localStorage.setItem(KEY + source, words);
        } catch {
            // see above
        }
    };

    // The kernel's file as it is committed; the marks of the book are empty lines, so that every other line keeps its number.
    const original = (data, source) => data.files[source].split("\n").map((line) => (/^\s*\/\/ ANCHOR/.test(line) ? "" : line)).join("\n");

    // Asks the server that this page comes from. What it refuses is thrown in its own words.
    lab.serve = async (what, body) => {
        const headers = { "X-Lab-Token": window.reductionServer.token };
        const response = await fetch(`/__lab/${what}`, { method: "POST", headers, body }).catch(() => { throw new Error(text("serverGone")); });
        if (!response.ok) throw new Error(await response.text());
        return response.json();
    };

    class Editing {
        constructor(figure) {
            this.figure = figure;
            this.place = make("div", "lab-edit", { hidden: true });
            // Neither the figure nor the book takes the keys of somebody who writes.
            this.place.addEventListener("keydown", (event) => event.stopPropagation());
            this.button = make("button", "lab-button lab-editing", { type: "button", textContent: text("edit") });
            this.button.setAttribute("aria-pressed", "false");
            this.button.addEventListener("click", () => this.toggle());
        }
        // The committed kernel that is edited.
        get of() {
            const { variant, data } = this.figure;
            return variant.of ? data.variants.find((one) => one.name === variant.of) : variant;
        }
        async toggle() {
            const isOn = this.place.hidden;
            this.place.hidden = !isOn;
            this.button.setAttribute("aria-pressed", String(isOn));
            this.cover();
            if (!isOn) return;
            if (!window.reductionServer) {
                this.needs();
                return;
            }
            if (!this.editor) await this.build();
            this.cover();
            this.place.scrollIntoView({ block: "nearest" });
            this.editor?.focus();
        }
        // The editor takes the place of the listing.
        cover() {
            this.figure.element.classList.toggle("lab-edits", Boolean(this.editor) && !this.place.hidden);
        }
        // Shows the line of a step in the editor, if its text is what ran.
        point(line) {
            if (!this.editor || this.place.hidden || !this.figure.variant.of || this.place.contains(document.activeElement)) return;
            if (this.editor.text() === this.figure.data.files[this.figure.variant.source]) this.editor.show(line);
        }
        // What a page without the server says.
        needs() {
            const words = make("p", "");
            const [before, after] = text("editNeeds", { command: "\n" }).split("\n");
            words.append(before, make("code", "", { textContent: "cargo course book --serve" }), after, " ", make("a", "", { href: `${lab.root}setup.html`, textContent: text("editHow") }));
            this.place.replaceChildren(words);
        }
        async build() {
            this.button.disabled = true;
            try {
                if (!lab.editor) await lab.load("editor");
            } catch (error) {
                this.place.textContent = text("failed", { message: error.message });
                return;
            } finally {
                this.button.disabled = false;
            }
            const box = make("div", "lab-editor");
            this.status = make("p", "lab-edit-status", { textContent: text("editHint") });
            this.status.setAttribute("role", "status");
            this.log = make("pre", "lab-log", { hidden: true, tabIndex: 0 });
            const button = (name, act) => {
                const one = make("button", `lab-button lab-${name}`, { type: "button", textContent: text(name) });
                one.addEventListener("click", act);
                return one;
            };
            this.buttons = {
                run: button("runMine", () => this.run()),
                compare: button("compareMine", () => this.compare()),
                back: button("backToOriginal", () => this.figure.open({ variant: this.of.name })),
                again: button("startOver", () => this.startOver()),
            };
            const row = make("div", "lab-controls");
            row.append(...Object.values(this.buttons));
            this.place.replaceChildren(box, row, this.status, this.log);
            this.source = this.of.source;
            this.editor = lab.editor(box, {
                text: kept(this.source) ?? original(this.figure.data, this.source), label: text("editorLabel"),
                changed: (words) => this.changed(words), run: () => this.run(),
            });
            this.editor.show(this.firstLine());
            this.follow();
        }
        // The line on which the kernel that is shown begins to work.
        firstLine() {
            const { model } = this.figure;
            return model?.code.find((code) => code.line)?.line || 1;
        }
        changed(words) {
            keep(this.source, words === original(this.figure.data, this.source) ? null : words);
        }
        // The figure shows another run: buttons, and the file if the kernel stands in another one.
        follow() {
            if (!this.editor) return;
            const isMine = Boolean(this.figure.variant.of);
            this.buttons.back.disabled = this.buttons.compare.disabled = !isMine;
            if (this.of.source === this.source) return;
            this.source = this.of.source;
            this.editor.mark([]);
            this.editor.put(kept(this.source) ?? original(this.figure.data, this.source));
        }
        say(words, isProblem, log = "") {
            this.status.className = isProblem ? "lab-edit-status lab-problem" : "lab-edit-status";
            this.status.textContent = words;
            this.log.textContent = log;
            this.log.hidden = log === "";
        }
        startOver() {
            keep(this.source, null);
            this.editor.mark([]);
            this.editor.put(original(this.figure.data, this.source));
            this.say(text("editHint"), false);
        }
        compare() {
            const { compareButton } = this.figure.parts;
            if (compareButton.getAttribute("aria-pressed") !== "true") compareButton.click();
            compareButton.scrollIntoView({ block: "center" });
        }
        async run() {
            const { of, figure } = this;
            const words = this.editor.text();
            this.say(text("compiling"), false);
            this.buttons.run.disabled = true;
            try {
                const { ptx, messages, log } = await lab.serve("compile", words);
                this.editor.mark(messages);
                if (ptx) await this.show(of, words, ptx, messages, log);
                else {
                    const errors = messages.filter(({ severity }) => severity === "error");
                    if (errors.length) this.editor.show(errors[0].line);
                    this.say(text("compileErrors", { count: errors.length }), true, log);
                }
            } catch (error) {
                this.say(error.message, true);
            } finally {
                this.buttons.run.disabled = false;
            }
        }
        // Runs the compiled text, and marks what the compiler and the simulator say at its lines.
        async show(of, words, ptx, messages, log) {
            const { figure } = this;
            const said = await lab.adopt(figure, of, words, ptx);
            const { launches } = figure.failure ? { launches: [] } : figure.reply.json;
            const faults = faultsOf(launches);
            this.editor.mark([...messages, ...faults.map((fault) => ({ line: fault.line, severity: "error", message: text("named", { name: fault.code, words: lab.messageOf(fault) }) }))]);
            if (faults.length) this.editor.show(faults[0].line);
            const printed = launches.map((launch) => launch.printed).join("");
            this.say(said, !said.startsWith("✓"), [printed, log].filter(Boolean).join("\n"));
        }
    }

    const faultsOf = (launches) => launches.flatMap((launch) => launch.faults).filter(({ file, line }) => file === FILE && line > 0);
    // Puts a compiled text beside the page's own kernels, opens it, and returns the sentence about its result.
    lab.adopt = async (figure, of, words, ptx, at) => {
        const source = `${FILE}:${of.name}`;
        const mine = { ...of, name: text("mineName", { name: of.name }), of: of.name, source, announced: null, harm: null, kinds: [], names: {}, ptx: { name: FILE, text: ptx }, limits: { steps_per_block_max: STEPS_PER_BLOCK_MAX } };
        figure.data.variants = [...figure.data.variants.filter((one) => one.of !== of.name), mine];
        figure.data.files[source] = words;
        Object.assign(figure, { sources: {}, listed: null, listedKey: "" });
        figure.parts.compareButton.hidden = false;
        await figure.open({ variant: mine.name, ...(at ? { at } : {}) });
        if (figure.failure) return text("failed", { message: figure.failure });
        const { result, expected, chosen, reply } = figure;
        const { launches } = reply.json;
        const isFaulty = launches.some((launch) => launch.faults.length);
        const key = `${result !== expected ? "mineWrong" : isFaulty ? "mineFaulty" : "mineRight"}${chosen.of ? "At" : ""}`;
        const marked = faultsOf(launches);
        const faults = marked.length ? [text("mineFaults", { count: marked.length })] : [];
        return lab.join("sentences", [text(key, chosen.of ? lab.oneOf(result, expected) : { result, expected }), ...faults]);
    };

    // The button; the figure gets its `editing`.
    lab.edit = (figure) => {
        figure.editing = new Editing(figure);
        return figure.editing.button;
    };
})();
