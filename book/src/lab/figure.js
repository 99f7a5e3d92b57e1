// The figure of a lab: settings, sentence, listing, stage, time line, controls, counts; its state, and its place in the address bar.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;
    const GRAINS = ["round", "line", "instruction", "blocks"];
    const PLAY_MS = { round: 1100, line: 550, instruction: 220, blocks: 1400 };
    const STARTS = { min: "startMin", max: "startMax", argmin: "startArgmin", argmax: "startArgmax" };
    const calm = matchMedia("(prefers-reduced-motion: reduce)");

    class Figure {
        constructor(element, data) {
            Object.assign(this, { element, data, grain: "round", focus: null, lane: null, playing: null, moving: null, beyond: 0, schedule: data.opening.schedule });
            this.ask = () => {};
            this.compared = () => {};
            this.parts = lab.build(this);
            this.stage = new (data.opening.ranks ? lab.RankStage : lab.Stage)(this.parts.stage);
            this.timeline = new lab.Timeline(this.parts.time);
            new ResizeObserver(() => this.draw()).observe(element);
            new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
            addEventListener("hashchange", ({ newURL }) => this.follow(false, new URL(newURL).hash));
            const [, wanted] = element.dataset.lab.split("/");
            const { variant, n, block, grid, ranks, grain = "round", at = "poster" } = data.opening;
            // A variant may have a schedule of its own, under which it shows what it does.
            const schedule = data.variants.find((one) => one.name === (wanted || variant))?.schedule ?? data.opening.schedule;
            this.opening = { variant: wanted || variant, n, block, grid, ranks, schedule, grain, at, shownBlock: null, lane: "", given: null, type: "i32", op: "sum" };
            if (!this.follow(true, location.hash)) this.open(this.opening, false);
        }

        // ---- What is shown, and the address bar.

        // Reads what the address says after #. True if it is about this lab.
        follow(isFirst, hash) {
            if (!hash.startsWith("#lab=") || hash === this.ownHash) return false;
            const wanted = new URLSearchParams(hash.slice(1));
            if (wanted.get("lab") !== this.data.slug) return false;
            // The moment before, if it was still to be written, or was written since the link was followed, is none any more.
            clearTimeout(this.writing);
            if (location.hash !== hash) history.replaceState(history.state, "", hash);
            const number = (key) => (wanted.has(key) ? Number(wanted.get(key)) : undefined);
            const asked = { variant: wanted.get("v") || undefined, n: number("n"), block: number("b"), schedule: wanted.get("s") || undefined,
                grid: wanted.has("g") ? number("g") : wanted.has("n") || wanted.has("b") ? null : undefined, grain: wanted.get("grain") || undefined, at: wanted.get("at") || "poster", shownBlock: number("k"), lane: wanted.get("lane") || undefined, given: wanted.get("in") || undefined, ranks: number("r"), type: wanted.get("t") || undefined, op: wanted.get("op") || undefined };
            this.asked = hash;
            lab.offer(this, wanted.get("my"), wanted.get("at") || undefined);
            this.open({ ...this.opening, ...JSON.parse(JSON.stringify(asked)) }, false);
            // A link from another edition says which heading was in view.
            if (!wanted.has("top") && (!isFirst || !document.getElementById(hash.slice(1)))) this.parts.deck.scrollIntoView({ block: "start", behavior: calm.matches ? "auto" : "smooth" });
            return true;
        }
        write() {
            clearTimeout(this.writing);
            this.writing = setTimeout(() => {
                // A kernel that came by a link stays in the address until it is dropped.
                this.ownHash = this.address() + (this.offered ? `&my=${this.offered}` : "");
                history.replaceState(history.state, "", this.ownHash);
            }, 300);
        }
        // The address of what is shown.
        address() {
            const { variant, chosen, schedule, grain } = this;
            const words = { lab: this.data.slug, v: variant.of || variant.name, n: chosen.n, b: chosen.block, s: schedule, grain, at: this.at - (this.shown ? this.shown.from : 0) };
            if (chosen.grid) words.g = chosen.grid;
            if (chosen.ranks) words.r = chosen.ranks;
            if (this.shown && this.model.blocks.length > 1) words.k = this.shown.block;
            if (!lab.isPlain(this.kind)) Object.assign(words, { t: this.kind.type, op: this.kind.op });
            if (chosen.given) words.in = lab.inputWords(chosen.given);
            if (this.lane) words.lane = `${this.lane.warp}:${this.lane.lane}`;
            return `#${new URLSearchParams(words)}`.replaceAll("%3A", ":").replaceAll("%40", "@");
        }

        // Opens a run. What is not given stays as it is.
        async open(wanted, isOwn = true) {
            this.stop();
            const next = { variant: this.variant && this.variant.name, schedule: this.schedule, ...(this.chosen ? { n: this.chosen.n, block: this.chosen.block, grid: this.chosen.grid, ranks: this.chosen.ranks, given: this.chosen.given } : {}), at: "poster", ...wanted };
            const before = this.variant;
            this.variant = this.data.variants.find((one) => one.name === next.variant) || this.data.variants[0];
            // A line of another kernel is none of this one's.
            if (before !== this.variant && !wanted.schedule) next.schedule = next.schedule.replace(/@.*/, "");
            this.kind = lab.kindOf(this.variant, { ...this.kind, ...(next.type ? { type: next.type } : {}), ...(next.op ? { op: next.op } : {}) });
            const turn = (this.turn = (this.turn || 0) + 1);
            const played = await lab.ofKind(this.data, this.variant, this.kind);
            if (turn !== this.turn) return;
            this.played = played;
            this.chosen = lab.withInput(lab.caseOf(played, lab.nearest(lab.casesOf(this.variant, this.kind), next)), next.given);
            // A kernel that brings a schedule of its own shows under it what it does.
            if (wanted.variant && !wanted.schedule && this.variant.schedule) next.schedule = this.variant.schedule;
            this.schedule = /^(lockstep|independent(:\d+(@\d+)?)?)$/.test(next.schedule) ? next.schedule : "independent";
            if (GRAINS.includes(next.grain)) this.grain = next.grain;
            this.focus = null;
            lab.settings(this);
            this.editing.follow();
            this.failure = null;
            try {
                const answer = await this.answer();
                if (turn !== this.turn) return;
                this.show(answer, next);
                this.answered = this.asked;
                if (isOwn) this.write();
            } catch (error) {
                this.failure = error.message;
                if (turn === this.turn) this.say({ text: text("failed", { message: error.message }), isProblem: true });
            }
        }
        // The answer of the opening comes with the page; any other is asked for.
        async answer() {
            const { opening } = this.data;
            const same = this.variant.name === opening.variant && this.chosen.n === opening.n && this.chosen.block === opening.block
                && (this.chosen.grid || null) === opening.grid && this.chosen.ranks === opening.ranks && !this.chosen.given && lab.isOwnKind(this.variant, this.kind) && this.schedule === opening.schedule;
            if (same && (this.data.answer || this.data.opened)) return (this.data.opened ||= lab.unpacked(this.data.answer));
            if (!this.model) this.say({ text: text("loading") });
            this.element.setAttribute("aria-busy", "true");
            const { cancel } = this.parts;
            const late = setTimeout(() => { cancel.hidden = false; }, 500);
            const trace = lab.traced(this.chosen) ? { trace: lab.traceOf(this.chosen) } : {};
            const started = performance.now();
            try {
                let answer = await lab.ask(lab.request(this.played, this.chosen, this.schedule, trace));
                const steps_per_block_max = lab.budgetToDraw(this.chosen, answer);
                // An endless run is too long to draw: it runs again with a budget that can be drawn to its end.
                if (steps_per_block_max) answer = Object.assign(await lab.ask(lab.request(this.played, this.chosen, this.schedule, { ...trace, steps_per_block_max })), { budget: steps_per_block_max });
                answer.ms = performance.now() - started;
                return answer;
            } finally {
                clearTimeout(late);
                cancel.hidden = true;
                this.element.removeAttribute("aria-busy");
            }
        }
        show(answer, { at, shownBlock, lane }) {
            const { chosen } = this;
            this.reply = answer;
            this.forget();
            this.result = lab.result(chosen, answer.json);
            this.expected = lab.expected(chosen, this.result);
            this.totals = lab.totals(answer.json.launches);
            this.fillInput();
            lab.resident(this);
            // What is not whole can't be followed.
            const { trace } = answer.json.launches[chosen.shown];
            const isDrawn = Boolean(trace && !trace.dropped_steps);
            this.element.classList.toggle("lab-undrawn", !isDrawn);
            if (!isDrawn) {
                this.parts.blocks.show(null);
                this.model = this.shown = null;
                this.at = 0;
                this.undrawn(answer);
                return;
            }
            const started = performance.now();
            this.model = lab.model(this.data, this.played, chosen, answer);
            lab.shareNames(this.model);
            lab.tieFaults(this.model);
            this.measured = { model: performance.now() - started };
            const blocks = this.model.blocks;
            const last = blocks[blocks.length - 1];
            this.between = blocks.length > 1 ? new lab.Between(this.model) : null;
            if (!this.between && this.grain === "blocks") this.grain = "round";
            this.parts.blocks.show(this.between);
            const named = this.between && this.between.named(at, shownBlock);
            this.choose(blocks.find((one) => one.block === (named ? named.block : shownBlock)) || (last.later ? last : blocks[0]));
            if (named) this.toEvent(named);
            else this.at = this.moment(at);
            const [, warp, of] = /^(\d+):(\d+)$/.exec(lane ?? "") || [];
            if (lane !== undefined) this.lane = warp ? { warp: Number(warp), lane: Number(of) } : null;
            if (this.lane && this.lane.warp * 32 + this.lane.lane >= this.model.threads) this.lane = null;
            lab.settings(this);
            this.draw();
            this.compared();
        }
        // What was found out about another case is of no use for this one.
        forget() {
            const { variant, chosen, parts } = this;
            const key = [variant.name, chosen.n, chosen.block, chosen.grid, chosen.ranks, chosen.given, chosen.type, chosen.op].join();
            if (this.seededFor !== key) parts.seeds.hidden = true;
            this.seededFor = key;
        }
        // Of a kernel that is taught as a race, the line from which on a seed parts lanes, as a schedule has it.
        partsFrom() {
            const { parts_from: line } = this.variant;
            return line ? `@${line}` : "";
        }
        choose(shown) {
            this.shown = shown;
            this.event = null;
            this.view = shown.view ||= new lab.View(this.model, shown);
            this.totalsShown = lab.counts(this.model, shown.from, shown.to);
        }
        undrawn(answer) {
            const { chosen, result, expected } = this;
            const blocks = chosen.launches[chosen.shown].grid[0];
            if (chosen.of) {
                const ms = Math.round(answer.ms || 0);
                const key = `notDrawn${lab.ofRows(chosen)}${result === expected ? "" : "Wrong"}`;
                this.say({ text: text(key, { ...lab.oneOf(result, expected), n: chosen.n, blocks, of: lab.partOf(chosen), ms }), isProblem: result !== expected });
                lab.counters(this, this.totals, null);
                return;
            }
            this.say({ text: text(chosen.op && chosen.op !== "sum" ? "notDrawnOther" : "notDrawn", { n: chosen.n, blocks, result, sign: result === expected ? "✓" : "✗", ms: Math.round(answer.ms || 0) }), isProblem: result !== expected });
            lab.counters(this, this.totals, null);
        }

        // ---- Moments.

        // A place in words or numbers, as an index of a step.
        moment(at) {
            const { shown, model } = this;
            if (/^\d+$/.test(at)) return Math.min(shown.to, shown.from + Number(at));
            if (at === "start") return shown.from;
            if (at === "end") return shown.to;
            const round = /^round(\d+)$/.exec(at);
            if (round) return shown.ends.round[Math.min(Number(round[1]), shown.ends.round.length) - 1] ?? shown.from;
            // Rather where a read misses what it should see than where it goes well by luck.
            const faults = model.faults.filter(({ index }) => index >= shown.from && index < shown.to);
            const fault = (faults.find(({ verdict }) => verdict?.isMissed) || faults[0])?.index;
            if (fault !== undefined) {
                // A round of a run that keeps its own order may hold many lines and several faults.
                if (this.grain === "round" && model.keep && this.end("round", fault) !== this.end("line", fault)) this.grain = "line";
                return this.end(this.grain, fault);
            }
            // A run that somebody asks about because its result is wrong: its end tells what is missing.
            if (this.chosen.elements && this.result !== this.expected) return shown.to;
            return this.poster();
        }
        // What happens between blocks.
        toEvent(event) {
            this.choose(this.model.blocks.find((one) => one.block === event.block));
            this.event = event;
            this.at = event.kind === "starts" ? this.shown.from : event.index + 1;
        }
        // One of the blocks as it is at a time of the run.
        goToBlock(block, time) {
            this.stop();
            this.choose(this.model.blocks.find((one) => one.block === block));
            const { shown } = this;
            let at = shown.from;
            while (at < shown.to && shown.times[at - shown.from] <= time) at += 1;
            lab.settings(this);
            this.go(at);
        }
        // A beat further or back: of this block, or, from event to event, of them all. False where there is none.
        step(isBack) {
            if (lab.stepBeyond(this, isBack)) return true;
            if (this.grain !== "blocks" || !this.between) {
                const to = isBack ? this.begin(this.grain, this.at) : this.end(this.grain, this.at);
                if (to === this.at) return false;
                this.go(to);
                return true;
            }
            const event = this.between[isBack ? "previous" : "next"](this.event, this);
            if (!event) return false;
            this.focus = null;
            this.toEvent(event);
            lab.settings(this);
            this.draw();
            if (!this.playing) this.write();
            return true;
        }
        // Where there is something to see: blocks that meet, the worst conflict, else the middle of the tree.
        poster() {
            const rounds = this.shown.ends.round;
            // A block that takes what other blocks left: when it does.
            const meeting = this.between && this.between.named("takes", this.shown.block);
            if (meeting) return this.end("round", meeting.index);
            let [best, passes] = [rounds[Math.floor((rounds.length - 1) / 2)], 1];
            let from = this.shown.from;
            for (const end of rounds) {
                const busiest = lab.busiest(this.model.steps.slice(from, end));
                if (busiest > passes) [best, passes] = [end, busiest];
                from = end;
            }
            return best;
        }
        end(grain, index) {
            return this.shown.ends[grain].find((end) => end > index) ?? this.shown.to;
        }
        // Where the beat that ends at `at` begins.
        begin(grain, at) {
            const ends = this.shown.ends[grain];
            let found = this.shown.from;
            for (const end of ends) {
                if (end >= at) break;
                found = end;
            }
            return found;
        }
        next() {
            this.stop();
            this.step(false);
        }
        back() {
            this.stop();
            this.step(true);
        }
        // To the next barrier, fault or conflict; from the last one to the end.
        toMark() {
            this.stop();
            const { shown, model } = this;
            const ofBlock = model.faultSteps.filter((index) => index >= shown.from && index < shown.to);
            const marks = [...shown.barriers, ...ofBlock.map((index) => index + 1), shown.to].sort((a, b) => a - b);
            this.go(marks.find((mark) => mark > this.at) ?? shown.from);
        }
        go(at, isOwn = true) {
            if (!this.shown) return;
            this.at = Math.min(this.shown.to, Math.max(this.shown.from, at));
            this.focus = null;
            this.isTouched = true;
            this.event = null;
            this.beyond = 0;
            this.draw();
            if (isOwn && !this.playing) this.write();
        }
        play() {
            if (!this.shown) return;
            if (this.playing) {
                this.stop();
                this.write();
                return;
            }
            if (this.grain === "blocks" && this.between && !this.between.next(this.event, this)) this.toEvent(this.between.events[0]);
            else if (this.grain !== "blocks" && this.at >= this.shown.to) this.at = this.shown.from;
            this.playing = { since: 0 };
            lab.playButton(this);
            this.beat(performance.now());
        }
        // One beat of playing: its tokens move, then the next one comes.
        beat(now) {
            const { playing } = this;
            if (!playing) return;
            const length = PLAY_MS[this.grain];
            if (!playing.since || now - playing.since >= length) {
                const isOver = !this.step(false);
                if (isOver) {
                    this.stop();
                    this.draw();
                    this.write();
                    return;
                }
                playing.since = now;
            }
            this.moving = calm.matches ? null : Math.min(1, ((now - playing.since) / length) * 1.5);
            this.draw();
            playing.frame = requestAnimationFrame((time) => this.beat(time));
        }
        stop() {
            if (!this.playing) return;
            cancelAnimationFrame(this.playing.frame);
            this.playing = null;
            this.moving = null;
            lab.playButton(this);
        }

        // ---- Drawing.

        draw() {
            const { model, shown } = this;
            // On paper the canvases are not there.
            if (!model || this.parts.stage.clientWidth === 0) return;
            const started = performance.now();
            this.view.seek(this.at);
            const from = this.begin(this.grain, this.at);
            const steps = model.steps.slice(from, this.at);
            const data = steps.filter((step) => step.reads.length || step.writes.length || step.sources);
            const colours = lab.colours(this.element);
            const receipt = this.receipt();
            this.stage.draw(model, this.view, { steps, data: data.length > 0 || this.grain !== "instruction" ? data : steps }, { colours, receipt, focus: this.focus, chosen: this.lane, moving: this.moving, between: this.between, moment: this });
            lab.showFault(this, from);
            lab.showMade(this);
            this.parts.blocks.draw(steps, colours);
            lab.listing(this, steps);
            this.say(this.sentence(steps));
            this.drawTimes(from, colours);
            lab.inspect(this);
            lab.showRegisters(this);
            this.fillTable(steps);
            lab.counters(this, lab.counts(model, shown.from, this.at), lab.counts(model, from, this.at));
            const { range } = this.parts;
            range.min = 0;
            range.max = shown.to - shown.from;
            range.value = this.at - shown.from;
            range.setAttribute("aria-valuetext", this.parts.say.textContent);
            this.ask();
            this.measured.draw = performance.now() - started;
        }
        // The time line, and all of the run that it is compared with, to one scale.
        drawTimes(from, colours) {
            const { model, shown, timeline, other } = this;
            const theme = document.documentElement.className;
            const longest = other?.model ? Math.max(lab.Timeline.length(timeline, model, shown), ...other.model.blocks.map((block) => lab.Timeline.length(timeline, other.model, block))) : 0;
            timeline.draw(model, shown, this.at, from, colours, theme, { longest, isBlank: this.predicts, marked: lab.marked(this) });
            lab.drawOther(this, { colours, theme, longest });
        }
        // How often each input is in what is pointed at; at the end of a wrong run, in the result.
        receipt() {
            const { model, focus, view } = this;
            let value = 0;
            if (focus) {
                const held = focus.cell === undefined ? view.laneValue(focus.warp, focus.lane) : view.cell(focus.cell);
                value = held ? held.value : 0;
            } else if (this.at === this.shown.to && this.result !== this.expected && !model.chosen.of && model.blocks.length === 1 && model.resultCell >= 0) {
                value = model.replay.versions.value[view.cells[model.resultCell]];
            }
            return value ? model.replay.values.receipt(value, model.n) : null;
        }
        // How often each input is in the block's sum; nothing where that is not known.
        finalReceipt() {
            const { model, view } = this;
            const held = model.resultCell >= 0 && view.cell(model.resultCell);
            return held && held.value ? model.replay.values.receipt(held.value, model.n) : new Uint16Array(model.n);
        }
        sentence(steps) {
            const { model, shown, result, expected, chosen, between } = this;
            if (this.event) return between.sentence(this.event);
            const blocks = chosen.launches[chosen.shown].grid[0];
            if (this.at === shown.from) {
                const values = { threads: model.threads, n: chosen.n, blocks, block: shown.block };
                const { op = "sum" } = chosen;
                if (chosen.of) return { text: text(`start${lab.ofRows(chosen)}`, { ...values, rows: chosen.rows, cols: chosen.cols, of: lab.partOf(chosen), ...lab.rankStart(chosen, shown) }) };
                if (op !== "sum") return { text: text(STARTS[op] || "startMax", values) };
                return { text: text(blocks > 1 ? "startAll" : "start", values) };
            }
            if (this.at === shown.to && this.reply.budget) return { text: text("endBudget", { steps: shown.to - shown.from, budget: this.reply.budget }), isProblem: true };
            if (this.at === shown.to) {
                const isRight = result === expected;
                if (chosen.of) {
                    const key = `end${lab.ofRows(chosen)}${isRight ? "" : "Wrong"}`;
                    return { text: text(key, { ...lab.oneOf(result, expected), of: lab.partOf(chosen), ...lab.rankEnd(this) }), isProblem: !isRight };
                }
                const isWhole = blocks === 1 && chosen.launches.length === 1;
                const isComplete = isWhole && this.finalReceipt().every((times) => times === 1);
                const isSum = (chosen.op || "sum") === "sum";
                const ofBlock = isWhole ? (isRight ? (isComplete ? "endRight" : "endRightPlain") : "endWrong") : isRight ? "endOther" : "endOtherWrong";
                const ofRun = chosen.elements ? ["endResult", "endResultWrong"] : chosen.op === "argmax" ? ["endPlace", "endNoPlace"] : ["endFound", "endNotFound"];
                const key = this.data.isTrace ? "endTrace" : isSum ? ofBlock : ofRun[isRight ? 0 : 1];
                return { text: text(key, { result, expected, n: chosen.n, sign: "✓" }), isProblem: !isRight && !this.data.isTrace };
            }
            const event = between && between.within(this.begin(this.grain, this.at), this.at);
            return event && !steps.some((step) => step.fault) ? between.sentence(event) : lab.say(model, steps);
        }
        say({ text: words, more, isProblem }) {
            const { say } = this.parts;
            const key = `${words}|${more || ""}`;
            if (this.said === key) return;
            this.said = key;
            say.setAttribute("aria-live", this.playing ? "off" : "polite");
            const main = document.createElement("span");
            main.textContent = words;
            if (isProblem) main.className = "lab-problem";
            say.replaceChildren(main);
            if (more) {
                const extra = document.createElement("span");
                extra.className = "lab-problem";
                extra.textContent = text("sentences", { first: "", second: more });
                say.append(extra);
            }
            lab.reachable(say);
        }
    }

    lab.Figure = Figure;

    // The case that is nearest to what is wanted: the same block and grid if there is one, then the size.
    lab.nearest = (cases, { n, block, grid, ranks }) => {
        const far = (one) => Math.abs(Math.log2(one.n) - Math.log2(n || 256)) * 4 + Math.abs(Math.log2(one.block) - Math.log2(block || 128)) + ((one.grid || null) === (grid || null) ? 0 : 1) + (ranks && one.ranks !== ranks ? 9 : 0);
        return cases.reduce((best, one) => (far(one) < far(best) ? one : best));
    };

    // The same case with numbers by hand, which the address has as words.
    lab.withInput = (chosen, given) => {
        const list = typeof given === "string" ? lab.inputOf(given, chosen.n) : given && given.slice(0, chosen.n);
        return list ? { ...chosen, given: list } : chosen;
    };

    lab.figure = (element, data) => {
        if (element.labFigure) return;
        if (data.isFirst) {
            element.labFigure = lab.first(element, data) || true;
            return;
        }
        element.labFigure = new Figure(element, data.trace ? lab.ofTrace(data) : data);
    };
})();
