// Words of the figures that stand still, for the labs' catalogue.
(() => {
    "use strict";
    Object.assign(reductionLab.catalogue, {
        describeAll: "From top to bottom: the {n} input numbers in global memory, the threads of block {block} as {warps:warp|warps} of 32 lanes, and the block's shared memory, each in rows of 32 columns.",
        describeBusy: "{all:thread works|threads work}, of {threads} in the block.",
        describeWarp: "Warp {warp}: {count:lane|lanes}.",
        describeIdle: "{idle:more warp has|more warps have} nothing to do at this moment.",
        describePasses: "Some words that are read together lie in one bank: the access takes {passes} passes.",
        describeOnePass: "Lanes read words of different banks: one pass.",
        stillOne: "{variant}, {n} numbers, {threads} threads: round {round} of {rounds}, simulated.",
        stillBlocks: "{variant}, {n} numbers, {blocks} blocks of {threads} threads: block {block}, round {round} of {rounds}, simulated.",
        stillSeed: "{variant}, {n} numbers, {threads} threads whose lanes run apart (seed {seed}): where the fault shows, simulated.",
        needsScripts: "With JavaScript, this figure runs.",
    });
})();
