// What a sum of floats is off by: eight numbers added one by one, each time rounded, and the same in integers, rounded once.
(() => {
    "use strict";
    const { text, idea } = reductionLab;
    const { define, shown, f32, ORDERS } = idea;
    const WORD = new DataView(new ArrayBuffer(4));
    // The places of a float: its slot, its shift there, and the integer that is shifted.
    const parts = (x) => {
        WORD.setFloat32(0, x);
        const bits = WORD.getUint32(0);
        const [exponent, fraction] = [(bits >>> 23) & 255, bits & 0x7fffff];
        return { slot: bits >>> 28, shift: exponent & 31, exponent, isNegative: bits >>> 31 === 1, integer: exponent ? fraction + 0x800000 : 2 * fraction };
    };
    // Sum in units of 2^-150, half the smallest float.
    const exactSum = (x) => x.map(parts).reduce((sum, one) => sum + (BigInt(one.integer) << BigInt(one.exponent)) * (one.isNegative ? -1n : 1n), 0n);
    // The nearest float; of two that are as near, the even one.
    const nearest = (sum) => {
        const size = sum < 0n ? -sum : sum;
        const gone = BigInt(Math.max(size.toString(2).length - 24, 1));
        const half = 1n << (gone - 1n);
        let kept = size >> gone;
        const rest = size - (kept << gone);
        if (rest > half || (rest === half && (kept & 1n))) kept += 1n;
        return f32(Number(kept) * 2 ** (Number(gone) - 150)) * (sum < 0n ? -1 : 1);
    };
    const compute = ({ x, order }) => {
        const taken = ORDERS[order].map((i) => x[i]);
        let sum = -0;
        const plain = taken.map((one) => (sum = f32(sum + one)));
        const special = taken.filter((one) => !Number.isFinite(one));
        const exact = special.length ? special.reduce((a, b) => a + b) : x.every((one) => Object.is(one, -0)) ? -0 : nearest(exactSum(x));
        return { taken, plain, last: plain.at(-1), exact, places: taken.map((one) => (Number.isFinite(one) ? parts(one) : null)) };
    };
    // A sum of few digits after the point, whole.
    const whole = (x) => (Number.isFinite(x) && Math.abs(x) < 1e12 ? String(Number(x.toPrecision(12))).replace("-", "−") : shown(x));
    const show = (state) => {
        const { taken, plain, last, exact, places } = compute(state);
        const isOff = !Object.is(last, exact) && !(Number.isNaN(last) && Number.isNaN(exact));
        const small = (key) => `<small>${text(key)}</small>`;
        const mark = isOff ? "idea-lost" : "idea-won";
        const lost = (sum, i) => Number.isFinite(sum) && sum - (i ? plain[i - 1] : 0) !== taken[i];
        const rows = [
            { label: text("accuracySlot"), cells: places.map((one) => ({ html: one ? one.slot : "–" })), result: small("accuracySlotBits") },
            { label: text("accuracyShift"), cells: places.map((one) => ({ html: one ? one.shift : "–" })), result: small("accuracyShiftBits") },
            { label: text("accuracyPlain"), cells: plain.map((sum, i) => ({ html: shown(sum), mark: lost(sum, i) ? "idea-lost" : "" })), result: `<span class="${mark}">${whole(last)}</span> ${small("accuracyPlainResult")}` },
            { label: text("accuracyExact"), cells: [{ html: text("accuracyOnce"), span: 8, mark: "idea-soft" }], result: `<b>${whole(exact)}</b> ${small("accuracyExactResult")}` },
        ];
        const key = taken.some((one) => !Number.isFinite(one)) ? "accuracySpecial" : isOff ? "accuracyOff" : "accuracyRight";
        return { input: "", rows, say: text(key, { plain: whole(last), exact: whole(exact) }) };
    };
    define("accuracy", { start: { x: [1e8, 1, 1, 3, -1e8, 0.5, 2, 0.25], order: "neighbours" }, compute, show });
})();
