// What a softmax is: a maximum, exponentials, their sum, and a quotient for each number; and that two halves of a row merge.
(() => {
    "use strict";
    const { text, idea } = reductionLab;
    const { define, shown, sum, f32 } = idea;
    // One NaN makes the maximum a NaN, as it does here in `Math.max`.
    const pair = (numbers) => {
        const m = Math.max(...numbers);
        return { m, s: sum(numbers.map((x) => power(x, base(m)))) };
    };
    // What is subtracted; of a row of −inf alone nothing is, since −inf − −inf is NaN.
    const base = (m) => (m === -Infinity ? 0 : m);
    const power = (x, less) => f32(Math.exp(f32(x - less)));
    const merge = (a, b) => {
        const m = Math.max(a.m, b.m);
        return { m, s: f32(f32(a.s * power(a.m, base(m))) + f32(b.s * power(b.m, base(m)))) };
    };

    const compute = ({ x, plain }) => {
        const m = Math.max(...x);
        const less = plain ? 0 : base(m);
        const powers = x.map((one) => power(one, less));
        const s = sum(powers);
        const halves = [pair(x.slice(0, x.length / 2)), pair(x.slice(x.length / 2))];
        const shares = powers.map((one) => f32(one / s));
        return { m, less, powers, s, shares, total: sum(shares), halves, whole: merge(...halves) };
    };

    const sentence = ({ x, plain }, { m, s, powers, shares }) => {
        const over = powers.findIndex((one) => one === Infinity);
        if (x.some(Number.isNaN)) return text("softmaxNan");
        if (m === Infinity) return text(plain ? "softmaxInfPlain" : "softmaxInf");
        if (m === -Infinity) return text("softmaxNone");
        if (over >= 0) return text("softmaxOver", { x: shown(x[over]), i: over });
        if (s === Infinity) return text("softmaxSumOver");
        if (s === 0) return text("softmaxUnder");
        // Below the smallest normal float digits are lost.
        if (Math.max(...powers) < 2 ** -126) return text("softmaxTiny");
        const at = x.indexOf(m);
        const values = { i: at, share: shown(shares[at]), x: shown(m) };
        if (plain) return text("softmaxPlain", values);
        return text(x.includes(-Infinity) ? "softmaxMasked" : "softmaxLargest", values);
    };

    const show = (state) => {
        const all = compute(state);
        const { m, powers, s, shares, halves: [a, b], whole } = all;
        const exponent = state.plain ? "<i>x</i>" : "<i>x</i> − <i>m</i>";
        const term = (one) => `${shown(one.s)} · e<sup>${shown(one.m)} − ${shown(base(whole.m))}</sup>`.replace("− −", "+ ");
        const pairs = [a, b, whole].map((one) => `(${shown(one.m)}, ${shown(one.s)})`);
        return {
            input: `<i>m</i> = <b>${shown(m)}</b> <small>${text("softmaxMaximum")}</small>`,
            rows: [
                { label: `e<sup>${exponent}</sup>`, cells: powers.map((one) => ({ html: shown(one) })), result: `<i>S</i> = <b>${shown(s)}</b> <small>${text("softmaxSum")}</small>` },
                { label: `e<sup>${exponent}</sup> / <i>S</i>`, cells: shares.map((one) => ({ html: shown(one), mark: "idea-bar", part: one || 0 })), result: `<b>${shown(all.total)}</b> <small>${text("softmaxShares")}</small>` },
            ],
            below: `${text("softmaxHalves")} ${pairs[0]} ⊕ ${pairs[1]} = (${shown(whole.m)}, ${term(a)} + ${term(b)}) = <b>${pairs[2]}</b>`,
            say: sentence(state, all),
        };
    };
    define("softmax", { start: { x: [2, 1, 0, 3, -1, 1, 0, 2], plain: false }, compute, show });
})();
