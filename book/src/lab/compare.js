// Another kernel's run beside this one: two stages that step together by round, both time lines to one scale, both counts.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;

    // How many rounds of a block are over after the steps up to `at`.
    const roundsAt = ({ ends }, at) => ends.round.filter((end) => end <= at).length;
    // The block of the other run that stands beside the one that is shown.
    const besideOf = ({ other, shown }) => other.model.blocks.find((one) => one.block === shown.block) || other.model.blocks[0];

    // Where the other run stands: after as many rounds, and further once this one has ended and the other goes on.
    const place = (figure) => {
        const block = besideOf(figure);
        const rounds = roundsAt(figure.shown, figure.at) + (figure.at === figure.shown.to ? figure.beyond : 0);
        const ends = block.ends.round;
        const end = (round) => (round <= 0 ? block.from : ends[Math.min(round, ends.length) - 1]);
        // A run that is over rests: its last round is not shown again and again.
        return { block, rounds: Math.min(rounds, ends.length), all: ends.length, from: end(rounds - 1), at: end(rounds) };
    };

    // One round further or back where only the other run has one left. True if it was that.
    lab.stepBeyond = (figure, isBack) => {
        const { other, shown } = figure;
        if (!other?.model || !shown || figure.at !== shown.to || figure.grain !== "round") return false;
        const left = besideOf(figure).ends.round.length - shown.ends.round.length;
        if (isBack ? figure.beyond === 0 : figure.beyond >= left) return false;
        figure.beyond += isBack ? -1 : 1;
        figure.draw();
        return true;
    };
    // All of both runs.
    lab.toEnds = (figure) => {
        figure.go(figure.shown.to);
        if (!figure.other?.model) return;
        figure.beyond = Math.max(0, besideOf(figure).ends.round.length - figure.shown.ends.round.length);
        figure.draw();
    };

    // The sentence of a run that stands beside another: its name, its round, what happens there.
    const headOf = (name, { rounds, all }, words) => {
        const head = make("p", "lab-beside-head");
        head.append(make("b", "", { textContent: name }), " ", make("span", "lab-total", { textContent: text("roundOf", { round: rounds, rounds: all }) }), make("span", "lab-beside-say", { textContent: words }));
        return head;
    };
    const sentence = (model, { block, from, at }) => {
        if (at === block.from) return text("besideStart", { threads: model.threads });
        if (from === at) return text("besideEnded");
        const { text: words, more } = lab.say(model, model.steps.slice(from, at));
        return lab.join("sentences", more ? [words, more] : [words]);
    };

    // Draws the other run, as far as it has come.
    lab.drawOther = (figure, { colours, theme, longest }) => {
        const { other, parts, shown, model, variant } = figure;
        if (!other?.model) return;
        const now = place(figure);
        const view = (now.block.view ||= new lab.View(other.model, now.block));
        view.seek(now.at);
        const steps = other.model.steps.slice(now.from, now.at);
        const data = steps.filter((step) => step.reads.length || step.writes.length || step.sources);
        const words = sentence(other.model, now);
        other.stage.canvas.setAttribute("aria-label", text("named", { name: other.name, words }));
        other.stage.draw(other.model, view, { steps, data }, { colours, receipt: null, focus: null, chosen: null, moving: figure.moving });
        other.timeline.draw(other.model, now.block, now.at, now.from, colours, theme, { longest, isBlank: figure.predicts });
        const own = { rounds: roundsAt(shown, figure.at), all: shown.ends.round.length };
        const key = `${words}|${now.rounds}|${own.rounds}|${parts.say.textContent}`;
        if (other.headKey === key) return;
        other.headKey = key;
        other.head.replaceChildren(...headOf(other.name, now, words).childNodes);
        parts.ownHead.replaceChildren(...headOf(variant.name, own, "").childNodes);
        counted(figure, lab.counts(model, shown.from, figure.at), lab.counts(other.model, now.block.from, now.at));
    };

    // The counts of both: up to here where both are drawn, and of the whole run.
    const counted = (figure, own, others) => {
        const { other } = figure;
        const total = (value) => lab.number(value);
        const names = Object.keys(other.totals).filter((key) => other.totals[key] || figure.totals[key]);
        const rows = names.map((name) => {
            const line = make("tr", "");
            line.append(make("th", "", { textContent: text(name), scope: "row" }));
            const all = [figure.totals[name], other.totals[name]];
            const now = own ? [own[name], others[name]] : all;
            now.forEach((value, i) => {
                const cell = make("td", "");
                cell.append(make(value < now[1 - i] ? "b" : "span", "", { textContent: total(value) }));
                if (own && all[i] !== value) cell.append(" ", make("span", "lab-total", { textContent: text("ofRun", { total: all[i] }) }));
                line.append(cell);
            });
            return line;
        });
        const head = make("tr", "");
        head.append(make("th", "", { textContent: text(own ? "besideSoFar" : "wholeRun") }));
        for (const words of [figure.variant.name, other.name]) head.append(make("th", "", { textContent: words, scope: "col" }));
        other.body.replaceChildren(head, ...rows);
    };

    // ---- Which kernel.

    // Kernels that take the same numbers: of this page, and of the chapter before it, whose data comes when it is asked for.
    const fits = ({ kind, chosen }) => (one) => lab.kindsOf(one).some(({ type, op }) => type === kind.type && op === kind.op) && lab.casesOf(one, kind).some(({ n }) => n === chosen.n);
    const offered = async (figure) => {
        const { data, variant } = figure;
        const own = data.variants.filter((one) => one !== variant).filter(fits(figure)).map((one) => ({ data, variant: one, key: one.name }));
        if (!data.before || window.reductionAlone) return { own, before: [] };
        if (!lab.waiting.has(data.before.slug)) await lab.load(`data/${data.before.slug}`);
        const earlier = await lab.waiting.get(data.before.slug);
        const isNew = ({ name }) => !data.variants.some((one) => one.name === name);
        return { own, before: earlier.variants.filter(isNew).filter(fits(figure)).map((one) => ({ data: earlier, variant: one, key: `${earlier.slug}/${one.name}` })) };
    };

    const clear = (figure) => {
        const { parts } = figure;
        figure.other = null;
        figure.beyond = 0;
        parts.otherSide.replaceChildren();
        parts.ownHead.replaceChildren();
        parts.otherTime.hidden = true;
        parts.pair.classList.remove("lab-pair-two");
    };

    // Runs the other kernel on the same numbers.
    const fill = async (figure, place, { data, variant }) => {
        const { parts, turn } = figure;
        const played = await lab.ofKind(data, variant, figure.kind);
        const chosen = lab.withInput(lab.caseOf(played, lab.nearest(lab.casesOf(variant, figure.kind), figure.chosen)), figure.chosen.given);
        const trace = lab.traced(chosen) ? { trace: { launch: chosen.shown, blocks: lab.BLOCKS_MAX } } : {};
        // A line of this kernel is none of the other's.
        const answer = await lab.ask(lab.request(played, chosen, figure.schedule.replace(/@.*/, ""), trace));
        if (turn !== figure.turn) return;
        clear(figure);
        const body = make("tbody", "");
        const table = make("table", "lab-table");
        table.append(body);
        place.querySelector(".lab-beside").replaceChildren(table);
        const name = chosen.block === figure.chosen.block ? variant.name : text("besideThreads", { name: variant.name, block: chosen.block });
        figure.other = { name, body, totals: lab.totals(answer.json.launches), launches: answer.json.launches.length };
        const told = answer.json.launches[chosen.shown].trace;
        if (told && !told.dropped_steps && figure.shown) {
            const model = lab.model(data, played, chosen, answer);
            lab.shareNames(model);
            lab.tieFaults(model);
            const canvas = make("canvas", "lab-stage-other");
            canvas.setAttribute("role", "img");
            const head = make("p", "lab-beside-head");
            parts.otherSide.replaceChildren(head, canvas);
            parts.otherTime.hidden = false;
            parts.pair.classList.add("lab-pair-two");
            Object.assign(figure.other, { model, head, stage: new lab.Stage(canvas), timeline: new lab.Timeline(parts.otherTime) });
            if (figure.grain !== "round") lab.setGrain(figure, "round");
        } else counted(figure, null, null);
        figure.draw();
    };

    const options = (select, { own, before }, title) => {
        const option = ({ key, variant }) => new Option(variant.name, key);
        select.append(...own.map(option));
        if (!before.length) return;
        const group = Object.assign(document.createElement("optgroup"), { label: title });
        group.append(...before.map(option));
        select.append(group);
    };

    lab.compare = (figure) => {
        const place = figure.parts.compare = make("div", "lab-compare", { hidden: true });
        let last = null;
        const open = async (isOn, button) => {
            place.hidden = !isOn;
            clear(figure);
            if (!isOn) {
                figure.draw();
                return;
            }
            button.disabled = true;
            try {
                const found = await offered(figure);
                const all = [...found.own, ...found.before];
                const select = make("select", "lab-select");
                select.setAttribute("aria-label", text("with"));
                options(select, found, figure.data.before && lab.titleOf(figure.data.before));
                // A version of the reader's is compared with what it was made from.
                select.value = figure.variant.of || (all.some(({ key }) => key === last) ? last : all[0]?.key);
                const label = make("label", "", { textContent: `${text("with")} ` });
                label.append(select);
                place.replaceChildren(all.length ? label : text("none"), make("div", "lab-beside"));
                const run = () => fill(figure, place, all.find(({ key }) => key === select.value));
                select.addEventListener("change", () => { last = select.value; run().catch(failed); });
                if (all.length) await run();
            } catch (error) {
                failed(error);
            }
            button.disabled = false;
        };
        const failed = (error) => { place.textContent = text("failed", { message: error.message }); };
        const button = lab.toggle("compare", open);
        // Another run of this kernel is compared anew.
        figure.compared = () => { if (!place.hidden) open(true, button); };
        return button;
    };
})();
