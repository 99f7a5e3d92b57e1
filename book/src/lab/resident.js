// The occupancy of the kernel, below the counts: from the registers that ptxas allotted, never estimated.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text } = lab;

    // Asks the server's ptxas about a reader's text.
    const asked = async (figure) => {
        const { played, data, variant } = figure;
        const words = data.files[variant.source];
        played.resident = null;
        if (!window.reductionServer) return;
        played.resident = await lab.serve("resources", words).catch(() => null);
        if (figure.played === played) lab.resident(figure);
    };

    lab.resident = (figure) => {
        const { parts, played, chosen, variant, data } = figure;
        const place = parts.resident;
        const { kernel, block } = chosen.launches[chosen.shown];
        if (variant.of && played.resident === undefined) asked(figure);
        const threads = block.reduce((all, many) => all * many, 1);
        const found = played.resident?.kernels?.[kernel];
        const [blocks, limit] = found?.blocks[threads] || [];
        place.hidden = Boolean(data.isTrace) || (blocks === undefined && !variant.of);
        if (place.hidden) return;
        if (blocks === undefined) {
            place.textContent = text("residentUnknown");
            return;
        }
        const { card, warps: most, compiler } = played.resident;
        const warps = blocks * Math.ceil(threads / 32);
        const share = Math.round((100 * warps) / most);
        const head = Object.assign(document.createElement("b"), { textContent: text("resident", { card, blocks, warps, most, share }) });
        const more = [text(blocks ? `residentBy_${limit}` : "residentNone"), text("residentFrom", { compiler, registers: found.registers, bytes: found.shared_bytes, threads })];
        place.replaceChildren(head, lab.join("sentences", ["", ...more]));
    };
})();
