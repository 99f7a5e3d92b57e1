//! Control-flow graph and immediate post-dominators: where the lanes that a branch parts meet again.

use crate::code::{Code, Inst, NO_PC, NONE, Op};

/// Ways out of the code that are looked at for its proper end; people write a handful.
const WAYS_OUT_MAX: usize = 256;

/// A basic block: instructions `start..end` and where control goes from there. The exit is block `blocks.len()`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) successors: Vec<usize>,
}

/// Splits the code into blocks. A call is an instruction like any other: what it leads to comes back behind it.
pub(super) fn blocks(code: &Code) -> Vec<Block> {
    let Code { insts, tables, .. } = code;
    let mut is_start = vec![false; insts.len() + 1];
    is_start[0] = true;
    for (pc, inst) in insts.iter().enumerate() {
        match inst.op {
            Op::Branch => {
                is_start[inst.imm as usize] = true;
                is_start[pc + 1] = true;
            }
            Op::BranchIndexed => {
                tables[inst.imm as usize].iter().for_each(|&target| is_start[target as usize] = true);
                is_start[pc + 1] = true;
            }
            Op::Exit | Op::Return | Op::Trap => is_start[pc + 1] = true,
            _ => {}
        }
    }
    let starts: Vec<usize> = (0..insts.len()).filter(|&pc| is_start[pc]).collect();
    let block_at = |pc: usize| starts.partition_point(|&start| start <= pc) - 1;
    let exit = starts.len();
    starts
        .iter()
        .enumerate()
        .map(|(i, &start)| {
            let end = starts.get(i + 1).copied().unwrap_or(insts.len());
            let last = &insts[end - 1];
            let guarded = last.guard.predicate != NONE;
            let next = if end < insts.len() { block_at(end) } else { exit };
            let successors = match last.op {
                Op::Branch if guarded => vec![block_at(last.imm as usize), next],
                Op::Branch => vec![block_at(last.imm as usize)],
                Op::BranchIndexed => {
                    let targets = tables[last.imm as usize].iter().map(|&target| block_at(target as usize));
                    targets.chain(guarded.then_some(next)).collect()
                }
                Op::Exit | Op::Return | Op::Trap if guarded => vec![next, exit],
                Op::Exit | Op::Return | Op::Trap => vec![exit],
                _ => vec![next],
            };
            Block { start, end, successors }
        })
        .collect()
}

/// For each instruction that is a branch: where the lanes that it parts meet again, or [`NO_PC`] when that is only at the
/// exit. It is the first instruction of the immediate post-dominator of the branch's block, as far as paths go that do not
/// end before: lanes that return early are not waited for. ptxas does so too.
pub(super) fn reconvergence(code: &Code) -> Vec<u32> {
    let insts: &[Inst] = &code.insts;
    let mut meet = vec![NO_PC; insts.len()];
    if insts.is_empty() {
        return meet;
    }
    let blocks = blocks(code);
    let graph: Vec<Vec<usize>> = blocks.iter().map(|block| block.successors.clone()).collect();
    let is_end = |at: usize| {
        blocks
            .get(at)
            .is_none_or(|block| block.end - block.start == 1 && matches!(insts[block.start].op, Op::Exit | Op::Return))
    };
    let mut post = post_dominators(&graph);
    let branches = |at: usize| matches!(insts[blocks[at].end - 1].op, Op::Branch | Op::BranchIndexed);
    let mut open: Vec<bool> = (0..blocks.len()).map(|at| branches(at) && is_end(post[at])).collect();
    if open.contains(&true) {
        meet_without_ends(&graph, is_end, &mut open, &mut post);
    }
    for (at, &dominator) in post.iter().enumerate() {
        if branches(at) && dominator < blocks.len() {
            meet[blocks[at].end - 1] = blocks[dominator].start as u32;
        }
    }
    meet
}

/// Post-dominators of the `open` blocks, some of whose paths end early. One way out of the code is taken for its proper
/// end, the one that most blocks can get to, and what cannot get there is left aside; then the same among what is left,
/// until no open block is left.
fn meet_without_ends(graph: &[Vec<usize>], is_end: impl Fn(usize) -> bool, open: &mut [bool], post: &mut [usize]) {
    let exit = graph.len();
    let predecessors = predecessors(graph);
    let mut left: Vec<bool> = (0..exit).map(|at| !is_end(at)).collect();
    while left.iter().zip(&*open).any(|(&left, &open)| left && open) {
        let ways_out = (0..exit).filter(|&at| left[at] && graph[at].iter().any(|&next| is_end(next)));
        let reaching = ways_out.take(WAYS_OUT_MAX).map(|at| (at, ancestors(at, &predecessors, &left)));
        // If as many can get to two of them, the later one counts: it stands where the code ends.
        let Some((last, within)) = reaching.max_by_key(|(_, within)| within.iter().filter(|&&is| is).count()) else {
            return;
        };
        let kept = |at: usize| {
            let inside = graph[at].iter().copied().filter(|&next| next < exit && within[next]);
            inside.chain((at == last).then_some(exit)).collect()
        };
        let part: Vec<Vec<usize>> = (0..exit).map(|at| if within[at] { kept(at) } else { Vec::new() }).collect();
        let found = post_dominators(&part);
        for at in (0..exit).filter(|&at| within[at]) {
            left[at] = false;
            let parts = part[at].windows(2).any(|pair| pair[0] != pair[1]);
            if std::mem::take(&mut open[at]) && parts && found[at] != exit {
                post[at] = found[at];
            }
        }
    }
}

