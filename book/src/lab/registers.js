// The registers of one lane, by the names of the source where these can be shown to be theirs (crates/simt/src/names.rs), by
// those of PTX where it cannot. A click on a lane, or Enter on the stage and the arrows, chooses the lane.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;

    const floats = new DataView(new ArrayBuffer(8));
    const float32 = (bits) => { floats.setUint32(0, bits); return floats.getFloat32(0); };
    const float64 = (low, high) => { floats.setUint32(0, high); floats.setUint32(4, low); return floats.getFloat64(0); };

    // What a step left in a lane, as its register holds it: a number, a BigInt for 64 bits, true or false; null if it is not recorded.
    const held = (words, step, lane, code) => {
        const { form, values, active } = step;
        if (form === 0) return null;
        const place = form === 2 || form === 4 ? lab.count(active & ((1 << lane) - 1)) : 0;
        if (form === 5) return Boolean((words[values] >>> lane) & 1);
        const register = code.to[0] || "";
        if (form === 1 || form === 2) return register.startsWith("%f") ? float32(words[values + place]) : words[values + place] | 0;
        const [low, high] = [words[values + 2 * place], words[values + 2 * place + 1]];
        return register.startsWith("%fd") ? float64(low, high) : (BigInt(high) << 32n) | BigInt(low);
    };

    // Registers that an instruction writes, from its text.
    const written = (code) => {
        if (/^(st|red|bar|barrier|bra|brx|ret|exit|membar|fence|prefetch|cp|nanosleep|call)\b/.test(code.opcode)) return [];
        return (code.parts[0] || code.target || "").match(/%[a-z]+\d+/g) || [];
    };
    const prepare = (model) => {
        if (model.named) return;
        model.named = new Map();
        for (const [name, of, calls, lines, line, ptxLine, register] of (model.variant.names || {})[model.launch.kernel] || []) {
            if (!model.named.has(ptxLine)) model.named.set(ptxLine, []);
            model.named.get(ptxLine).push({ name, function: of, calls, lines, line, register, key: `${of} ${calls} ${lines} ${name}` });
        }
        model.trace.code.forEach((one, pc) => Object.assign(model.code[pc], { calls: one.calls || [], to: written(model.code[pc]) }));
    };

    // Everything that a lane's registers hold after the steps up to `at`: by register, and what its instruction was named.
    lab.registers = (model, shown, at, warp, lane) => {
        prepare(model);
        const registers = new Map();
        const names = new Map();
        for (let index = shown.from; index < at; index += 1) {
            const step = model.steps[index];
            if (step.warp !== warp) continue;
            const code = model.code[step.pc];
            const isTogether = code.kind === "shuffle" || code.kind === "redux";
            // Lanes that come one after the other have their value when the last one has come, and only that one's is recorded.
            const reach = isTogether ? (step.reach || 0) | step.active : step.active;
            if (!((reach >>> lane) & 1)) continue;
            const isKnown = ((step.active >>> lane) & 1) && (!isTogether || step.reach) && code.to.length <= (isTogether || code.opcode.startsWith("setp") ? 2 : 1);
            const value = isKnown ? held(model.words, step, lane, code) : null;
            for (const [place, register] of code.to.entries()) registers.set(register, { value: place === 0 ? value : null, index });
            for (const name of model.named.get(code.ptxLine) || []) {
                if (code.to.includes(name.register)) names.set(name.key, { ...name, value, index });
            }
        }
        return { registers, names: [...names.values()] };
    };

    // The lines at which a lane stands: its own, then those of the calls around it.
    const chain = (model, view, warp, lane) => {
        const index = view.place[warp * 32 + lane];
        if (index < 0) return [];
        const code = model.code[model.steps[index].pc];
        return code.line ? [code.line, ...code.calls] : [];
    };
    // Whether a name means its variable where the lane stands.
    const isSeen = (name, lines) => {
        const at = lines.length - 1 - name.calls.length;
        return at >= 0 && name.calls.every((line, i) => line === lines[at + 1 + i]) && name.lines[0] <= lines[at] && lines[at] <= name.lines[1];
    };
    // The variables that a lane sees, those of its own function first.
    lab.variables = (model, view, names, warp, lane) => {
        const lines = chain(model, view, warp, lane);
        const seen = names.filter((name) => isSeen(name, lines));
        seen.sort((a, b) => b.calls.length - a.calls.length || a.lines[0] - b.lines[0] || a.index - b.index);
        // An inner declaration hides an outer one of the same function.
        const own = (name) => seen.filter((one) => one.function === name.function && one.name === name.name && String(one.calls) === String(name.calls));
        // What a function was given keeps its name outside of it: once is enough.
        const isFirst = (name, at) => !seen.slice(0, at).some((one) => one.name === name.name && one.register === name.register);
        return seen.filter((name, at) => own(name).every((one) => one.lines[0] <= name.lines[0]) && isFirst(name, at));
    };

    // A register's value in words: an address as the element that lies there.
    const shown = (model, value, name) => {
        if (value === null) return text("notRecorded");
        const array = name && typeof value === "bigint" && model.launch.shared.find((one) => one.name === name && one.first === Number(value));
        if (array) return `&${name}[0]`;
        if (typeof value === "boolean") return text(value ? "yes" : "no");
        if (typeof value !== "bigint") return Number.isInteger(value) ? lab.number(value) : String(value);
        const address = Number(value);
        const buffer = model.buffers.find((one) => address >= one.address && address < one.address + one.len * one.bytes);
        if (buffer) return `&${buffer.shown}[${(address - buffer.address) / buffer.bytes}]`;
        return address < 2 ** 48 ? lab.number(address) : `0x${value.toString(16)}`;
    };

    const cells = (row, words) => {
        const line = make("tr", "");
        words.forEach((one, place) => line.append(make(place ? "td" : "th", "", { textContent: one })));
        line.firstChild.scope = "row";
        line.dataset.name = row;
        return line;
    };
    const head = (words) => {
        const line = make("tr", "");
        for (const one of words) line.append(make("th", "", { textContent: one, scope: "col" }));
        const top = make("thead", "");
        top.append(line);
        return top;
    };
    const table = (columns, rows) => {
        const body = make("tbody", "");
        body.append(...rows);
        const one = make("table", "lab-table lab-held");
        one.append(head(columns), body);
        return one;
    };

    // Fills the panel for the chosen lane.
    lab.showRegisters = (figure) => {
        const { parts, lane: chosen, model, view, shown: block } = figure;
        const place = parts.registers;
        place.hidden = !chosen;
        if (!chosen) return;
        const key = `${figure.turn}|${block.block}|${figure.at}|${chosen.warp}|${chosen.lane}`;
        if (place.dataset.key === key) return;
        place.dataset.key = key;
        const isOpen = place.querySelector("details")?.open;
        const { registers, names } = lab.registers(model, block, figure.at, chosen.warp, chosen.lane);
        const seen = lab.variables(model, view, names, chosen.warp, chosen.lane);
        const lines = chain(model, view, chosen.warp, chosen.lane);
        const values = { ...chosen, thread: chosen.warp * 32 + chosen.lane, line: lines[0] || 0 };
        const title = make("h4", "lab-title", { textContent: text(lines.length ? "registersOf" : "registersBefore", values) });
        const close = make("button", "lab-small", { type: "button", textContent: text("close") });
        close.addEventListener("click", () => lab.chooseLane(figure, null));
        title.append(" ", close);
        const isInner = (name) => name.calls.length === lines.length - 1;
        const rows = seen.map((name) => cells(name.name, [isInner(name) ? name.name : text("ofFunction", name), shown(model, name.value, name.name), name.line, name.register]));
        const named = new Set(seen.map((name) => name.register));
        const others = [...registers].filter(([register]) => !named.has(register)).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
        const more = make("details", "lab-others", { open: Boolean(isOpen) });
        more.append(make("summary", "", { textContent: text("unnamed", { count: others.length }) }));
        const code = (index) => model.code[model.steps[index].pc];
        more.append(table([text("register"), text("value"), text("lineSet"), text("instructionSet")],
            others.map(([register, { value, index }]) => cells(register, [register, shown(model, value), code(index).line || "–", code(index).opcode]))));
        const parts2 = rows.length ? [table([text("variable"), text("value"), text("lineSet"), text("register")], rows)] : [make("p", "", { textContent: text("noNames") })];
        place.replaceChildren(title, ...parts2, ...(others.length ? [more] : []), make("p", "lab-caption", { textContent: text("namesHow") }));
    };

    // Chooses a lane, or none.
    lab.chooseLane = (figure, lane) => {
        const same = lane && figure.lane && lane.warp === figure.lane.warp && lane.lane === figure.lane.lane;
        figure.lane = same && !lane.isWalk ? null : lane && { warp: lane.warp, lane: lane.lane };
        figure.draw();
        figure.write();
    };
    // The arrows go over the lanes once one is chosen, with the stage in focus. True if the key was one for that.
    lab.walkLanes = (figure, key) => {
        const { model } = figure;
        if (!model) return false;
        if (key === "Enter") {
            const last = model.steps[Math.max(figure.shown.from, figure.at - 1)];
            // An instruction may have a condition that holds for no lane.
            const lanes = last.active || last.split;
            lab.chooseLane(figure, figure.lane ? null : { warp: last.warp, lane: 31 - Math.clz32(lanes & -lanes) });
            return true;
        }
        if (!figure.lane) return false;
        const { warp, lane } = figure.lane;
        const thread = { ArrowRight: warp * 32 + lane + 1, ArrowLeft: warp * 32 + lane - 1, ArrowUp: (warp + 1) * 32 + lane, ArrowDown: (warp - 1) * 32 + lane }[key];
        if (key === "Escape") lab.chooseLane(figure, null);
        else if (thread === undefined) return false;
        else if (thread >= 0 && thread < model.threads) lab.chooseLane(figure, { warp: thread >> 5, lane: thread & 31, isWalk: true });
        return true;
    };
})();
