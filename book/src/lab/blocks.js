// The grid of a launch that has several blocks: a tile for each, with its state, its sum and its ticket; the words of global memory at
// which blocks meet; lines for what goes from one to another now; and the run as a picture, a row for each block.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    const SVG = "http://www.w3.org/2000/svg";
    const GLYPHS = { notStarted: "", runs: "▸", waits: "‖", spins: "↻", done: "✓" };
    // Beyond so many blocks tiles are small, and beyond so many words of a buffer they have no values.
    const TILES_LARGE = 16;
    const WORDS_LARGE = 16;
    // Looks in vain that the picture of the run shows of each turn.
    const LOOKS_SHOWN = 3;
    const mark = ({ key, values }) => text(key, values);
    const write = (element, words) => { if (element.textContent !== words) element.textContent = words; };

    class Blocks {
        constructor(figure) {
            this.figure = figure;
            this.element = make("div", "lab-blocks", { hidden: true });
            this.caption = make("p", "lab-caption");
            const head = make("div", "lab-blocks-head");
            head.append(this.caption, this.#button("eventBack", true), this.#button("eventNext", false));
            this.field = make("div", "lab-field");
            this.tiles = make("div", "lab-tiles");
            this.words = make("div", "lab-words");
            this.lines = document.createElementNS(SVG, "svg");
            this.lines.setAttribute("class", "lab-lines");
            this.lines.setAttribute("aria-hidden", "true");
            this.run = make("canvas", "lab-run");
            this.run.setAttribute("aria-hidden", "true");
            this.tiles.setAttribute("role", "group");
            this.field.append(this.tiles, this.words, this.lines);
            const { ranks } = figure.data.opening;
            this.element.append(head, this.field, make("p", "lab-caption lab-blocks-key", { textContent: text("gridKey") }), this.run,
                make("p", "lab-caption", { textContent: text(ranks ? "rankTime" : "gridTime") }));
            this.#listen();
        }
        #button(name, isBack) {
            const one = make("button", "lab-small lab-event", { type: "button", textContent: text(name) });
            one.addEventListener("click", () => {
                this.figure.stop();
                if (this.figure.grain !== "blocks") lab.setGrain(this.figure, "blocks");
                this.figure.step(isBack);
            });
            return one;
        }
        #listen() {
            const { figure } = this;
            this.tiles.addEventListener("click", (event) => {
                const tile = event.target.closest(".lab-tile");
                if (tile) figure.goToBlock(Number(tile.dataset.block), this.between ? figure.view.time : 0);
            });
            // One stop of the tabulator for all tiles; arrows go from one to the next.
            this.tiles.addEventListener("keydown", (event) => {
                const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
                if (!by) return;
                event.preventDefault();
                event.stopPropagation();
                const all = this.all;
                const to = all[(Number(event.target.dataset.block) + by + all.length) % all.length];
                this.#stop(to);
                to.focus();
            });
            this.run.addEventListener("pointerdown", (event) => this.#scrub(event));
            this.run.addEventListener("pointermove", (event) => { if (event.buttons) this.#scrub(event); });
        }
        #stop(tile) {
            for (const one of this.all) one.tabIndex = one === tile ? 0 : -1;
        }
        // A run is shown: `between` is what happens in it between blocks, or null.
        show(between) {
            this.between = between;
            this.element.hidden = !between;
            if (!between) return;
            const { count, cluster } = between;
            const { ranks, calls } = between.model.chosen;
            if (ranks) write(this.caption, text(calls > 1 ? "rankGridCalls" : "rankGrid", { ranks, calls }));
            else write(this.caption, cluster > 1 ? text("gridClusters", { blocks: count, clusters: count / cluster }) : text("gridOf", { blocks: count }));
            this.tiles.setAttribute("aria-label", this.caption.textContent);
            this.element.classList.toggle("lab-many-blocks", count > TILES_LARGE);
            this.all = Array.from({ length: count }, (_, block) => this.#tile(block));
            const frames = [];
            for (let first = 0; first < count; first += cluster) {
                if (cluster === 1) break;
                const frame = make("div", "lab-cluster");
                frame.append(make("span", "lab-cluster-name", { textContent: text("cluster", { cluster: first / cluster }) }), ...this.all.slice(first, first + cluster));
                frames.push(frame);
            }
            this.tiles.replaceChildren(...(frames.length ? frames : this.all));
            this.tiles.classList.toggle("lab-clusters", frames.length > 0);
            this.#makeWords();
            this.drawn = null;
        }
        #tile(block) {
            const tile = make("button", "lab-tile", { type: "button", tabIndex: -1 });
            tile.dataset.block = block;
            // What is drawn in it by blocks.css; its label says all of that in words.
            tile.append(make("span", "lab-tile-no"), make("span", "lab-tile-state"), make("b", "lab-tile-sum"), make("span", "lab-tile-mark"));
            const { chosen } = this.between.model;
            tile.firstChild.dataset.shown = chosen.ranks ? lab.rankName(chosen, block) : block;
            return tile;
        }
        #makeWords() {
            const groups = new Map();
            for (const word of [...this.between.cells.values()].sort((a, b) => a.cell - b.cell)) {
                if (!groups.has(word.name)) groups.set(word.name, []);
                groups.get(word.name).push(word);
            }
            this.boxes = new Map();
            this.groups = [...groups].map(([name, words]) => {
                const group = make("div", "lab-group");
                group.setAttribute("role", "img");
                if (words.length > WORDS_LARGE) group.classList.add("lab-small-words");
                group.append(make("span", "lab-group-name", { textContent: name }));
                for (const word of words) {
                    const box = make("span", "lab-word", { title: word.at });
                    this.boxes.set(word.cell, box);
                    group.append(box);
                }
                return { name, words, group };
            });
            this.words.hidden = this.groups.length === 0;
            this.words.replaceChildren(...this.groups.map(({ group }) => group), make("span", "lab-words-name", { textContent: text("gridWords") }));
        }

        // ---- A moment.

        draw(steps, colours) {
            if (!this.between) return;
            const { view, shown } = this.figure;
            const { time } = view;
            this.all.forEach((tile, block) => this.#fill(tile, block, block === shown.block));
            if (!this.all.some((tile) => tile.tabIndex === 0)) this.#stop(this.all[shown.block]);
            for (const group of this.groups) this.#fillWords(group, view);
            this.#flows(steps);
            this.#picture(time, colours);
        }
        #fill(tile, block, isShown) {
            const { between, figure } = this;
            const state = between.state(block, figure);
            const sum = between.partial(block, figure);
            const marks = between.marks(block, figure);
            const last = between.weightiest(marks);
            const key = `${state}|${sum}|${marks.length}|${isShown}`;
            if (tile.dataset.key === key) return;
            tile.dataset.key = key;
            tile.dataset.state = state;
            tile.classList.toggle("lab-tile-last", marks.some(({ key }) => key === "lastTicket" || key === "lastPlace" || key === "receives"));
            tile.setAttribute("aria-pressed", String(isShown));
            if (isShown) this.#stop(tile);
            const [, glyph, value, note] = tile.children;
            glyph.dataset.shown = GLYPHS[state];
            value.dataset.shown = sum === null ? "" : lab.number(sum);
            note.dataset.shown = last ? mark(last) : "";
            const { chosen } = figure.model;
            const words = chosen.ranks ? text("rankTile", { who: lab.rankBegins(chosen, block), state: text(state) }) : text(sum === null ? "tile" : (figure.model.chosen.op || "sum") === "sum" ? "tileSum" : "tileFound", { block, state: text(state), value: sum });
            tile.setAttribute("aria-label", lab.join("semicolon", [words, ...marks.map(mark)]));
            tile.title = tile.getAttribute("aria-label");
        }
        #fillWords({ name, words, group }, view) {
            let there = 0;
            const told = [];
            for (const { cell, at } of words) {
                const held = view.cell(cell);
                const box = this.boxes.get(cell);
                const version = view.cells[cell];
                const writer = version ? this.between.model.replay.versions.writer[version] : -1;
                const isThere = writer >= 0;
                there += isThere ? 1 : 0;
                box.classList.toggle("lab-word-there", isThere);
                box.classList.toggle("lab-word-read", isThere && !held.isLive);
                const block = isThere ? this.between.model.steps[writer].block : null;
                // At the barrier of a grid blocks count in a way of their own.
                const isBarrier = cell >= this.between.model.others.first;
                const value = isBarrier ? text("place", { place: this.between.arrivals(this.figure), blocks: this.between.count }) : isThere && held.shown !== null ? lab.number(held.shown) : "";
                const readers = isThere ? this.between.readersOf(version, this.figure) : [];
                const by = readers.length > 3 ? text("blocksCount", { count: readers.length }) : lab.join("comma", readers.map(String));
                told.push(!isThere ? text("wordEmpty", { at }) : text(readers.length ? "wordRead" : "wordOf", { at, block, value, readers: by }));
                if (words.length <= WORDS_LARGE) box.dataset.by = isThere ? `${block} → ${by}` : "";
                box.title = told[told.length - 1];
                if (words.length <= WORDS_LARGE) write(box, value);
            }
            group.setAttribute("aria-label", words.length > WORDS_LARGE ? text("wordsLeft", { name, count: there, all: words.length }) : lab.join("semicolon", told));
        }
        // Lines of the beat: from tiles to words and from words to tiles; within a cluster from tile to tile.
        #flows(steps) {
            const ends = new Map();
            const add = (from, to, kind) => { if (from && to && from !== to) ends.set(`${kind}${ends.size}`, { from, to, kind }); };
            const seen = new Set();
            const once = (key) => !seen.has(key) && seen.add(key);
            for (const step of steps.slice(-256)) {
                const tile = this.all[step.block];
                for (const { cell } of step.writes) if (once(`w${cell}`)) add(tile, this.boxes.get(cell), "write");
                for (const { cell } of step.reads) if (once(`r${cell}`)) add(this.boxes.get(cell), tile, "read");
                const { ranks } = this.between.model.chosen;
                for (const { cell } of ranks ? step.writes : []) {
                    const { rank } = this.between.model.arrayOf(cell) || {};
                    const peer = step.block - (step.block % ranks) + rank;
                    if (rank !== undefined && peer !== step.block && once(`p${peer}`)) add(tile, this.all[peer], "write");
                }
                for (const { block, cell } of step.from || []) {
                    if (!this.boxes.has(cell) && once(`b${block}`)) add(this.all[block], tile, "read");
                }
            }
            const key = [...ends.values()].length ? steps.map(({ index }) => index).join() : "";
            if (this.drawn === `${key}|${this.element.clientWidth}`) return;
            this.drawn = `${key}|${this.element.clientWidth}`;
            this.#showTile();
            const box = this.field.getBoundingClientRect();
            this.lines.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
            this.lines.replaceChildren(...[...ends.values()].map((one) => this.#line(one, box)));
        }
        // In a grid of many blocks only some are in sight: that which is shown is.
        #showTile() {
            const tile = this.all[this.figure.shown.block];
            const [outer, inner] = [this.tiles.getBoundingClientRect(), tile.getBoundingClientRect()];
            if (inner.top < outer.top || inner.bottom > outer.bottom) this.tiles.scrollTop += inner.top - outer.top - outer.height / 3;
        }
        #line({ from, to, kind }, box) {
            const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
            const isRow = Math.abs(a.top - b.top) < 4;
            const point = (one, isLower) => [one.left + one.width / 2 - box.left, (isLower ? one.top : one.bottom) - box.top];
            const [x0, y0] = point(a, !isRow && a.top > b.top);
            const [x1, y1] = point(b, !isRow && b.top > a.top);
            const bend = isRow ? Math.min(14, 6 + Math.abs(x1 - x0) * 0.02) : 0;
            const path = document.createElementNS(SVG, "path");
            const half = (y0 + y1) / 2 + bend;
            path.setAttribute("d", `M${x0} ${y0}C${x0} ${half + bend} ${x1} ${half + bend} ${x1} ${y1}`);
            path.setAttribute("class", `lab-line-${kind}`);
            return path;
        }

        // ---- The run as a picture.

        // Where each step begins, in steps that are drawn: of looks in vain only a few.
        #offsets() {
            const { between } = this;
            if (between.offsets) return between.offsets;
            const { recorded } = between.model;
            const offsets = new Float64Array(recorded.length + 1);
            let [looks, last] = [0, null];
            recorded.forEach((step, i) => {
                const isSame = last && last.block === step.block && last.warp === step.warp && between.isLooking(step);
                looks = isSame ? looks + (step.look ? 1 : 0) : 0;
                last = step;
                offsets[i + 1] = offsets[i] + (looks > LOOKS_SHOWN ? 0 : 1);
            });
            return (between.offsets = offsets);
        }
        #picture(time, colours) {
            const { between, run } = this;
            const width = run.clientWidth;
            const scale = window.devicePixelRatio || 1;
            const row = between.count <= 8 ? 10 : between.count <= 32 ? 6 : between.count <= 64 ? 3 : 1.5;
            const height = Math.ceil(between.count * row) + 6;
            const label = width < 520 ? 26 : 74;
            const offsets = this.#offsets();
            const all = offsets[offsets.length - 1];
            this.x = (at) => label + (offsets[Math.min(at, offsets.length - 1)] / all) * (width - label - 2);
            Object.assign(this, { label, width, row, allSteps: all });
            if (run.width !== Math.round(width * scale) || run.height !== Math.round(height * scale)) {
                run.width = Math.round(width * scale);
                run.height = Math.round(height * scale);
                run.style.height = `${height}px`;
            }
            const c = run.getContext("2d");
            c.setTransform(scale, 0, 0, scale, 0, 0);
            c.clearRect(0, 0, width, height);
            this.#bars(c, colours);
            c.fillStyle = colours.paper;
            c.globalAlpha = this.figure.predicts ? 1 : 0.55;
            c.fillRect(this.x(time + 1), 0, width - this.x(time + 1), height);
            c.globalAlpha = 1;
            c.fillStyle = colours.ink;
            c.fillRect(this.x(time + 1) - 1, 0, 2, height);
            c.font = `${width < 520 ? 9 : 11}px system-ui, sans-serif`;
            c.textAlign = "right";
            c.textBaseline = "middle";
            c.fillStyle = colours.soft;
            const every = row >= 10 ? lab.every(c, this.#name(0, width < 520), row) : row >= 6 ? 2 : row >= 3 ? 8 : 32;
            for (let block = 0; block < between.count; block += every) c.fillText(this.#name(block, width < 520), label - 6, 3 + (block + 0.5) * row);
        }
        #name(block, isNarrow) {
            const { chosen } = this.between.model;
            if (chosen.ranks) return lab.rankShort(chosen, block, isNarrow);
            return isNarrow ? `${block}` : text("oneBlock", { block });
        }
        // A bar for each turn of a block, thin where it only looks; marks where something goes between blocks.
        #bars(c, colours) {
            const { between, row } = this;
            const tall = Math.max(1, row - 2);
            for (const { block, from, to, isLooking } of between.turns()) {
                const y = 3 + block * row;
                c.fillStyle = isLooking ? colours.problem : colours.wait;
                const h = isLooking ? Math.max(1, tall / 3) : tall;
                c.fillRect(this.x(from), y + (tall - h) / 2, Math.max(1, this.x(to) - this.x(from)), h);
            }
            if (row < 3) return;
            for (const { kind, block, time } of between.events) {
                const isWrite = /^(leaves|sends|stores|ticket|packed|adds|result|arrives|pushes|sets|gives)/.test(kind);
                if (!isWrite && !/^(takesFrom|remote|message|sees|reads|takes|comes|there|receives)$/.test(kind)) continue;
                c.fillStyle = isWrite ? colours.write : colours.read;
                c.fillRect(this.x(time) - 1, 2 + block * row, 3, tall + 2);
            }
        }
        #scrub(event) {
            if (!this.between) return;
            const box = this.run.getBoundingClientRect();
            const wanted = Math.min(1, Math.max(0, (event.clientX - box.left - this.label) / (this.width - this.label - 2))) * this.allSteps;
            const offsets = this.#offsets();
            let [low, high] = [0, offsets.length - 2];
            while (low < high) {
                const middle = (low + high) >> 1;
                if (offsets[middle + 1] < wanted) low = middle + 1;
                else high = middle;
            }
            this.figure.goToBlock(this.between.model.recorded[low].block, low);
        }
    }
    lab.Blocks = Blocks;
})();