/// The blocks among `left` from which control can get to `block`, itself included.
fn ancestors(block: usize, predecessors: &[Vec<usize>], left: &[bool]) -> Vec<bool> {
    let mut found = vec![false; left.len()];
    let mut stack = vec![block];
    found[block] = true;
    while let Some(at) = stack.pop() {
        for &before in &predecessors[at] {
            if left[before] && !std::mem::replace(&mut found[before], true) {
                stack.push(before);
            }
        }
    }
    found
}

/// From where control gets to each block, and to the exit.
fn predecessors(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); graph.len() + 1];
    for (i, successors) in graph.iter().enumerate() {
        for &next in successors {
            predecessors[next].push(i);
        }
    }
    predecessors
}

/// Immediate post-dominator of each block (Cooper, Harvey and Kennedy's iteration on the reversed graph). A block that
/// cannot reach the exit (an endless loop) has the exit.
fn post_dominators(graph: &[Vec<usize>]) -> Vec<usize> {
    let exit = graph.len();
    let predecessors = predecessors(graph);
    let order = reverse_post_order(exit, &predecessors);
    let mut rank = vec![usize::MAX; graph.len() + 1];
    for (position, &block) in order.iter().enumerate() {
        rank[block] = position;
    }
    const UNKNOWN: usize = usize::MAX;
    let mut dominator = vec![UNKNOWN; graph.len() + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let known = graph[block].iter().copied().filter(|&s| dominator[s] != UNKNOWN);
            let new = known.reduce(|mut a, mut b| {
                while a != b {
                    while rank[a] > rank[b] {
                        a = dominator[a];
                    }
                    while rank[b] > rank[a] {
                        b = dominator[b];
                    }
                }
                a
            });
            if let Some(new) = new
                && dominator[block] != new
            {
                dominator[block] = new;
                changed = true;
            }
        }
    }
    dominator.truncate(graph.len());
    dominator.iter_mut().filter(|d| **d == UNKNOWN).for_each(|d| *d = exit);
    dominator
}

/// Blocks in reverse post-order of the reversed graph, the exit first. Iterative: code can be long.
fn reverse_post_order(exit: usize, predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; predecessors.len()];
    let mut order = Vec::with_capacity(predecessors.len());
    let mut stack = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((block, at)) = stack.last_mut() {
        match predecessors[*block].get(*at) {
            Some(&next) => {
                *at += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Guard;

    fn branch(target: usize, guarded: bool) -> Inst {
        let predicate = if guarded { 0 } else { NONE };
        Inst { op: Op::Branch, imm: target as i64, guard: Guard { predicate, negated: false }, ..Inst::NOP }
    }

    /// Returns the instruction where the lanes parted by instruction `pc` meet.
    fn meet(insts: &[Inst], pc: usize) -> u32 {
        reconvergence(&Code { insts: insts.to_vec(), ..Code::default() })[pc]
    }

    const EXIT: Inst = Inst { op: Op::Exit, ..Inst::NOP };

    #[test]
    fn lanes_meet_where_all_of_their_ways_come() {
        let (if_true, nop) = (|target| branch(target, true), Inst::NOP);
        for (what, code, expected) in [
            ("an if without else: after it", &[if_true(2), nop, EXIT][..], 2),
            ("an if with else: after both", &[if_true(3), nop, branch(4, false), nop, EXIT], 4),
            ("a way over an exit that none takes", &[if_true(2), nop, EXIT, nop, EXIT], 2),
            ("an early return: nowhere", &[if_true(3), nop, EXIT, nop, EXIT], NO_PC),
            ("an endless loop: nowhere", &[branch(0, false)], NO_PC),
        ] {
            assert_eq!(meet(code, 0), expected, "{what}");
        }
        assert_eq!(meet(&[nop, branch(0, true), EXIT], 1), 2, "a loop: at its exit");
    }

    #[test]
    fn lanes_that_return_early_are_not_waited_for() {
        // if (a) { if (b) return; } else { … } and then a tail: all that are left meet at the tail, 6.
        let code = [branch(4, true), branch(7, true), Inst::NOP, branch(6, false), Inst::NOP, Inst::NOP];
        let code: Vec<Inst> = code.into_iter().chain([Inst::NOP, EXIT]).collect();
        assert_eq!((meet(&code, 0), meet(&code, 1)), (6, 7));
        // while (a) { if (b) return; } and a tail, 4.
        let code = [branch(4, true), branch(5, true), Inst::NOP, branch(0, false), Inst::NOP, EXIT];
        assert_eq!((meet(&code, 0), meet(&code, 1)), (4, 5));
        // Both sides of the first branch return; on each of them lanes part, and meet once more before they do.
        let side = |at: usize| [branch(at + 3, true), branch(at + 5, true), Inst::NOP, Inst::NOP, EXIT, EXIT];
        let code: Vec<Inst> = [branch(7, true)].into_iter().chain(side(1)).chain(side(7)).collect();
        assert_eq!([0, 1, 2, 7, 8].map(|pc| meet(&code, pc)), [NO_PC, 4, NO_PC, 10, NO_PC]);
    }
}
