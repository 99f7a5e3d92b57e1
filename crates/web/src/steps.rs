//! The steps of a trace, packed into 32-bit words: a few words a step, where the JSON of `simt run --trace` has a kilobyte.
//!
//! The steps come in the order in which the launch ran, whatever their blocks. A step is, in this order:
//!
//! ```text
//! head       bits 0-17 program counter · 18-22 warp · 23-24 accesses, 3: their number is in a word behind active · 25-27 form of the values · 28 all of split is active ·
//!            29 a block number follows
//! block      if bit 29: the block as one number, x fastest, for this step and those after it (0 before the first)
//! split      lanes at this program counter
//! active     unless bit 28: those of them that take part
//! accesses   of each: head · mask · address low · address high · the rest of the addresses
//!            head: bits 0-1 space (0 shared, 1 global, 2 local, 3 shared memory of another block of the cluster, whose number is
//!            in a word behind that of the conflicts) · 2-8 bytes a lane · 9-10 form · 11-18 wavefronts · 19-31 sectors
//!            conflicts follow the head in a word of their own
//!            form 0: the lanes of the mask, from the lowest, lie one stride apart, which is the next word, signed; the address is
//!            that of the lowest lane. form 2: a word for each lane of the mask, to be added to the address. form 1: two words for each,
//!            low first, where lanes reach into memories of several devices, which lie further apart
//! values     of each active lane: 0 none · 1 one word for all · 2 a word for each · 3 two words for all, low first ·
//!            4 two words for each · 5 a word with a bit for each lane
//! ```

use simt::trace::{Access, Space, Step, Values};

/// Packs `steps`, one after the other.
pub fn pack(steps: &[Step], words: &mut Vec<u32>) {
    let mut block = 0;
    let mut steps: Vec<&Step> = steps.iter().collect();
    steps.sort_by_key(|step| step.order);
    for step in steps {
        let block_word = (step.block_linear != block).then_some(step.block_linear as u32);
        block = step.block_linear;
        let form = step.values.as_ref().map_or(0, |values| form(values, step.active));
        let accesses = step.access.len();
        words.push(
            step.pc
                | step.warp << 18
                | (accesses as u32).min(3) << 23
                | form << 25
                | u32::from(step.active == step.split) << 28
                | u32::from(block_word.is_some()) << 29,
        );
        words.extend(block_word);
        words.push(step.split);
        words.extend((step.active != step.split).then_some(step.active));
        words.extend((accesses >= 3).then_some(accesses as u32));
        for access in &step.access {
            pack_access(access, words);
        }
        if let Some(values) = &step.values {
            pack_values(values, form, step.active, words);
        }
    }
}

/// The lanes of a mask, from the lowest.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

fn pack_access(access: &Access, words: &mut Vec<u32>) {
    let addresses: Vec<u64> = lanes(access.mask).map(|lane| access.addresses[lane]).collect();
    let stride = stride(&addresses);
    let base = match stride {
        Some(_) => addresses.first().copied(),
        None => addresses.iter().min().copied(),
    };
    let base = base.unwrap_or(0);
    let is_far = stride.is_none() && addresses.iter().any(|address| address - base > u64::from(u32::MAX));
    let space = match access.space {
        Space::Shared => 0,
        Space::Global => 1,
        Space::Local => 2,
        Space::Cluster => 3,
    };
    words.push(
        space
            | access.bytes.min(127) << 2
            | u32::from(is_far) << 9
            | u32::from(stride.is_none() && !is_far) << 10
            | access.wavefronts.min(255) << 11
            | access.sectors.min(8191) << 19,
    );
    words.push(access.conflicts);
    words.extend(access.owner.map(|owner| owner as u32));
    words.extend([access.mask, base as u32, (base >> 32) as u32]);
    match stride {
        Some(stride) => words.push(stride as u32),
        None if is_far => words.extend(addresses.iter().flat_map(|&address| {
            let far = address - base;
            [far as u32, (far >> 32) as u32]
        })),
        None => words.extend(addresses.iter().map(|address| (address - base) as u32)),
    }
}

/// The distance between neighbours if it is the same everywhere.
fn stride(addresses: &[u64]) -> Option<i32> {
    let distance = |pair: &[u64]| i32::try_from(pair[1].wrapping_sub(pair[0]) as i64).ok();
    let Some(first) = addresses.get(..2) else { return Some(0) };
    let first = distance(first)?;
    addresses.windows(2).all(|pair| distance(pair) == Some(first)).then_some(first)
}

fn form(values: &Values, active: u32) -> u32 {
    match values {
        Values::Bits32(row) => 2 - u32::from(is_uniform(row, active)),
        Values::Bits64(row) => 4 - u32::from(is_uniform(row, active)),
        Values::Predicate(_) => 5,
    }
}

fn is_uniform<T: PartialEq>(row: &[T; 32], active: u32) -> bool {
    let mut of_lanes = lanes(active).map(|lane| &row[lane]);
    let Some(first) = of_lanes.next() else { return true };
    of_lanes.all(|value| value == first)
}

fn pack_values(values: &Values, form: u32, active: u32, words: &mut Vec<u32>) {
    let first = active.trailing_zeros().min(31) as usize;
    let mut wide = |value: u64| words.extend([value as u32, (value >> 32) as u32]);
    match values {
        Values::Bits64(row) if form == 3 => wide(row[first]),
        Values::Bits64(row) => lanes(active).for_each(|lane| wide(row[lane])),
        Values::Bits32(row) if form == 1 => words.push(row[first]),
        Values::Bits32(row) => words.extend(lanes(active).map(|lane| row[lane])),
        Values::Predicate(bits) => words.push(*bits),
    }
}
