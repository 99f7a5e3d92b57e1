// Faults and their steps: the access at which one shows, the other access of the two, and the write that a read would have seen if
// the lanes of its warp had kept in step. Each is a jump.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    const maskOf = (lanes) => lanes.reduce((all, lane) => all | (1 << lane), 0);

    // The block of a site; on several devices, the launch.
    const blockOf = ({ chosen }, { block, launch = 0 }) => (chosen.ranks ? launch : block[0]);
    const stepsOf = (model, site) => {
        const mask = maskOf(site.lanes);
        const block = blockOf(model, site);
        const found = [];
        model.steps.forEach((step, index) => {
            if (step.warp === site.warp && step.block === block && model.code[step.pc].ptxLine === site.ptx_line && step.active & mask) found.push(index);
        });
        return found;
    };
    // Words that some lanes of a step read or write.
    const cellsOf = (step, mask) => new Set([...step.reads, ...step.writes].filter(({ lane }) => (mask >>> lane) & 1).map(({ cell }) => cell));
    // The word that a message is about, where it names one.
    const isNamed = (model, cell, message) => {
        const [, name, at] = /([A-Za-z_]\w*)\[(\d+)\]/.exec(message) || [];
        const word = cell - model.shared(0);
        if (!name || word < 0 || !model.sharedWord) return true;
        return model.sharedWord(word % model.sharedWords) === `${name}[${at}]`;
    };

    // The two steps of a race: the first later access for which there is an earlier one to the same word.
    const pair = (model, fault, taken) => {
        const [mask, other] = [maskOf(fault.lanes), maskOf(fault.other.lanes)];
        const earlier = stepsOf(model, fault.other);
        for (const index of stepsOf(model, fault)) {
            if (taken.has(index)) continue;
            const cells = cellsOf(model.steps[index], mask);
            for (const before of earlier.filter((one) => model.steps[one].time < model.steps[index].time).reverse()) {
                const cell = [...cellsOf(model.steps[before], other)].find((one) => cells.has(one) && isNamed(model, one, fault.message));
                if (cell !== undefined) return { index, other: before, cell };
            }
        }
        return null;
    };

    // Which step writes what a lane would read if the lanes of its warp kept in step: the last write to the word that comes before the
    // read in the order of the code, since the barrier before. `null` where the run does not tell: lanes that take other ways and write
    // there too, other warps that do, two lanes at once.
    const inStep = (model, index, lane, cell) => {
        const read = model.steps[index];
        const block = model.blocks.find((one) => index >= one.from && index < one.to);
        // Each lane's own instructions since the last barrier before the read.
        const lists = Array.from({ length: 32 }, () => []);
        const isOver = new Array(32).fill(false);
        let start = block.from;
        for (let i = index; i >= block.from; i -= 1) {
            const step = model.steps[i];
            if (step.warp === read.warp && model.code[step.pc].isBarrier && (step.active >>> lane) & 1) { start = i; break; }
        }
        for (let i = start; i < block.to; i += 1) {
            const step = model.steps[i];
            const isHere = step.warp === read.warp;
            if (!isHere && step.writes.some((one) => one.cell === cell) && !passed(model, block, step.warp, i, start)) return null;
            if (!isHere) continue;
            const isBarrier = model.code[step.pc].isBarrier;
            lab.lanes(step.split, (k) => {
                if (isOver[k]) return;
                if (isBarrier && (i > start || block.from === start)) isOver[k] = true;
                lists[k].push(i);
            });
        }
        const own = lists[lane];
        const place = own.indexOf(index);
        if (place < 0) return null;
        let found = null;
        for (let k = 0; k < 32; k += 1) {
            const writes = lists[k].map((i, at) => ({ i, at })).filter(({ i }) => model.steps[i].writes.some((one) => one.cell === cell && one.lane === k));
            if (writes.length === 0) continue;
            for (let at = 0; at < place; at += 1) {
                if (lists[k][at] === undefined || model.steps[lists[k][at]].pc !== model.steps[own[at]].pc) return null;
            }
            const last = writes.filter(({ at }) => at < place).pop();
            if (!last) continue;
            if (found && found.at === last.at) return null;
            if (!found || last.at > found.at) found = { index: last.i, at: last.at, lane: k };
        }
        return found;
    };
    // Whether a warp's step lies on the other side of a barrier, so that it says nothing about this stretch.
    const passed = (model, block, warp, i, start) => {
        const count = (of, end) => {
            let barriers = 0;
            for (let at = block.from; at < end; at += 1) if (model.steps[at].warp === of && model.code[model.steps[at].pc].isBarrier) barriers += 1;
            return barriers;
        };
        return count(warp, i) !== count(model.steps[start].warp, start + 1);
    };

    // What the read of a race saw, and what it would have seen in step.
    const judge = (model, tied) => {
        const { fault } = tied;
        const sides = [{ index: tied.index, lanes: fault.lanes }, { index: tied.other, lanes: fault.other.lanes }];
        for (const { index, lanes } of sides) {
            const read = model.steps[index].reads.find((one) => one.cell === tied.cell && lanes.includes(one.lane));
            if (!read) continue;
            const wanted = inStep(model, index, read.lane, tied.cell);
            if (!wanted) return;
            const writer = model.replay.versions.writer[read.version];
            const isMissed = writer !== wanted.index;
            const values = { lane: read.lane, writer: wanted.lane, step: wanted.index, line: model.code[model.steps[wanted.index].pc].line };
            tied.wanted = wanted.index;
            tied.verdict = { isMissed, isLater: wanted.index > index, values };
            return;
        }
    };

    // Ties faults to the steps at which they show.
    lab.tieFaults = (model) => {
        model.faults = [];
        const taken = new Set();
        for (const fault of model.launch.faults) {
            const isRace = fault.code.endsWith("race") && fault.other;
            const found = isRace ? pair(model, fault, taken) : null;
            // A budget runs out at the last step of its line.
            const steps = found ? [] : stepsOf(model, fault);
            const index = found ? found.index : fault.code === "step-budget" ? steps.pop() : steps.find((one) => !taken.has(one));
            if (index === undefined) continue;
            taken.add(index);
            const tied = { fault, index, other: found ? found.other : null, cell: found ? found.cell : null, wanted: null, verdict: null };
            if (!found && fault.other) tied.other = stepsOf(model, fault.other).pop() ?? null;
            if (found && !model.chosen.ranks) judge(model, tied);
            model.steps[index].fault = fault;
            model.steps[index].tied = tied;
            model.steps[index].faultLanes = maskOf(fault.lanes) & model.steps[index].active;
            model.faults.push(tied);
        }
        model.faults.sort((a, b) => a.index - b.index);
        model.faultSteps = model.faults.map(({ index }) => index);
    };

    // What a read should have seen, in a sentence; nothing where the run does not tell.
    lab.wanted = (model, { verdict }) => {
        if (!verdict) return undefined;
        const from = model.blocks.find((one) => verdict.values.step >= one.from && verdict.values.step < one.to).from;
        const values = { ...verdict.values, step: verdict.values.step - from + 1 };
        return text(!verdict.isMissed ? "wantedSeen" : verdict.isLater ? "wantedLater" : "wantedMissed", values);
    };

    // The jumps of the fault whose steps the beat holds.
    lab.showFault = (figure, from) => {
        const { parts, model, shown, at } = figure;
        const place = parts.fault;
        const isIn = (index) => index !== null && index >= from && index < at;
        const before = model.faults.find((one) => one === figure.tied && [one.index, one.other, one.wanted].some(isIn));
        const tied = at > shown.from && at < shown.to ? before || model.faults.find((one) => isIn(one.index)) : null;
        figure.tied = tied || null;
        // A run with faults always has room for the jumps, so that nothing moves when one is reached.
        place.hidden = model.faults.length === 0;
        if (!tied) {
            place.replaceChildren();
            return;
        }
        const steps = [["faultAccess", tied.index], ["faultOther", tied.other], ["faultWanted", tied.wanted]];
        const seen = steps.filter(([, index]) => index !== null && index >= shown.from && index < shown.to);
        const held = place.contains(document.activeElement) && document.activeElement.dataset.key;
        place.replaceChildren(make("span", "", { textContent: `${text("goTo")} ` }), ...seen.flatMap(([key, index]) => {
            const button = make("button", "lab-small", { type: "button", textContent: text(key, { step: index - shown.from + 1, line: model.code[model.steps[index].pc].line }) });
            button.dataset.key = key;
            button.toggleAttribute("aria-current", at - 1 === index && figure.grain === "instruction");
            button.addEventListener("click", () => lab.jump(figure, index));
            return [button, " "];
        }));
        if (held) place.querySelector(`[data-key="${held}"]`)?.focus();
    };
})();
