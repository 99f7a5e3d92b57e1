// The lanes of one warp as a table, for whoever does not see the stage: where each is, what it does in this beat, what it holds.
// The arrows go from lane to lane, Enter shows a lane's registers.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;

    // A word of memory by its name.
    const named = (model, cell, block) => {
        const word = cell - model.shared(block);
        if (word >= 0 && word < model.sharedWords) return model.sharedWord(word);
        const buffer = model.buffers.find((one) => cell >= one.first && cell < one.first + one.len);
        return buffer ? `${buffer.shown}[${cell - buffer.first}]` : null;
    };
    const list = (cells) => lab.join("comma", [...new Set(cells.filter(Boolean))].slice(0, 3));

    // What a lane does in the steps of a beat.
    const does = (figure, steps, warp, lane) => {
        const { model, view, shown } = figure;
        const own = steps.filter((step) => step.warp === warp && ((step.active | (step.reach || 0)) >>> lane) & 1);
        const cells = (kind) => list(own.flatMap((step) => step[kind]).filter((one) => one.lane === lane).map(({ cell }) => named(model, cell, shown.block)));
        const [reads, writes] = [cells("reads"), cells("writes")];
        if (own.some((step) => step.fault && (step.faultLanes >>> lane) & 1)) return text("laneFaults", { reads: reads || writes });
        if (reads && writes) return text("laneReadsWrites", { reads, writes });
        if (reads) return text("laneReads", { reads });
        if (writes) return text("laneWrites", { writes });
        const source = own.flatMap((step) => step.sources || []).find((one) => one.lane === lane);
        if (source) return text("laneTakes", { lane: source.from });
        if ((view.exited[warp] >>> lane) & 1) return text("laneLeft");
        if (view.isWaiting(warp)) return text("laneWaits");
        return text(own.length ? "laneComputes" : "laneRests");
    };

    lab.laneTable = (figure) => {
        const place = (figure.parts.table = make("details", "lab-lanes-table"));
        const select = make("select", "lab-select");
        select.setAttribute("aria-label", text("tableWarp"));
        const body = make("tbody", "");
        const table = make("table", "lab-table lab-held");
        const head = make("tr", "");
        for (const key of ["tableLane", "tableLine", "tableDoes", "tableHolds"]) head.append(make("th", "", { textContent: text(key), scope: "col" }));
        const top = make("thead", "");
        top.append(head);
        table.append(make("caption", "", { textContent: text("tableCaption") }), top, body);
        place.append(make("summary", "", { textContent: text("tableOpen") }), select, table);
        let focus = 0;
        const rows = [];
        const row = (lane) => {
            const line = make("tr", "");
            const button = make("button", "lab-small", { type: "button", tabIndex: lane === focus ? 0 : -1 });
            button.addEventListener("click", () => lab.chooseLane(figure, { warp: Number(select.value), lane }));
            button.addEventListener("focus", () => { rows[focus].button.tabIndex = -1; focus = lane; button.tabIndex = 0; });
            const first = make("th", "", { scope: "row" });
            first.append(button);
            const cells = [make("td", ""), make("td", ""), make("td", "")];
            line.append(first, ...cells);
            return { line, button, cells };
        };
        body.addEventListener("keydown", (event) => {
            const to = { ArrowDown: focus + 1, ArrowUp: focus - 1, Home: 0, End: rows.length - 1 }[event.key];
            if (to === undefined) return;
            event.preventDefault();
            event.stopPropagation();
            rows[Math.max(0, Math.min(rows.length - 1, to))].button.focus();
        });
        // Only when it is open: it is of no use to who sees the stage, and costs time.
        figure.fillTable = (steps) => {
            const { model, view } = figure;
            if (!place.open || !model) return;
            if (select.options.length !== model.warps) {
                select.replaceChildren(...Array.from({ length: model.warps }, (_, warp) => new Option(text("warp", { warp }), warp)));
            }
            const warp = Number(select.value);
            const lanes = Math.min(32, model.threads - warp * 32);
            if (rows.length !== lanes) {
                focus = 0;
                rows.splice(0, rows.length, ...Array.from({ length: lanes }, (_, lane) => row(lane)));
                body.replaceChildren(...rows.map(({ line }) => line));
            }
            rows.forEach(({ line, button, cells }, lane) => {
                const index = view.place[warp * 32 + lane];
                const held = view.laneValue(warp, lane);
                const words = [index < 0 ? "–" : model.code[model.steps[index].pc].line || "–", does(figure, steps, warp, lane), held && held.shown !== null ? held.shown : "–"];
                button.textContent = text("tableThread", { lane, thread: warp * 32 + lane });
                cells.forEach((cell, i) => { if (cell.textContent !== String(words[i])) cell.textContent = words[i]; });
                line.toggleAttribute("aria-current", Boolean(figure.lane && figure.lane.warp === warp && figure.lane.lane === lane));
            });
        };
        select.addEventListener("change", () => figure.draw());
        place.addEventListener("toggle", () => figure.draw());
        return place;
    };
})();
