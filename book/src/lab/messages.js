// What the simulator says of a fault, for editions in other languages, which load this once a run has faults; English pages never do.
// A message has one of the forms below. `{what}` stands for one of those whose keys begin with `what`, and so on; any other name stands
// for words that are copied. A test in crates/book/src/book/language/words.rs holds that every message has a form.
(() => {
    "use strict";
    const messages = {
        sayRaceRead: "reads {what} while {who} may still be writing it",
        sayRaceWrite: "writes {what} while {who} may still be reading it",
        sayRaceBoth: "writes {what} while {who} may also be writing it",
        sayUnfencedRead: "reads {what} with nothing to say that {whose} has arrived",
        sayUnfencedWrite: "writes {what} with nothing to say that {who} has read it",
        sayUpdateRead: "reads {what} to put it back changed while {who} writes it: one of the two writes may be lost",
        sayUpdateWrite: "writes {what} while {who} has read it and puts it back changed: one of the two writes may be lost",
        sayEitherLast: "writes {what}, as {who} does: either may come last",
        sayStale: "reads {what} through the cache for constant data, though this launch has written it",
        sayObserved: "touches {what} plainly, behind a strong access of {who}",
        sayEqual: "writes to {what} the value that {who} writes there",
        sayCopyRead: "reads {what} while a copy that it did not wait for may still be writing it",
        sayCopyUnder: "writes {what} while a copy that it did not wait for may still be reading it",
        sayCopyOver: "writes {what} while a copy that it did not wait for may still be writing it",
        sayStore: "{does} {what} while a store that it did not wait for may still be writing it",
        sayUninitialised: "reads {what}, which nothing has written",
        sayUnsetAddress: "accesses an address that depends on a variable that was never set on this path",
        sayUnsetPath: "decides where to go by a variable that was never set on this path",
        sayUnsetAtomic: "updates memory by a value that depends on a variable that was never set on this path",
        sayUnsetStored: "stores a value that depends on a variable that was never set on this path",
        sayUnset: "depends on a variable that was never set on this path",
        sayNoObject: "uses {what} as a barrier, which no mbarrier.init has made one",
        sayGranule: "{does} {bytes} bytes: the size is no multiple of {multiple}",
        sayMisaligned: "{does} {bytes} bytes at {what}: the address {address} is no multiple of {bytes}",
        sayFixed: "{does} {bytes} bytes of {what}, which no kernel may change",
        sayUnmapped: "{does} {bytes} bytes of {what}, and device {own} has not mapped the memory of device {other}",
        sayOutside: "{does} {bytes} bytes outside every allocation: {what}",
        sayPastEnd: "{does} {bytes} bytes at {what}, the last {past} of them past the end of {name}",
        sayEndedBlock: "{does} shared memory of block {block} of its cluster, which has ended",
        sayNoBlock: "{does} shared memory of block {block} of its cluster, which has {size}",
        sayCountedElsewhere: "{does} shared memory of block {block} of its cluster, and a barrier object of block {counts} is to count the bytes",
        sayNotAllocated: "frees {what}, where nothing that is allocated begins",
        sayCopyAway: "copies asynchronously into the shared memory of another block",
        sayMasks: "executes a .sync instruction with mask {mask}, and lane {lane}, which it names, executes it with mask {other}",
        sayMask: "executes a .sync instruction whose mask {mask} does not name these lanes",
        sayLane: "shuffles a value from a lane that takes no part in the shuffle",
        sayTrapGrid: "the kernel executed {opcode}: it waits for the whole grid, and this launch is not cooperative",
        sayTrap: "the kernel executed {opcode}",
        sayAssertion: "the assertion `{name}` failed",
        sayTooFew: "waits at barrier {barrier} for {expected} threads; {came} have come, and no more will",
        sayCluster: "waits for all threads of the cluster to arrive at its barrier, and some never will",
        saySpin: "{awaits}, and every thread that is left waits for another",
        sayLaneMissing: "waits for the lanes that its mask {mask} names, and {lanes} does not come",
        sayLanesMissing: "waits for the lanes that its mask {mask} names, and {lanes} do not come",
        sayOneExited: "opens without one thread of the block, which has exited",
        sayExited: "opens without {threads} threads of the block, which have exited",
        sayNotResident: "waits, as all {blocks} blocks that have begun do, for one that has not; no card has room for more than {blocks} at once (threads a block: {threads}, bytes of shared memory: {bytes})",
        sayOtherBarrier: "some threads of the block wait at this barrier, others at another one",
        sayDivergence: "waits at this barrier for threads of the block that will not reach it",
        sayStuck: "waits here, and no thread of the block can go on",
        sayLaunchBudget: "the launch has used up its step budget of {budget} warp-instructions, and block {block} is here",
        sayBudget: "block {block} has used up its step budget of {budget} warp-instructions, and is here",
        sayAlloca: "no room for what alloca asks in {name}, on a thread's stack of {bytes} bytes",
        sayCallDepth: "no room for this call in {name}, {depth} deep, on a thread's stack of {bytes} bytes",
        sayCallType: "calls {name} through a pointer of another type",
        sayCallNowhere: "calls address {address}, which is no function of this program",
        sayBarrierNumber: "names barrier {barrier}; a block has barriers 0 to {last}",
        sayLabel: "branches to label {label} of a list that has fewer",
        awaitsMemory: "waits in a loop for memory to change",
        awaitsWord: "waits in a loop for {what} to change",
        awaitsGrid: "waits at the barrier of the grid for blocks that do not come to it",
        awaitsPhase: "waits for the phase of parity {parity} of the barrier object {what} to end, which lacks {missing}",
        missingBoth: "{pending} of {expected} arrivals and {bytes} bytes",
        missingArrivals: "{pending} of {expected} arrivals",
        missingBytes: "{bytes} bytes",
        lanesOne: "lane {lane}",
        lanesMany: "lanes {name}",
        doesRead: "reads",
        doesWrite: "writes",
        doesUpdate: "updates",
        doesFill: "fills",
        doesPrefetch: "prefetches",
        doesExecute: "executes",
        doesUse: "uses",
        whatOfDevice: "{what} of device {device}",
        whatOfBlock: "{what} of block {block}",
        whatConstant: "{what}, a constant",
        whatNoConstant: "{what}, which is no constant",
        whatGivenBack: "{what}, given back with free",
        whatPast: "{what}, {distance} past the end of {name} ({elements} elements)",
        whatBeforeOne: "{what}, 1 byte before the start of {name}",
        whatBefore: "{what}, {before} bytes before the start of {name}",
        whatByte: "{cell} (byte {byte})",
        whatNull: "address {address}, a null pointer plus {bytes} bytes",
        whatNowhere: "address {address}, which no buffer holds",
        whatHeap: "byte {byte} of {bytes} bytes from malloc",
        whatPastHeap: "byte {byte}, past the end of {bytes} bytes from malloc",
        whatNoHeap: "the heap, of which malloc has given nothing",
        whatShared: "shared memory at byte {address}",
        whatLocal: "local memory at byte {address}",
        whatParameters: "the kernel's parameters at byte {address}",
        whatCell: "{cell}",
        distanceNone: "just",
        distanceOne: "1 byte",
        distanceMany: "{bytes} bytes",
        whoThread: "another thread",
        whoDevice: "device {device}",
        whoBefore: "the launch before",
        whoNext: "the next launch",
        whoEarlier: "an earlier launch",
        whoLater: "a later launch",
        whoseThread: "another thread's write",
        whoseDevice: "the write of device {device}",
        whoseBefore: "the write of the launch before",
        whoseNext: "the write of the next launch",
        whoseEarlier: "the write of an earlier launch",
        whoseLater: "the write of a later launch",
    };
    // What stands in a place: a word, or an element of an array, or whatever the others leave.
    const PLACES = { cell: "\\S+\\[-?\\d+\\]", name: ".+?", opcode: ".+?" };
    const groups = {};
    for (const [key, form] of Object.entries(messages)) {
        const [, group] = /^([a-z]+)/.exec(key);
        const names = [];
        const pattern = form.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? names.push(part) && part : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
        (groups[group] ||= []).push({ key, names, pattern });
    }
    for (const form of Object.values(groups).flat()) {
        const parts = form.pattern.map((part, at) => (at % 2 ? `(${groups[part] ? ".+?" : PLACES[part] || "\\S+?"})` : part));
        form.pattern = new RegExp(`^${parts.join("")}$`);
    }
    // The words in the other language; null where no form of the group fits.
    const said = (group, words) => {
        for (const { key, names, pattern } of groups[group]) {
            const found = pattern.exec(words)?.slice(1).map((part, at) => (groups[names[at]] ? said(names[at], part) : part));
            if (!found || found.includes(null)) continue;
            return reductionLab.messages[key].replace(/\{(\w+)\}/g, (_, name) => found[names.indexOf(name)]);
        }
        return null;
    };
    reductionLab.messages = messages;
    // Between Chinese characters no blank stands, and between them and letters one does.
    reductionLab.inWords = (message) => said("say", message)?.replace(/([\p{Script=Han}，：；）]) (?=\p{Script=Han})/gu, "$1") ?? null;
})();
