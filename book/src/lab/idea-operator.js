// What an operator is: an identity and a combine. Eight elements are lifted to values, and a tree combines them in pairs.
(() => {
    "use strict";
    const { text, idea } = reductionLab;
    const { define, shown, f32, ORDERS } = idea;
    const NOWHERE = { place: -1 };
    const pair = (...parts) => `(${parts.join(", ")})`;
    // Of two values that were found the better: a NaN before every number, then the larger, then the lower place.
    const better = (a, b) => {
        if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
        if (Number.isNaN(a.x) !== Number.isNaN(b.x)) return Number.isNaN(a.x) ? a : b;
        if (a.x > b.x || a.x < b.x) return a.x > b.x ? a : b;
        return a.place < b.place ? a : b;
    };
    // The operators of the chapter's kernels.
    const OPERATORS = {
        sum: { identity: 0, lift: (x) => x, combine: (a, b) => f32(a + b), shown },
        max: { identity: NaN, lift: (x) => x, combine: (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b)), shown },
        maximum: { identity: -Infinity, lift: (x) => x, combine: (a, b) => Math.max(a, b), shown },
        argmax: {
            identity: NOWHERE,
            lift: (x, place) => ({ x, place }),
            combine: better,
            shown: ({ x, place }) => (place < 0 ? pair("–", text("operatorNone")) : pair(shown(x), place)),
        },
        minmax: {
            identity: { min: Infinity, max: -Infinity },
            lift: (x) => ({ min: x, max: x }),
            combine: (a, b) => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }),
            shown: ({ min, max }) => pair(shown(min), shown(max)),
        },
        meanvar: {
            identity: { count: 0, mean: 0, squares: 0 },
            lift: (x) => ({ count: 1, mean: x, squares: 0 }),
            combine: (a, b) => {
                const count = a.count + b.count;
                const share = count > 0 ? f32(b.count / count) : 0;
                const apart = f32(b.mean - a.mean);
                const between = f32(f32(apart * apart) * f32(a.count * share));
                return { count, mean: f32(a.mean + f32(apart * share)), squares: f32(f32(a.squares + b.squares) + between) };
            },
            shown: ({ count, mean, squares }) => pair(count, shown(mean), shown(squares)),
        },
    };

    // The lifted values in their order under the tree, where neighbours meet first, then half as many in each round.
    const compute = ({ x, op, order }) => {
        const { identity, lift, combine } = OPERATORS[op];
        const rounds = [ORDERS[order].map((i) => (x[i] === null ? identity : lift(x[i], i)))];
        for (let values = rounds[0]; values.length > 1; rounds.push(values)) {
            values = Array.from({ length: values.length / 2 }, (_, i) => combine(values[2 * i], values[2 * i + 1]));
        }
        return { rounds, result: rounds.at(-1)[0] };
    };

    const sentence = ({ x, op }, result) => {
        const numbers = x.filter((one) => one !== null);
        const hasNan = numbers.some(Number.isNaN);
        if (numbers.length === 0) return text("operatorNothing");
        if (hasNan && op === "argmax") return text("operatorFirstNan", { i: result.place });
        if (hasNan) return text(op === "max" ? "operatorPassed" : "operatorSpread");
        if (numbers.length < x.length) return text("operatorEmpty");
        if (op === "argmax") {
            const count = numbers.filter((one) => one === result.x).length;
            return text(count > 1 ? "operatorTie" : "operatorFound", { x: shown(result.x), i: result.place, count });
        }
        if (op === "meanvar") return text("operatorMoments", { mean: shown(result.mean), variance: shown(f32(result.squares / result.count)) });
        return text(op === "sum" ? "operatorOrderSum" : "operatorOrder");
    };

    const show = (state) => {
        const operator = OPERATORS[state.op];
        const { rounds, result } = compute(state);
        const last = operator.shown(result);
        const isWinner = (value) => (state.op === "argmax" ? value.place === result.place : /^max/.test(state.op) && Object.is(value, result));
        const empty = operator.shown(operator.identity);
        const name = `operator${state.op[0].toUpperCase()}${state.op.slice(1)}`;
        const rows = rounds.map((values, round) => {
            const cells = values.map((value, i) => {
                const isMissing = round === 0 && state.x[ORDERS[state.order][i]] === null;
                return { html: operator.shown(value), span: 2 ** round, mark: isMissing ? "idea-soft" : isWinner(value) ? "idea-won" : "" };
            });
            const words = [`<small>${text("operatorIdentity")}</small> ${empty}`, `<small>${text(name)}</small>`, "", `<b>${last}</b> <small>${text("operatorResult")}</small>`];
            return { label: text(round ? "operatorCombine" : "operatorLift"), cells, result: words[round] };
        });
        return { input: "", rows, say: sentence(state, result) };
    };
    define("operator", { start: { x: [3, 1, 9, 1, 5, 9, 2, 6], op: "argmax", order: "neighbours" }, takesNone: true, compute, show });
})();
