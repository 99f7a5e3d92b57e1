//! Control-flow graph and immediate post-dominators: where the lanes that a branch parts meet again.

use crate::code::{Code, Inst, NO_PC, NONE, Op};

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

/// For each instruction that is a branch: the first instruction of its block's immediate post-dominator, or [`NO_PC`]
/// when the paths only meet at the exit.
pub(super) fn reconvergence(code: &Code) -> Vec<u32> {
    let insts: &[Inst] = &code.insts;
    let mut meet = vec![NO_PC; insts.len()];
    if insts.is_empty() {
        return meet;
    }
    let blocks = blocks(code);
    let post = post_dominators(&blocks);
    for (block, &dominator) in blocks.iter().zip(&post) {
        let last = block.end - 1;
        if matches!(insts[last].op, Op::Branch | Op::BranchIndexed) && dominator < blocks.len() {
            meet[last] = blocks[dominator].start as u32;
        }
    }
    meet
}

/// Immediate post-dominator of each block (Cooper, Harvey and Kennedy's iteration on the reversed graph). A block that
/// cannot reach the exit (an endless loop) has the exit.
fn post_dominators(blocks: &[Block]) -> Vec<usize> {
    let exit = blocks.len();
    let mut predecessors = vec![Vec::new(); blocks.len() + 1];
    for (i, block) in blocks.iter().enumerate() {
        for &next in &block.successors {
            predecessors[next].push(i);
        }
    }
    let order = reverse_post_order(exit, &predecessors);
    let mut rank = vec![usize::MAX; blocks.len() + 1];
    for (position, &block) in order.iter().enumerate() {
        rank[block] = position;
    }
    const UNKNOWN: usize = usize::MAX;
    let mut dominator = vec![UNKNOWN; blocks.len() + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let known = blocks[block].successors.iter().copied().filter(|&s| dominator[s] != UNKNOWN);
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
    dominator.truncate(blocks.len());
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

    /// Where the lanes that instruction `pc` parts meet.
    fn meet(insts: &[Inst], pc: usize) -> u32 {
        reconvergence(&Code { insts: insts.to_vec(), ..Code::default() })[pc]
    }

    const EXIT: Inst = Inst { op: Op::Exit, ..Inst::NOP };

    #[test]
    fn an_if_without_else_meets_after_it() {
        let code = [branch(2, true), Inst::NOP, EXIT];
        assert_eq!(meet(&code, 0), 2);
    }

    #[test]
    fn an_if_with_else_meets_after_both() {
        let code = [branch(3, true), Inst::NOP, branch(4, false), Inst::NOP, EXIT];
        assert_eq!(meet(&code, 0), 4);
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        let code = [Inst::NOP, branch(0, true), EXIT];
        assert_eq!(meet(&code, 1), 2);
    }

    #[test]
    fn an_early_return_meets_nowhere() {
        let code = [branch(2, true), Inst::NOP, EXIT, Inst::NOP, EXIT];
        assert_eq!(meet(&code, 0), 2);
        let code = [branch(3, true), Inst::NOP, EXIT, Inst::NOP, EXIT];
        assert_eq!(meet(&code, 0), NO_PC);
    }

    #[test]
    fn an_endless_loop_has_an_answer() {
        let code = [branch(0, false)];
        assert_eq!(meet(&code, 0), NO_PC);
    }
}
