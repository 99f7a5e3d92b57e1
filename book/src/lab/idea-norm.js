// What a norm does to a row: its mean and its variance, two reductions, bring every row to the same scale.
(() => {
    "use strict";
    const { text, idea } = reductionLab;
    const { define, shown, sum, f32 } = idea;
    const EPSILON = f32(1e-5);
    const mean = (numbers) => f32(sum(numbers) / numbers.length);
    const squares = (numbers) => numbers.map((one) => f32(one * one));
    // One over the root.
    const scale = (square, epsilon) => f32(1 / f32(Math.sqrt(f32(square + epsilon))));

    const compute = ({ x, bare }) => {
        const epsilon = bare ? 0 : EPSILON;
        const mu = mean(x);
        const apart = x.map((one) => f32(one - mu));
        const distances = squares(apart);
        const variance = mean(distances);
        const square = mean(squares(x));
        const [r, rms] = [variance, square].map((one) => scale(one, epsilon));
        return { mu, distances, variance, square, r, rms, layered: apart.map((one) => f32(one * r)), scaled: x.map((one) => f32(one * rms)) };
    };

    // How far the numbers other than the one at `i` lie apart.
    const spread = (numbers, i) => {
        const others = numbers.filter((_, at) => at !== i);
        return f32(Math.max(...others) - Math.min(...others));
    };
    const sentence = ({ x, bare }, { mu, variance, square, r, layered, scaled }) => {
        if (!x.every(Number.isFinite)) return text("normNotFinite");
        if (variance === Infinity || square === Infinity || !Number.isFinite(mu)) return text("normOver");
        if (variance === 0 && bare) return text("normNoEpsilon");
        if (square === 0) return text("normZero");
        if (variance === 0) return text("normConstant", { root: shown(f32(1 / r)) });
        // The most that one of eight can have is the root of 7, 2.65.
        const far = layered.findIndex((one) => Math.abs(one) > 2.6);
        if (far >= 0 && spread(x, far) > 0) return text("normOutlier", { x: shown(x[far]), apart: shown(spread(layered, far)), before: shown(spread(x, far)) });
        const values = { mean: mean(layered), variance: mean(squares(layered)), rmsMean: mean(scaled), square: mean(squares(scaled)) };
        return text("normUsual", Object.fromEntries(Object.entries(values).map(([name, one]) => [name, shown(Number(one.toFixed(3)))])));
    };

    const MOST = Math.sqrt(8);
    const bar = (one) => ({ html: shown(one), mark: one < 0 ? "idea-down" : "idea-up", part: Number.isFinite(one) ? Math.min(1, Math.abs(one) / MOST) : 0 });
    const show = (state) => {
        const all = compute(state);
        const root = (r, what) => `<i>r</i> = <b>${shown(r)}</b> <small>1 / √(${what}${state.bare ? "" : " + ε"})</small>`;
        return {
            input: `<i>μ</i> = <b>${shown(all.mu)}</b> <small>${text("normMean")}</small>`,
            rows: [
                { label: "(<i>x</i> − <i>μ</i>)²", cells: all.distances.map((one) => ({ html: shown(one) })), result: `<i>σ</i>² = <b>${shown(all.variance)}</b> <small>${text("normVariance")}</small>` },
                { label: `${text("normLayer")} <small>(<i>x</i> − <i>μ</i>) · <i>r</i></small>`, cells: all.layered.map(bar), result: root(all.r, "<i>σ</i>²") },
                { label: `${text("normRms")} <small><i>x</i> · <i>r</i></small>`, cells: all.scaled.map(bar), result: root(all.rms, text("normSquares")) },
            ],
            say: sentence(state, all),
        };
    };
    define("norm", { start: { x: [2, 4, 3, 5, 1, 4, 2, 3], bare: false }, compute, show });
})();
