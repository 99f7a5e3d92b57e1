// The kernels of a page, which come packed; and of some the same launches for other types and operators.
(() => {
    "use strict";
    const lab = reductionLab;
    const PLAIN = { type: "i32", op: "sum" };
    // Beyond that a sum of so many bytes is no longer exact in a float, and what is right would have to be given with an error bound.
    const FLOAT_MAX = 65536;

    lab.isPlain = ({ type, op }) => type === PLAIN.type && op === PLAIN.op;
    // A kernel whose blocks meet in another way for floats is a variant of its own there, and one that finds a place.
    const ownKind = (variant) => ({ type: variant.type || PLAIN.type, op: variant.op || PLAIN.op });
    lab.isOwnKind = (variant, { type, op }) => type === ownKind(variant).type && op === ownKind(variant).op;
    lab.kindsOf = (variant) => [ownKind(variant), ...(variant.kinds || []).map(([type, op]) => ({ type, op }))];
    // What is wanted if the variant has it, else the nearest that it has.
    lab.kindOf = (variant, { type, op }) => {
        const all = lab.kindsOf(variant);
        return all.find((one) => one.type === type && one.op === op) || all.find((one) => one.op === op) || all[0];
    };
    lab.casesOf = (variant, { type }) => (type === "i32" ? variant.cases : variant.cases.filter(({ n }) => n <= FLOAT_MAX));

    // The variant with the kernels of a kind.
    lab.ofKind = async (data, variant, kind) => {
        // A page of its own, made for one run, brings its kernels as they are; so does an edited one.
        if (variant.ptx || !data.packed) return variant;
        data.unpacked ||= lab.gunzip(data.packed).then((text) => JSON.parse(text));
        const one = (await data.unpacked)[variant.name].find(({ type, op }) => type === kind.type && op === kind.op);
        return { ...variant, ...one };
    };
    // A case with the kernels and arrays of a kind.
    lab.caseOf = (played, chosen) => {
        const own = ownKind(played);
        if (!played.kernels) return lab.isPlain(own) ? chosen : { ...chosen, ...own };
        const buffers = chosen.buffers.map((spec) => (typeof spec === "string" ? spec.replace("=i32[", `=${played.type}[`) : spec));
        const launches = chosen.launches.map((launch) => ({ ...launch, kernel: played.kernels[launch.kernel] }));
        return { ...chosen, buffers, launches, type: played.type, op: played.op };
    };

    // The value that a step left in a lane, as the type that is reduced: what was made of the input is of that type, in whatever register.
    lab.valueOf = (model, step, lane) => {
        const value = lab.value(model.words, step, lane);
        if (step.isFloat || model.chosen.type !== "f32" || value === null || (step.form !== 1 && step.form !== 2)) return value;
        return step.made?.[lane] || /\.f32/.test(model.code[step.pc].opcode) ? lab.float(value) : value;
    };
})();
