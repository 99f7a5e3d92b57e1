// Ways for blocks to bring their sums together: of each run, what every block does in global memory, in its own order.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, inks } = lab;

    // One event for neighbouring accesses of one kind; words outside of the arrays are those of the grid's own barrier.
    const kindOf = (model, opcode, address) => {
        const buffer = model.buffers.find((one) => address >= one.address && address < one.address + one.len * one.bytes);
        const isLoad = opcode.startsWith("ld");
        if (!buffer) return isLoad ? "asks" : "arrives";
        if (buffer.shown === "in") return "reads";
        if (opcode.startsWith("atom") || opcode.startsWith("red")) return opcode.includes(".inc") ? "ticket" : "message";
        if (buffer.shown === "out" && !isLoad) return buffer.isLast ? "result" : "leaves";
        return isLoad ? "adds" : buffer.shown === "state" ? "clears" : "leaves";
    };
    const eventsOf = (figure, block) => {
        const { model } = figure;
        const events = [];
        for (const step of model.steps.slice(block.from, block.to)) {
            const code = model.code[step.pc];
            for (const { space, mask, addresses, bytes } of step.accesses) {
                if (space !== "global") continue;
                const lane = 31 - Math.clz32(mask & -mask);
                const kind = kindOf(model, code.opcode, addresses[lane]);
                const count = (lab.count(mask) * bytes) / 4;
                const last = events[events.length - 1];
                if (last && last.kind === kind) Object.assign(last, { count: last.count + count, times: last.times + 1 });
                else events.push({ kind, count, times: 1, value: lab.value(model.words, step, lane) });
            }
        }
        return events.filter(({ kind }) => kind !== "clears");
    };
    const said = ({ kind, count, times, value }) => text(`meet_${kind}`, { count, times, value });
    const INK = { reads: "read", leaves: "write", ticket: "write", message: "write", arrives: "write", asks: "wait", adds: "right", result: "right" };

    const opened = (run) => {
        const figure = lab.open(run);
        const { model } = figure;
        for (const buffer of model.buffers) buffer.isLast = buffer.name === figure.chosen.result.split(":")[0];
        const blocks = [...model.blocks].sort((a, b) => a.block - b.block);
        return blocks.map((block) => eventsOf(figure, block));
    };
    const run = (v, more = {}) => ({ slug: "ch08-cooperative", v, n: 512, b: 64, g: 4, ...more });

    lab.still("meet", () => {
        const first = opened(run("redux", { launch: 0 }));
        const [second] = opened(run("redux", { launch: 1 }));
        const panels = [
            // In the second launch one block reads what the others left.
            { title: text("meetTwo"), blocks: first, then: second.map((event) => (event.kind === "reads" ? { ...event, kind: "adds" } : event)) },
            { title: text("meetWait"), blocks: opened(run("grid_sync")) },
            { title: text("meetLast"), blocks: opened(run("last_block")) },
            { title: text("meetMessage"), blocks: opened(run("single_pass", { n: 16384, b: 256, g: 2 })) },
        ];
        const rowSaid = (events, block) => text("meetBlock", { block, does: events.map(said).join(", ") });
        const description = panels.map(({ title, blocks, then }) => `${title}: ${blocks.map(rowSaid).join(" ")} ${then ? text("meetThen", { does: then.map(said).join(", ") }) : ""}`).join(" ");
        return lab.picture({ title: text("meetTitle"), description, to: [lab.open(run("last_block"))], draw: (pen, narrow) => {
            let y = 0;
            for (const panel of panels) y += draw(pen, panel, y, narrow) + 14;
            return y - 8;
        } });
    });
    const draw = (pen, { title, blocks, then }, y, narrow) => {
        const [x, label] = [0, narrow ? 44 : 56];
        const before = blocks.map((events) => events.findIndex(({ kind }) => kind === "adds" || kind === "result")).map((at, k) => (at < 0 ? blocks[k].length : at));
        const start = Math.max(...before);
        const slots = then ? start + then.length : Math.max(...blocks.map((events, k) => start + events.length - before[k]));
        const w = Math.min(104, (pen.width - label) / slots);
        // Words of one size in all boxes of a panel: that of the longest. Where boxes are narrow the number stands below.
        const linesOf = (event) => (narrow ? said(event).split(/ (?=[^ ]+$)/) : [said(event)]);
        const longest = Math.max(...[...blocks.flat(), ...(then || [])].flatMap(linesOf).map((line) => line.length));
        const size = Math.min(narrow ? 11 : 12, (w - 7) / (0.54 * longest));
        const [pitch, h] = narrow ? [36, 31] : [26, 21];
        pen.words(title, x, y + 8, { size: 12, bold: true });
        const top = (k) => y + 22 + k * pitch;
        const box = (event, slot, k) => {
            const ink = inks[INK[event.kind]];
            const at = x + label + slot * w;
            pen.box(at + 2, top(k), w - 4, h, { fill: event.kind === "result" ? inks.scale(0.1) : inks.paper, stroke: ink, thick: 1.6, dash: event.kind === "asks" ? [3, 2] : [] });
            linesOf(event).forEach((line, i, all) => pen.words(line, at + w / 2, top(k) + h / 2 + 0.5 + (i - (all.length - 1) / 2) * 13, { align: "center", size }));
        };
        const source = then ? 0 : blocks.findIndex((events, k) => before[k] < events.length && events[before[k]].kind === "adds");
        if (source >= 0) for (let k = 0; k < blocks.length; k += 1) {
            const from = x + label + before[k] * w - 2;
            const to = x + label + start * w + 3;
            if (k !== source || to - from > 8) pen.line([[from, top(k) + h / 2], [to, top(source) + h / 2]], { colour: inks.right });
        }
        blocks.forEach((events, k) => {
            pen.words(text("blockName", { block: k }), x, top(k) + h / 2, { size: 11, colour: inks.soft });
            events.forEach((event, i) => box(event, i < before[k] ? i : start + i - before[k], k));
        });
        if (then) {
            then.forEach((event, i) => box(event, start + i, 0));
            pen.line([[x + label + start * w, top(0) - 4], [x + label + start * w, top(blocks.length) - 2]], { colour: inks.problem, dash: [6, 4], thick: 1.6 });
        }
        return top(blocks.length) - y;
    };
})();
