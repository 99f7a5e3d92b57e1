// A trace, unpacked: steps as objects, and what each instruction reads and writes. The packing is in crates/web/src/steps.rs.
(() => {
    "use strict";
    const lab = reductionLab;
    const SPACES = ["shared", "global", "local", "cluster"];

    lab.lanes = (mask, visit) => {
        for (let rest = mask >>> 0; rest; rest &= rest - 1) visit(31 - Math.clz32(rest & -rest));
    };
    lab.count = (mask) => {
        let count = 0;
        for (let rest = mask >>> 0; rest; rest &= rest - 1) count += 1;
        return count;
    };

    const access = (words, at) => {
        const head = words[at];
        const space = SPACES[head & 3];
        const conflicts = words[at + 1];
        // The block whose memory it is, where that is another one of the cluster.
        const owner = space === "cluster" ? words[at++ + 2] : null;
        const mask = words[at + 2];
        const base = words[at + 3] + words[at + 4] * 2 ** 32;
        at += 5;
        const addresses = new Float64Array(32);
        if ((head >>> 9) & 1) {
            lab.lanes(mask, (lane) => { addresses[lane] = base + words[at++] + words[at++] * 2 ** 32; });
        } else if ((head >>> 10) & 1) {
            lab.lanes(mask, (lane) => { addresses[lane] = base + words[at++]; });
        } else {
            const stride = words[at++] | 0;
            let place = 0;
            lab.lanes(mask, (lane) => { addresses[lane] = base + stride * place++; });
        }
        const [bytes, passes, sectors] = [(head >>> 2) & 127, (head >>> 11) & 255, head >>> 19];
        return [{ space, owner, bytes, passes, sectors, conflicts, mask, addresses }, at];
    };

    // Words of the values: how many each active lane has, and whether they are one for all.
    const VALUES = [[0, true], [1, true], [1, false], [2, true], [2, false], [1, true]];

    // In the order in which the launch ran.
    lab.unpack = (words, total) => {
        const steps = [];
        let [at, block] = [0, 0];
        for (let i = 0; i < total; i += 1) {
            const head = words[at++];
            if ((head >>> 29) & 1) block = words[at++];
            const split = words[at++];
            const active = (head >>> 28) & 1 ? split : words[at++];
            const accesses = [];
            const count = (head >>> 23) & 3;
            for (let k = count === 3 ? words[at++] : count; k > 0; k -= 1) {
                const [one, after] = access(words, at);
                accesses.push(one);
                at = after;
            }
            const form = (head >>> 25) & 7;
            const [width, uniform] = VALUES[form];
            const step = { pc: head & 0x3ffff, warp: (head >>> 18) & 31, block, split, active, accesses, form, values: at, time: i };
            at += width * (uniform ? 1 : lab.count(active));
            steps.push(step);
        }
        return steps;
    };

    const FLOAT = new DataView(new ArrayBuffer(8));
    // The float that these 32 bits are.
    lab.float = (bits) => {
        FLOAT.setInt32(0, bits);
        return FLOAT.getFloat32(0);
    };

    const double = (low, high) => {
        FLOAT.setInt32(0, high);
        FLOAT.setInt32(4, low);
        return FLOAT.getFloat64(0);
    };

    // The value that a step left in a lane, as a signed number, or as the float or double that its register holds; null where there is none.
    lab.value = (words, step, lane) => {
        const at = step.form === 3 ? step.values : step.values + 2 * lab.count(step.active & ((1 << lane) - 1));
        if (step.isDouble && (step.form === 3 || step.form === 4)) return double(words[at], words[at + 1]);
        const bits = bitsOf(words, step, lane);
        return step.isFloat && bits !== null ? lab.float(bits) : bits;
    };
    const bitsOf = (words, step, lane) => {
        const { form, values, active } = step;
        if (form === 1) return words[values] | 0;
        if (form === 3) return words[values];
        if (form !== 2 && form !== 4) return null;
        const place = lab.count(active & ((1 << lane) - 1));
        return form === 2 ? words[values + place] | 0 : words[values + 2 * place];
    };

    const operands = (text) => text.match(/\{[^}]*\}|\[[^\]]*\]|[^,\s|]+(?:\|[^,\s]+)?/g) || [];
    const registers = (text) => text.match(/%[a-z]+\d+/g) || [];
    const KINDS = [
        [/^ld\.param|^setp|^bra|^ret|^exit|^bar|^barrier|^membar|^fence|^mbarrier|^prefetch|^nanosleep/, "none"],
        [/^ld\./, "load"], [/^st\./, "store"], [/^atom\./, "atom"], [/^red\./, "red"],
        [/^shfl\./, "shuffle"], [/^redux\./, "redux"],
    ];

    // What an instruction does with registers: numbers of those that it writes and reads, in order.
    lab.instruction = (code, intern) => {
        const text = code.text.replace(/^\s*@!?%\w+\s+/, "").replace(/;.*$/, "").trim();
        const space = text.search(/\s/);
        const opcode = space < 0 ? text : text.slice(0, space);
        const parts = space < 0 ? [] : operands(text.slice(space));
        const kind = (KINDS.find(([form]) => form.test(opcode)) || [null, "compute"])[1];
        const numbers = (part) => registers(part || "").map(intern);
        const type = opcode.match(/\.[bsuf](8|16|32|64)(?!.*\.[bsuf]\d)/);
        const one = { opcode, kind, line: code.line, file: code.file, ptxLine: code.ptx_line, parts, bytes: type ? type[1] / 8 : 4 };
        one.isBarrier = /^bar\.sync|^barrier\.(cta\.)?sync/.test(opcode);
        one.isClusterWait = /^barrier\.cluster\.wait/.test(opcode);
        one.isWarpBarrier = /^bar\.warp\.sync/.test(opcode);
        one.isEnd = /^(ret|exit)/.test(opcode);
        // The register whose value is recorded.
        const recorded = (kind === "store" || kind === "red" ? parts[1] : parts[0]) || "";
        one.isFloat = /^\{?%f\d/.test(recorded);
        one.isDouble = /^\{?%fd\d/.test(recorded);
        if (kind === "store" || kind === "red") return { ...one, writes: [], reads: numbers(parts[1]) };
        if (kind === "none") return { ...one, writes: [], reads: [] };
        const reads = kind === "load" ? [] : parts.slice(1).flatMap(numbers);
        const source = kind === "atom" ? numbers(parts[2]) : reads;
        return { ...one, writes: numbers(kind === "shuffle" ? parts[0].split("|")[0] : parts[0]), reads: source };
    };
})();
