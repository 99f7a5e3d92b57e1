// Links to the moment that a lab shows, which may carry the reader's own kernel. A kernel that arrives by a link is only text until the
// reader presses "Run it".
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    // Most characters of a kernel in an address. The longest file of the course takes 14,000.
    const PACKED_MAX = 32000;
    // Most bytes of an unpacked kernel, so that no link fills the memory.
    const UNPACKED_MAX = 1 << 20;

    // ---- Packing: JSON, deflate, base64 for addresses.

    const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream));
    const pack = async (kernel) => {
        const bytes = new Uint8Array(await through(JSON.stringify(kernel), new CompressionStream("deflate")).arrayBuffer());
        let signs = "";
        for (let i = 0; i < bytes.length; i += 8192) signs += String.fromCharCode(...bytes.subarray(i, i + 8192));
        return btoa(signs).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    };
    // The kernel of a link, `{ source, ptx }`, where `ptx` may be missing; null if it cannot be read.
    lab.unpackKernel = async (packed) => {
        if (packed.length > PACKED_MAX || !/^[\w-]+$/.test(packed)) return null;
        try {
            const reader = through(lab.bytesOf(packed.replaceAll("-", "+").replaceAll("_", "/")), new DecompressionStream("deflate")).body.getReader();
            const chunks = [];
            let bytes = 0;
            for (let next = await reader.read(); !next.done; next = await reader.read()) {
                bytes += next.value.length;
                if (bytes > UNPACKED_MAX) {
                    reader.cancel();
                    return null;
                }
                chunks.push(next.value);
            }
            const { source, ptx } = JSON.parse(await new Blob(chunks).text());
            return typeof source === "string" && source && (ptx === undefined || typeof ptx === "string") ? { source, ptx } : null;
        } catch {
            return null;
        }
    };
    // The PTX without the entries that this launch does not need.
    const needed = (ptx, { launches }) => {
        const kernels = new Set(launches.map(({ kernel }) => kernel));
        return ptx.replace(/^\.visible \.entry (\w+)\([\s\S]*?\n\}\n/gm, (whole, name) => (kernels.has(name) ? whole : ""));
    };
    // The reader's kernel as part of an address. With its PTX, if both are short enough, it runs where there is no compiler too; the text
    // alone needs one.
    lab.packKernel = async ({ data, variant, chosen }) => {
        const source = data.files[variant.source];
        const whole = await pack({ source, ptx: needed(variant.ptx.text, chosen) });
        return whole.length <= PACKED_MAX ? whole : pack({ source });
    };

    // ---- Copying.

    const copied = async (address) => {
        try {
            await navigator.clipboard.writeText(address);
            return true;
        } catch {
            // Not every browser lets a page from a file have the clipboard that way.
            const field = make("textarea", "", { value: address });
            document.body.append(field);
            field.select();
            const isDone = document.execCommand("copy");
            field.remove();
            return isDone;
        }
    };
    lab.linker = (figure) => {
        const button = make("button", "lab-button lab-link", { type: "button", textContent: text("copyLink") });
        const status = make("span", "lab-link-status");
        status.setAttribute("role", "status");
        const say = (words) => {
            status.textContent = words;
            clearTimeout(figure.linkSaid);
            figure.linkSaid = setTimeout(() => { status.textContent = ""; }, 6000);
        };
        button.addEventListener("click", async () => {
            let hash = figure.address();
            let key = "linkCopied";
            if (figure.variant.of) {
                const kernel = await lab.packKernel(figure);
                if (kernel.length <= PACKED_MAX) hash += `&my=${kernel}`;
                key = kernel.length <= PACKED_MAX ? "linkCopiedMine" : "linkTooLong";
                if (key === "linkTooLong") return say(text(key, { count: kernel.length, most: PACKED_MAX }));
            }
            const address = location.href.replace(/#.*$/, "") + hash;
            if (await copied(address)) return say(text(key, { count: address.length }));
            // The address is shown, for the reader to copy.
            const field = make("input", "lab-numbers", { value: address, readOnly: true });
            field.setAttribute("aria-label", text("copyLink"));
            status.replaceChildren(text("linkByHand"), " ", field);
            field.select();
        });
        const both = make("span", "lab-linking");
        both.append(button, " ", status);
        return both;
    };

    // ---- A kernel that came by a link.

    const button = (name, act) => {
        const one = make("button", `lab-button lab-${name}`, { type: "button", textContent: text(name) });
        one.addEventListener("click", act);
        return one;
    };
    lab.offer = async (figure, packed, at) => {
        const place = figure.parts.offer;
        figure.offered = null;
        place.hidden = true;
        if (!packed) return;
        const kernel = await lab.unpackKernel(packed);
        place.hidden = false;
        figure.offered = kernel ? packed : null;
        const head = make("p", "", { textContent: text(kernel ? "offer" : "offerBroken", { count: kernel?.source.split("\n").length }) });
        const drop = button("offerDrop", () => {
            figure.offered = null;
            place.hidden = true;
            figure.write();
        });
        if (!kernel) {
            place.replaceChildren(head, drop);
            return;
        }
        const status = make("p", "lab-offer-status");
        status.setAttribute("role", "status");
        const run = button("offerRun", async () => {
            run.disabled = true;
            try {
                status.textContent = text("compiling");
                status.textContent = await play(figure, kernel, at);
            } catch (error) {
                status.textContent = text("failed", { message: error.message });
            }
            run.disabled = false;
        });
        const look = make("details", "");
        look.append(make("summary", "", { textContent: text("offerLook") }), make("pre", "lab-log", { textContent: kernel.source, tabIndex: 0 }));
        const row = make("div", "lab-controls");
        row.append(run, drop);
        place.replaceChildren(head, look, row, status);
    };
    // Runs the kernel in place of the page's own, and returns the sentence about its result.
    const play = async (figure, { source, ptx }, at) => {
        const of = figure.editing.of;
        if (window.reductionServer) {
            const compiled = await lab.serve("compile", source);
            if (!compiled.ptx) return lab.join("sentences", [text("compileErrors", { count: compiled.messages.length }), compiled.log]);
            return lab.adopt(figure, of, source, compiled.ptx, at);
        }
        if (!ptx) return text("offerNeeds");
        return lab.join("sentences", [await lab.adopt(figure, of, source, ptx, at), text("offerUnchecked")]);
    };
})();
