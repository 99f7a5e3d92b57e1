// The time line: a picture of the run. A row for each warp, a bar for each instruction, as high as lanes take part. Its length counts
// warp-instructions and the passes beyond the first; it is no time. It is also what scrubs.
(() => {
    "use strict";
    const lab = reductionLab;
    const TOP = 16;
    // Which of the rows get their name: all, or, where letters are taller than a row, as Chinese ones are, every second.
    lab.every = (context, name, row) => {
        const { actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = context.measureText(name);
        return up + down > row ? 2 : 1;
    };

    class Timeline {
        constructor(canvas) {
            this.canvas = canvas;
            this.context = canvas.getContext("2d");
            this.picture = document.createElement("canvas");
            this.drawn = "";
        }
        // Instructions and further passes of a whole block.
        static length(timeline, model, shown) {
            const offsets = timeline.#lengths(model, shown);
            return offsets[offsets.length - 1];
        }
        // Where each step begins: instructions, and passes beyond the first.
        #lengths(model, shown) {
            if (shown.offsets) return shown.offsets;
            const offsets = new Float64Array(shown.to - shown.from + 1);
            for (let i = shown.from; i < shown.to; i += 1) {
                const more = model.steps[i].accesses.reduce((sum, access) => sum + (access.space === "shared" ? access.conflicts : 0), 0);
                offsets[i - shown.from + 1] = offsets[i - shown.from] + 1 + more;
            }
            return (shown.offsets = offsets);
        }
        // `longest` is what the whole width stands for, where two runs are drawn to one scale; `isBlank` hides what is to come; `marked` are
        // steps that get a mark at the bottom.
        draw(model, shown, at, from, colours, theme, { longest = 0, isBlank = false, marked = [] } = {}) {
            const width = this.canvas.clientWidth;
            const scale = window.devicePixelRatio || 1;
            const label = width < 520 ? 26 : 74;
            const row = model.warps <= 4 ? 13 : model.warps <= 8 ? 9 : model.warps <= 16 ? 5 : 3;
            const height = TOP + model.warps * row + 4;
            const offsets = this.#lengths(model, shown);
            const all = Math.max(longest, offsets[offsets.length - 1]);
            this.x = (index) => label + (offsets[index - shown.from] / all) * (width - label - 2);
            Object.assign(this, { label, width, shown, offsets, all });
            const key = `${theme}|${width}|${scale}|${shown.block}|${shown.to}|${all}`;
            if (this.drawn !== key || this.model !== model) {
                this.model = model;
                this.drawn = key;
                this.#picture(width, height, scale, row, colours);
            }
            if (this.canvas.width !== this.picture.width || this.canvas.height !== this.picture.height) {
                this.canvas.width = this.picture.width;
                this.canvas.height = this.picture.height;
                this.canvas.style.height = `${height}px`;
            }
            const c = this.context;
            c.setTransform(1, 0, 0, 1, 0, 0);
            c.clearRect(0, 0, this.canvas.width, this.canvas.height);
            c.drawImage(this.picture, 0, 0);
            c.setTransform(scale, 0, 0, scale, 0, 0);
            c.fillStyle = colours.ink;
            for (const index of marked) c.fillRect(this.x(index), height - 3, Math.max(1.5, this.x(index + 1) - this.x(index) - 0.5), 3);
            c.fillStyle = colours.paper;
            c.globalAlpha = isBlank ? 1 : 0.55;
            c.fillRect(this.x(at), isBlank ? 0 : TOP, width - this.x(at), height + 2);
            c.globalAlpha = 0.16;
            c.fillStyle = colours.ink;
            c.fillRect(this.x(from), TOP, Math.max(1, this.x(at) - this.x(from)), height - TOP);
            c.globalAlpha = 1;
            c.fillRect(this.x(at) - 1, TOP - 4, 2, height - TOP + 4);
            c.beginPath();
            c.moveTo(this.x(at) - 5, TOP - 8);
            c.lineTo(this.x(at) + 5, TOP - 8);
            c.lineTo(this.x(at), TOP - 1);
            c.fill();
        }
        #picture(width, height, scale, row, colours) {
            const { model, shown } = this;
            this.picture.width = Math.round(width * scale);
            this.picture.height = Math.round(height * scale);
            const c = this.picture.getContext("2d");
            c.scale(scale, scale);
            c.font = `${width < 520 ? 9 : 11}px system-ui, sans-serif`;
            c.textBaseline = "middle";
            for (let i = shown.from; i < shown.to; i += 1) {
                const step = model.steps[i];
                const [x, next] = [this.x(i), this.x(i + 1)];
                const h = Math.max(1, ((row - 1) * lab.count(step.active)) / 32);
                const kind = model.code[step.pc].kind;
                const conflicts = step.accesses.some((access) => access.space === "shared" && access.conflicts);
                c.fillStyle = step.fault || conflicts ? colours.problem : kind === "store" || kind === "red" || kind === "atom" ? colours.write
                    : kind === "load" || kind === "shuffle" || kind === "redux" ? colours.read : colours.wait;
                c.fillRect(x, TOP + (step.warp + 1) * row - h, Math.max(0.6, next - x - (next - x > 3 ? 0.6 : 0)), h);
            }
            c.fillStyle = colours.soft;
            c.textAlign = "right";
            for (let warp = 0; warp < model.warps; warp += 1) {
                const name = width < 520 ? `w${warp}` : lab.text("warp", { warp });
                if (warp % (row < 5 ? 8 : row < 9 ? 4 : lab.every(c, name, row)) !== 0) continue;
                c.fillText(name, this.label - 6, TOP + (warp + 0.5) * row);
            }
            this.#marks(c, height, colours);
        }
        #marks(c, height, colours) {
            const { model, shown } = this;
            for (const index of shown.barriers) {
                c.fillStyle = colours.soft;
                c.fillRect(this.x(index) - 0.5, TOP - 4, 1, height - TOP + 4);
            }
            c.fillStyle = colours.problem;
            c.textAlign = "center";
            let last = -20;
            for (const index of model.faultSteps) {
                if (index < shown.from || index >= shown.to || this.x(index) - last < 8) continue;
                last = this.x(index);
                c.fillText("✗", last, 7);
            }
            for (const { at, passes } of this.#queues()) c.fillText(`▲${passes}`, this.x(at), 7);
        }
        // The worst conflict of each stretch between barriers.
        #queues() {
            const { model, shown } = this;
            const found = [];
            let from = shown.from;
            for (const end of [...shown.barriers, shown.to]) {
                let worst = null;
                for (let i = from; i < end; i += 1) {
                    const passes = lab.busiest([model.steps[i]]);
                    if (passes > 1 && (!worst || passes > worst.passes)) worst = { at: i, passes };
                }
                if (worst) found.push(worst);
                from = end;
            }
            return found;
        }
        // The step under a point.
        index(px) {
            const share = Math.min(1, Math.max(0, (px - this.label) / (this.width - this.label - 2)));
            const wanted = share * this.all;
            let [low, high] = [0, this.offsets.length - 1];
            while (low < high) {
                const middle = (low + high) >> 1;
                if (this.offsets[middle] < wanted) low = middle + 1;
                else high = middle;
            }
            return this.shown.from + low;
        }
    }
    lab.Timeline = Timeline;
})();
