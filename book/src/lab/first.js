// The labs of the page "Your first kernel": a launch whose threads print their numbers, and a guard to choose. Each press of Run runs
// the kernel in the engine, and what is shown is what that run left.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    const N = 40;
    const LAUNCH = { grid: [2, 1, 1], block: [32, 1, 1] };

    const run = async (ptx, launch, more) => {
        const [, entry] = new RegExp(`\\.entry (\\w*${launch.kernel}\\w*)`).exec(ptx.text);
        const { json, words } = await lab.ask({ ptx: [ptx], buffers: [], outputs: [], launches: [{ args: [], ...launch, kernel: entry }], check: "all", trace: { launch: 0, blocks: 8 }, ...more });
        const [outcome] = json.launches;
        return { outcome, json, steps: lab.unpack(words, outcome.trace.steps) };
    };

    // Boxes with numbers in them, a row of them with a name; what they say to the eye a sentence says to the ear.
    const row = (name, cells) => make("div", "first-row", {}, [
        make("span", "first-name", { textContent: name }),
        make("span", "first-cells", { ariaHidden: "true" }, cells.map(({ words, kind }) => make("span", `first-cell ${kind}`, { textContent: words }))),
    ]);
    const picture = () => make("div", "first-picture");
    const failed = (say, error) => {
        say.textContent = text("failed", { message: error.message });
        say.className = "lab-say lab-problem";
    };
    // A button that acts, and meanwhile cannot be pressed.
    const runButton = (say, act) => {
        const button = make("button", "first-run", { type: "button", textContent: text("firstRun") });
        button.addEventListener("click", async () => {
            button.disabled = true;
            if (!button.dataset.ran) say.textContent = text("loading");
            await act().catch((error) => failed(say, error));
            button.dataset.ran = "yes";
            button.disabled = false;
            if (document.activeElement === document.body) button.focus();
        });
        return button;
    };
    const sayer = () => make("p", "lab-say", { role: "status" });

    // ---- Every thread prints its number.
    const choice = (label, values, value, act) => {
        const one = make("select", "lab-select", {}, values.map((each) => new Option(each, each, false, each === value)));
        one.addEventListener("change", () => act(Number(one.value)));
        return make("label", "", {}, [label, " ", one]);
    };
    const hello = ({ hello: { source, ...ptx } }) => {
        const chosen = { blocks: 2, threads: 4 };
        const [say, grid, printed] = [sayer(), picture(), make("pre", "first-printed", { hidden: true, tabIndex: 0 })];
        const draw = (numbers) => grid.replaceChildren(...Array.from({ length: chosen.blocks }, (_, block) => row(text("oneBlock", { block }), Array.from({ length: chosen.threads }, (_, thread) => {
            const number = numbers?.get(`${block}:${thread}`);
            return number === undefined ? { words: "?", kind: "first-idle" } : { words: number, kind: "first-done" };
        }))));
        const fresh = () => {
            say.textContent = text("firstReady", { threads: chosen.blocks * chosen.threads });
            printed.hidden = true;
            draw(null);
        };
        const set = (key) => (value) => {
            chosen[key] = value;
            fresh();
        };
        const button = runButton(say, async () => {
            const { outcome } = await run(ptx, { kernel: "hello", grid: [chosen.blocks, 1, 1], block: [chosen.threads, 1, 1] });
            const lines = outcome.printed.trimEnd().split("\n");
            draw(new Map(lines.map((line) => /block (\d+), thread (\d+): number (\d+)/.exec(line)).map(([, block, thread, number]) => [`${block}:${thread}`, number])));
            printed.textContent = outcome.printed;
            printed.hidden = false;
            printed.setAttribute("aria-label", text("firstPrinted"));
            say.textContent = text("firstSaid", { lines: lines.length, blocks: chosen.blocks, threads: chosen.threads });
        });
        fresh();
        const form = make("p", "first-form", {}, [
            choice(text("firstBlocks"), [1, 2, 3, 4], 2, set("blocks")), choice(text("firstThreads"), [1, 4, 8, 16, 32], 4, set("threads")), button,
        ]);
        return [form, say, grid, printed];
    };

    // ---- A guard to choose.
    const kernelOf = (source, letter) => new RegExp(`extern "C" (__global__ void fill)_${letter}(\\([^]*?\\n}\\n)`).exec(source).slice(1).join("");
    const guardOf = (kernel) => /if \(.*\)/.exec(kernel)?.[0];
    // What each thread did with its store: of the block, by thread.
    const stores = ({ outcome, steps }) => {
        const done = new Map();
        for (const step of steps) {
            if (!/^(@\S+\s+)?st\.global/.test(outcome.trace.code[step.pc].text)) continue;
            const [access] = step.accesses;
            lab.lanes(step.active, (lane) => done.set(step.block * LAUNCH.block[0] + step.warp * 32 + lane, access && (access.mask >>> lane) & 1 ? "first-done" : "first-bad"));
        }
        return done;
    };
    const verdict = ({ outcome, json }, source, done) => {
        const { numbers } = json.outputs;
        const missing = numbers.map((number, i) => (number === i ? null : `numbers[${i}]`)).filter(Boolean);
        const [fault] = outcome.faults;
        if (fault) {
            const values = { code: fault.code, thread: fault.lanes[0], block: fault.block[0], message: lab.messageOf(fault), more: fault.lanes.length - 1, line: source.split("\n")[fault.line - 1].trim() };
            return { words: text(values.more ? "firstFaults" : "firstFault", values), isRight: false };
        }
        if (missing.length) return { words: text("firstMissing", { missing: lab.join("comma", missing) }), isRight: false };
        return { words: text("firstRight", { n: numbers.length, idle: LAUNCH.grid[0] * LAUNCH.block[0] - done.size }), isRight: true };
    };
    const guard = ({ fill: { source, ...ptx } }) => {
        const kernels = "abcde".split("").map((letter) => ({ letter, kernel: kernelOf(source, letter) }));
        const [say, grid, code] = [sayer(), picture(), make("code", "language-cpp hljs")];
        let letter = "a";
        const draw = (done, numbers) => {
            const each = LAUNCH.block[0];
            const rows = Array.from({ length: LAUNCH.grid[0] }, (_, block) => row(text("oneBlock", { block }), Array.from({ length: each }, (_, thread) => {
                const i = block * each + thread;
                return { words: i, kind: done ? done.get(i) || "first-home" : "first-idle" };
            })));
            const cells = Array.from({ length: N }, (_, i) => ({ words: numbers && numbers[i] >= 0 ? numbers[i] : "", kind: numbers && numbers[i] >= 0 ? "first-word" : "first-idle" }));
            grid.replaceChildren(...rows, row("numbers", cells));
        };
        const fresh = () => {
            say.className = "lab-say";
            say.textContent = text("firstGuard", { threads: LAUNCH.grid[0] * LAUNCH.block[0], n: N });
            code.textContent = kernels.find((one) => one.letter === letter).kernel;
            window.hljs?.highlightBlock(code);
            draw(null, null);
        };
        const button = runButton(say, async () => {
            const ran = await run(ptx, { kernel: `fill_${letter}`, ...LAUNCH, args: ["numbers=&numbers", `n=i32:${N}`] }, { buffers: [`numbers=i32[${N}]:const(-1)`], outputs: [`numbers:${N}`] });
            const done = stores(ran);
            draw(done, ran.json.outputs.numbers);
            const { words, isRight } = verdict(ran, source, done);
            say.textContent = words;
            say.className = isRight ? "lab-say first-right" : "lab-say lab-problem";
        });
        const options = kernels.map((one) => {
            const input = make("input", "", { type: "radio", name: "first-guard", value: one.letter, checked: one.letter === letter });
            input.addEventListener("change", () => {
                letter = one.letter;
                fresh();
            });
            const line = guardOf(one.kernel);
            return make("label", "first-option", {}, [input, " ", line ? make("code", "", { textContent: line }) : text("firstNone")]);
        });
        fresh();
        const fields = make("fieldset", "first-fields", {}, [make("legend", "", { textContent: text("firstWhich") }), ...options]);
        fields.addEventListener("keydown", ({ key }) => { if (key === "Enter") button.click(); });
        return [make("pre", "first-code", {}, [code]), fields, make("p", "first-form", {}, [button]), say, grid, make("p", "lab-cell", { textContent: text("firstKey") })];
    };

    lab.first = (element, data) => {
        const [, which] = element.dataset.lab.split("/");
        element.classList.add("lab-on");
        element.setAttribute("role", "region");
        element.setAttribute("aria-label", text(`firstLab_${which}`));
        element.replaceChildren(...{ hello, guard }[which](data));
        // The book turns its pages with the arrows.
        element.addEventListener("keydown", (event) => { if (event.key.startsWith("Arrow")) event.stopPropagation(); });
    };
})();
