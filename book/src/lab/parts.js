// The elements of a lab's figure, and what fills them besides the canvases.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    const ICONS = {
        first: "M3 2h2v12H3zM14 2v12L6 8z", back: "M12 2v12L4 8z", play: "M4 2v12l9-6z", pause: "M4 2h3v12H4zM9 2h3v12H9z",
        next: "M2 2v12l7-6zM11 2h2v12h-2z", mark: "M3 1h2v14H3zM5 2h8l-2.5 3 2.5 3H5z",
    };

    const icon = (name) => {
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        svg.setAttribute("viewBox", "0 0 16 16");
        svg.setAttribute("aria-hidden", "true");
        const path = document.createElementNS(svg.namespaceURI, "path");
        path.setAttribute("d", ICONS[name]);
        svg.append(path);
        return svg;
    };
    const button = (figure, name, act) => {
        const element = make("button", `lab-button lab-${name}`, { type: "button", title: text(name) });
        element.setAttribute("aria-label", text(name));
        element.append(icon(name));
        element.addEventListener("click", act);
        return element;
    };
    lab.playButton = ({ parts, playing }) => {
        const name = playing ? "pause" : "play";
        parts.play.replaceChildren(icon(name));
        parts.play.title = text(name);
        parts.play.setAttribute("aria-label", text(name));
    };

    // Words of a fixed height that are longer than it can be scrolled by keyboard.
    lab.reachable = (words) => {
        if (words.scrollHeight > words.clientHeight + 1) words.tabIndex = 0;
        else words.removeAttribute("tabindex");
    };

    const grains = (figure) => {
        const group = make("div", "lab-grains");
        group.setAttribute("role", "group");
        for (const grain of ["round", "line", "instruction", "blocks"]) {
            const one = make("button", "lab-grain", { type: "button", textContent: text(grain) });
            one.dataset.grain = grain;
            one.addEventListener("click", () => lab.setGrain(figure, grain));
            group.append(one);
        }
        return group;
    };
    lab.setGrain = (figure, grain) => {
        figure.grain = grain;
        lab.settings(figure);
        figure.draw();
        if (figure.chosen) figure.write();
    };

    // The title of a lab's page as the contents have it, in the language of the page.
    lab.titleOf = ({ slug, title, isTrace }) => (!isTrace && document.querySelector(`.sidebar a[href$="${slug}.html"]`)?.textContent.replace(/^.*?[:：] */, "")) || title;

    // Makes everything inside of the element.
    lab.build = (figure) => {
        const { element, data } = figure;
        element.classList.add("lab-on");
        element.setAttribute("role", "region");
        element.setAttribute("aria-label", text("lab", { title: lab.titleOf(data) }));
        const parts = {
            settings: make("div", "lab-settings"), say: make("p", "lab-say"), fault: make("p", "lab-fault", { hidden: true }), code: make("div", "lab-code"),
            stage: make("canvas", "lab-stage"), cell: make("p", "lab-cell"), registers: make("div", "lab-registers", { hidden: true }), time: make("canvas", "lab-time"),
            range: make("input", "lab-range", { type: "range", step: 1 }), controls: make("div", "lab-controls"),
            counts: make("div", "lab-counts"), made: make("div", "lab-made", { hidden: true }), seeds: make("div", "lab-seeds", { hidden: true }), key: make("details", "lab-key"),
        };
        parts.code.tabIndex = 0;
        parts.stage.setAttribute("role", "img");
        parts.stage.tabIndex = 0;
        parts.range.setAttribute("aria-label", text("position"));
        parts.time.setAttribute("aria-hidden", "true");
        parts.key.append(make("summary", "", { textContent: text("key") }), make("p", "", { textContent: text("keyText") }), ...(data.opening.ranks ? [make("p", "", { textContent: text("rankKey") })] : []));
        parts.play = button(figure, "play", () => figure.play());
        parts.grains = grains(figure);
        parts.controls.append(
            button(figure, "first", () => { figure.stop(); figure.go(figure.shown.from); }),
            button(figure, "back", () => figure.back()), parts.play, button(figure, "next", () => figure.next()),
            button(figure, "mark", () => figure.toMark()), parts.grains,
        );
        figure.parts = parts;
        parts.offer = make("div", "lab-offer", { hidden: true });
        element.replaceChildren(parts.settings, tools(figure), parts.offer, deck(figure), scene(figure), ...below(figure));
        lab.opener(figure);
        listen(figure, parts);
        return parts;
    };

    // Buttons that are pressed now and then.
    const tools = (figure) => {
        const { parts, data } = figure;
        const row = make("div", "lab-controls lab-tools");
        if (data.opening.ranks || data.variants.some((variant) => variant.announced === "shared-race")) row.append(seedsButton(figure, parts));
        row.append(lab.predict(figure));
        parts.compareButton = lab.compare(figure);
        // Two runs on several devices are too high to stand side by side.
        parts.compareButton.hidden = Boolean(data.opening.ranks) || (data.variants.length < 2 && !data.before);
        row.append(parts.compareButton, lab.edit(figure), lab.wholeListing(figure), lab.linker(figure));
        // A lab outside of the book has no page to edit.
        figure.editing.button.hidden = Boolean(window.reductionAlone);
        parts.cancel = make("button", "lab-button lab-cancel", { type: "button", textContent: text("cancel"), hidden: true });
        parts.cancel.addEventListener("click", () => lab.cancel());
        row.append(parts.cancel);
        return row;
    };
    // Everything that a reader looks at or presses while stepping: the listing or the editor, the sentence, the buttons. Each part keeps
    // its height, so that nothing moves.
    const deck = (figure) => {
        const { parts, data } = figure;
        const place = (parts.deck = make("div", "lab-deck"));
        // The lines of a program that make the launch.
        if (data.call) {
            const code = make("code", "language-rust hljs", { textContent: data.call });
            window.hljs?.highlightBlock(code);
            place.append(make("pre", "lab-call", { tabIndex: 0, role: "region", ariaLabel: text("call") }, [code]));
        }
        place.append(parts.code, figure.editing.place, parts.say, parts.controls, parts.fault, parts.predict, parts.compare);
        return place;
    };
    // The pictures of the run.
    const scene = (figure) => {
        const { parts } = figure;
        // Two runs stand side by side, or one below the other where it is narrow.
        parts.pair = make("div", "lab-pair");
        const ownSide = make("div", "lab-side");
        parts.ownHead = make("p", "lab-beside-head");
        parts.otherSide = make("div", "lab-side");
        ownSide.append(parts.ownHead, parts.stage, parts.cell);
        parts.pair.append(ownSide, parts.otherSide);
        parts.otherTime = make("canvas", "lab-other", { hidden: true });
        parts.otherTime.setAttribute("aria-hidden", "true");
        const line = make("div", "lab-line");
        line.append(parts.time, parts.otherTime, parts.range);
        parts.blocks = new lab.Blocks(figure);
        const live = make("div", "lab-live");
        live.append(line, parts.pair, parts.blocks.element, parts.registers);
        return live;
    };
    const below = (figure) => {
        const { parts, element } = figure;
        // The still picture is for print.
        const still = element.querySelector(":scope > .lab-still");
        parts.resident = make("p", "lab-resident", { hidden: true });
        return [parts.counts, parts.resident, parts.made, parts.seeds, lab.inputField(figure), lab.laneTable(figure), parts.key, ...(still ? [still] : [])];
    };

    const seedsButton = (figure, parts) => {
        const one = make("button", "lab-button lab-many", { type: "button", textContent: text("seeds") });
        one.addEventListener("click", async () => {
            one.disabled = true;
            try {
                await lab.loadAlone("seeds");
                await lab.runSeeds(figure, parts.seeds);
            } catch (error) {
                parts.seeds.textContent = text("failed", { message: error.message });
                parts.seeds.hidden = false;
            }
            one.disabled = false;
        });
        return one;
    };

    const listen = (figure, parts) => {
        const keys = {
            ArrowRight: () => figure.next(), ArrowLeft: () => figure.back(), " ": () => figure.play(), "]": () => figure.toMark(),
            Home: () => figure.go(figure.shown.from), End: () => lab.toEnds(figure),
            1: () => lab.setGrain(figure, "round"), 2: () => lab.setGrain(figure, "line"), 3: () => lab.setGrain(figure, "instruction"),
            4: () => { if (figure.between) lab.setGrain(figure, "blocks"); },
        };
        figure.element.addEventListener("keydown", (event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const isField = /^(SELECT|INPUT|TEXTAREA)$/.test(event.target.tagName) && event.target !== parts.range;
            const isPress = event.key === " " && /^(BUTTON|SUMMARY)$/.test(event.target.tagName);
            // The book turns its pages with the arrows too.
            if (event.key.startsWith("Arrow")) event.stopPropagation();
            if (event.target === parts.stage && lab.walkLanes(figure, event.key)) {
                event.preventDefault();
                event.stopPropagation();
                return;
            }
            if (!keys[event.key] || isField || isPress || !figure.shown) return;
            event.preventDefault();
            event.stopPropagation();
            keys[event.key]();
        });
        parts.range.addEventListener("input", () => { figure.stop(); figure.go(figure.shown.from + Number(parts.range.value)); });
        const scrub = (event) => {
            figure.stop();
            const index = figure.timeline.index(event.clientX - parts.time.getBoundingClientRect().left);
            figure.go(index <= figure.shown.from ? index : figure.end(figure.grain, index - 1));
        };
        parts.time.addEventListener("pointerdown", (event) => { parts.time.setPointerCapture(event.pointerId); scrub(event); });
        parts.time.addEventListener("pointermove", (event) => { if (event.buttons) scrub(event); });
        const point = (event) => {
            const box = parts.stage.getBoundingClientRect();
            figure.focus = figure.model ? figure.stage.hit(event.clientX - box.left, event.clientY - box.top) : null;
            figure.draw();
        };
        parts.stage.addEventListener("pointerdown", point);
        parts.stage.addEventListener("click", () => { if (figure.focus?.warp !== undefined) lab.chooseLane(figure, figure.focus); });
        parts.stage.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && !figure.playing) point(event); });
        parts.stage.addEventListener("pointerleave", () => { if (figure.focus) { figure.focus = null; figure.draw(); } });
    };

    // The settings as a sentence with choices.
    const select = (key, options, value, act) => {
        const one = make("select", "lab-select");
        one.setAttribute("aria-label", text(`${key}Choice`));
        for (const [key, words] of options) one.append(new Option(words, key, false, String(key) === String(value)));
        one.addEventListener("change", () => act(one.value));
        return one;
    };
    // A choice of types or operators, where the kernel has more than one with the other as it is; else the words that stand for it.
    const kindChoice = (figure, key, all, words) => {
        const { variant, kind } = figure;
        const has = (value) => lab.kindsOf(variant).some((one) => one[key] === value);
        const offered = all.filter(has);
        if (offered.length < 2) return words === null ? [] : [words];
        return [select(key, offered.map((value) => [value, text(`${key}_${value}`)]), kind[key], (value) => figure.open({ [key]: value, ...(key === "op" && value !== "sum" ? { type: "i32" } : {}), ...(key === "type" && value !== "i32" ? { op: "sum" } : {}) }))];
    };
    lab.settings = (figure) => {
        const { parts, variant, chosen, schedule, data } = figure;
        // A button may be pressed before the first run is chosen, which then shows its settings.
        if (!chosen) return;
        const held = parts.settings.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
        const sizes = [...new Set(lab.casesOf(variant, figure.kind).map((one) => one.n))];
        const ranks = [...new Set(variant.cases.map((one) => one.ranks).filter(Boolean))];
        const blocks = [...new Set(variant.cases.filter((one) => one.n === chosen.n && one.ranks === chosen.ranks).map((one) => one.block))];
        const grids = variant.cases.filter((one) => one.n === chosen.n && one.block === chosen.block && one.ranks === chosen.ranks).map((one) => one.grid);
        const seed = /:(\d+)(@\d+)?$/.exec(schedule);
        const from = seed ? seed[2] || "" : figure.partsFrom();
        const open = (wanted) => figure.open(wanted);
        const row = data.isTrace ? [text("recorded", { kernel: variant.name, schedule, blocks: chosen.launches[0].grid[0], threads: chosen.block })] : [
            select("kernel", data.variants.map((one) => [one.name, `${one.announced || one.harm ? "✗ " : ""}${one.name}`]), variant.name, (name) => open({ variant: name })),
            ...kindChoice(figure, "op", ["sum", "min", "max"], text(chosen.op && chosen.elements && !chosen.ranks ? "reads" : `op_${figure.kind.op}`)),
            select("size", sizes.map((n) => [n, lab.number(n)]), chosen.n, (n) => open({ n: Number(n) })),
            text(chosen.given ? "own" : chosen.fill !== undefined ? "filled" : chosen.n <= 4096 && !chosen.elements?.some((one) => one < 1 || one > 9) ? "digits" : "bytes", { fill: chosen.fill }),
            ...(chosen.ranks ? [text("rankOn"), select("ranks", ranks.map((count) => [count, text("rankCount", { ranks: count })]), chosen.ranks, (count) => open({ ranks: Number(count) }))] : []),
            ...(chosen.of && !chosen.ranks ? [text("inRows", { rows: chosen.rows, cols: chosen.cols })] : []),
            ...kindChoice(figure, "type", ["i32", "f32"], null), text("withThreads"),
            select("block", blocks.map((block) => [block, text("threads", { block })]), chosen.block, (block) => open({ block: Number(block) })),
        ];
        if (grids.length > 1) {
            row.push(select("grid", grids.map((grid) => [grid || "", grid ? text("blocksChosen", { grid }) : text("blocksByPlan")]), chosen.grid || "", (grid) => open({ grid: grid ? Number(grid) : null })));
        }
        if (!data.isTrace) row.push(text("lanes"), select("schedule", [["independent", text("together")], ["lockstep", text("lockstep")],
            [`independent:${seed ? seed[1] : 3}${from}`, text(from ? "apartFrom" : "apart", { seed: seed ? seed[1] : 3, line: from.slice(1) })]], schedule, (one) => open({ schedule: one, at: "poster" })));
        if (seed && !data.isTrace) {
            const more = make("button", "lab-small", { type: "button", textContent: text("nextSeed") });
            more.addEventListener("click", () => open({ schedule: `independent:${Number(seed[1]) + 1}${from}`, at: "poster" }));
            row.push(more);
        }
        if (figure.model && figure.model.blocks.length > 1) {
            const known = figure.model.blocks.map((one) => one.block).sort((a, b) => a - b);
            const all = chosen.launches[chosen.shown].grid[0];
            const choice = select("shown", known.map((block) => [block, chosen.ranks ? lab.rankName(chosen, block) : text("ofBlocks", { block, blocks: all })]), figure.shown.block, (block) => {
                figure.goToBlock(Number(block), figure.view.time);
            });
            // As wide as the widest block's name: the block changes while stepping.
            choice.classList.add("lab-steady");
            row.push("·", choice);
        }
        parts.settings.replaceChildren(...row.flatMap((part) => [part, " "]));
        if (held) parts.settings.querySelector(`[aria-label="${held}"]`)?.focus();
        parts.grains.lastChild.hidden = !figure.between;
        if (chosen.ranks) parts.grains.lastChild.textContent = text("rankGrain");
        for (const one of parts.grains.children) one.setAttribute("aria-pressed", String(one.dataset.grain === figure.grain));
    };

    // Of the warp that acted last, the lanes by the line that each came to last, where they are not all at the same.
    lab.standing = ({ model, view }, steps) => {
        const lines = new Map();
        const last = steps[steps.length - 1];
        if (!last) return lines;
        for (let lane = 0; lane < 32 && last.warp * 32 + lane < model.threads; lane += 1) {
            const index = view.place[last.warp * 32 + lane];
            const line = index < 0 ? 0 : model.code[model.steps[index].pc].line;
            lines.set(line, (lines.get(line) || 0) | (1 << lane));
        }
        return lines.size > 1 ? lines : new Map();
    };
    // Lanes of a warp as 32 small bars.
    const strip = (mask, isNow) => {
        const box = make("span", isNow ? "lab-lanes lab-lanes-now" : "lab-lanes");
        box.setAttribute("role", "img");
        box.setAttribute("aria-label", text("stand", { count: lab.count(mask) }));
        for (let lane = 0; lane < 32; lane += 1) box.append(make("i", (mask >>> lane) & 1 ? "lab-here" : ""));
        return box;
    };

    // The listing around the line that runs.
    const LINES = 8;
    const window8 = (figure, source, current) => {
        const isOut = figure.listed !== figure.variant || current < figure.top + 1 || current > figure.top + LINES - 2;
        if (isOut) figure.top = Math.max(1, Math.min(source.length - LINES + 1, current - Math.floor(LINES / 2)));
        return { first: figure.top, last: source.length };
    };
    // The function that a line is in: what stands between two braces of the first column.
    const around = (source, current) => {
        let [first, last] = [current, current];
        while (first > 1 && !/^}/.test(source[first - 2])) first -= 1;
        while (last < source.length && !/^}/.test(source[last - 1])) last += 1;
        while (first < current && /^\s*(\/\/ ANCHOR.*|#.*)?$/.test(source[first - 1])) first += 1;
        return { first, last };
    };
    lab.listing = (figure, steps) => {
        const { parts, variant, data, model } = figure;
        const counts = new Map();
        for (const step of steps) {
            const code = model.code[step.pc];
            if (!code.line) continue;
            const weight = (step.accesses.length || step.sources ? 1000 : 1) + (step.fault ? 1e6 : 0);
            counts.set(code.line, (counts.get(code.line) || 0) + weight);
        }
        // Between steps the line stays; before the first it is the kernel's own first.
        const stayed = figure.at > figure.shown.from && figure.line;
        const current = [...counts].sort((a, b) => b[1] - a[1]).map(([line]) => line)[0] || stayed || model.code.find((code) => code.line)?.line;
        if (!current) return;
        const source = (figure.sources ||= {})[variant.source] ||= data.files[variant.source].split("\n");
        const { first, last } = figure.isWhole ? around(source, current) : window8(figure, source, current);
        const standing = lab.standing(figure, steps);
        const key = `${variant.name}|${first}|${last}|${current}|${[...counts.keys()].join()}|${[...standing].join()}`;
        if (figure.listedKey === key) return;
        Object.assign(figure, { line: current, listed: variant, listedKey: key });
        const rows = [];
        for (let line = first; line <= last; line += 1) {
            if (rows.length === LINES && !figure.isWhole) break;
            // Marks for the book's includes are no part of the lesson.
            if (/^\s*\/\/ ANCHOR/.test(source[line - 1])) continue;
            const row = make("div", line === current ? "lab-row lab-now" : counts.has(line) ? "lab-row lab-too" : "lab-row");
            row.append(make("span", "lab-number", { textContent: line }), make("code", "", { textContent: source[line - 1] ?? "" }));
            if (line === current) row.setAttribute("aria-current", "step");
            if (standing.has(line)) row.append(strip(standing.get(line), line === current));
            rows.push(row);
        }
        parts.code.replaceChildren(...rows);
        const now = parts.code.querySelector(".lab-now");
        // A kernel that came by a link may name lines that its text does not have.
        if (!now) return;
        const away = now.offsetTop - parts.code.scrollTop;
        if (away < 0 || away + now.offsetHeight > parts.code.clientHeight) parts.code.scrollTop += away - parts.code.clientHeight / 3;
        figure.editing.point(current);
    };
    // The whole function instead of the lines around the one that runs, on request.
    lab.wholeListing = (figure) => {
        const one = make("button", "lab-button lab-whole", { type: "button", textContent: text("wholeFunction") });
        one.setAttribute("aria-pressed", "false");
        one.addEventListener("click", () => {
            figure.isWhole = !figure.isWhole;
            figure.listedKey = "";
            figure.parts.code.classList.toggle("lab-code-whole", figure.isWhole);
            one.setAttribute("aria-pressed", String(figure.isWhole));
            figure.draw();
        });
        return one;
    };

    // What is in the cell or lane that is pointed at.
    lab.inspect = (figure) => {
        const { parts, focus, view, model, result, expected } = figure;
        let words = text(figure.isTouched ? "point" : "opened");
        if (focus) {
            const isLane = focus.cell === undefined;
            const held = isLane ? view.laneValue(focus.warp, focus.lane) : view.cell(focus.cell);
            const inputs = held && held.inputs > 1 ? figure.receipt().filter((times) => times > 0).length : held ? held.inputs : 0;
            const values = { ...focus, value: held ? held.shown : "", inputs, n: model.n };
            if (isLane) words = text(held ? "laneHolds" : "laneNothing", values);
            else words = text(!held ? "holdsNothing" : held.inputs > 1 ? "holds" : "holdsPlain", values);
        } else if (figure.at === figure.shown.to && result !== expected && !model.chosen.of && model.blocks.length === 1) {
            const receipt = figure.receipt();
            const missing = receipt ? receipt.filter((times) => times === 0).length : 0;
            const more = receipt ? receipt.filter((times) => times > 1).length : 0;
            words = text("wrongReceipt", { value: result, expected, missing, more });
        }
        if (parts.cell.textContent !== words) {
            parts.cell.textContent = words;
            lab.reachable(parts.cell);
        }
        parts.stage.setAttribute("aria-label", lab.join("sentences", [parts.say.textContent, words]));
    };

    // Counts up to now, what this beat added, and those of the whole run.
    lab.counters = (figure, counts, added) => {
        const { parts, totals } = figure;
        const names = ["instructions", "passes", "conflicts", "barriers", "sectors", "shuffles"].filter((name) => totals[name] > 0);
        const key = JSON.stringify([counts, added, totals, figure.counted, Boolean(figure.shown)]);
        if (figure.countedKey === key) return;
        figure.countedKey = key;
        const held = parts.counts.contains(document.activeElement) && document.activeElement.closest("[data-name]").dataset.name;
        parts.counts.replaceChildren(...names.map((name) => {
            const one = make("div", "lab-count");
            one.dataset.name = name;
            const value = make("span", "lab-value");
            const number = make("b", "", { textContent: lab.number(counts[name]) });
            if (figure.shown) {
                // What made it, on request.
                const open = make("button", "lab-made-open", { type: "button", title: text("madeOpen") });
                open.setAttribute("aria-expanded", String(figure.counted === name));
                open.setAttribute("aria-label", text("madeOpenOf", { name: text(name), count: counts[name] }));
                open.addEventListener("click", () => lab.chooseCount(figure, name));
                open.append(number);
                value.append(open);
            } else value.append(number);
            if (added && added[name]) value.append(make("i", "", { textContent: ` +${lab.number(added[name])}` }));
            one.append(make("span", "lab-name", { textContent: text(name) }), value);
            const total = make("span", "lab-total", { textContent: text("ofRun", { total: totals[name] }) });
            // Its line keeps its room at the end of the run.
            if (totals[name] === counts[name]) total.style.visibility = "hidden";
            one.append(total);
            return one;
        }));
        if (held) parts.counts.querySelector(`[data-name="${held}"] button`)?.focus();
    };
})();
