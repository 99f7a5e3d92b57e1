//! Knowledge of one thread about others: the tick up to which each thread's past lies behind it.
//!
//! A unit is what shares a clock: a block, or the blocks of a cluster. Of its own unit a thread knows most through the
//! bases in `clocks`; what it learnt by other ways (named barriers, flags, atomics) is a [`Known`]. Of other units it
//! knows what their threads released and it acquired: a [`Beyond`], a map that shares its branches with the maps it was
//! made from, so that handing on what a thousand blocks did costs a pointer.

use std::ops::Range;
use std::sync::Arc;

use super::clocks::Tick;
use crate::code::Scope;

/// Lanes of one warp and the tick before which their past is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    warp: u16,
    lanes: u32,
    tick: Tick,
}

/// Knowledge about one unit: everything before `all`, and more about some lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    all: Tick,
    /// Sorted by warp; each lane stands in one part at most.
    parts: Vec<Part>,
    /// Barrier objects of which a phase's end is known, with the tick of the last such end: so long asynchronous copies
    /// are over. Sorted. No barrier of threads tells it, unless one of them knew it, so `all` says nothing of these.
    landings: Vec<(u32, Tick)>,
}

impl Known {
    /// Everything before `tick`.
    pub fn all_before(tick: Tick) -> Known {
        Known { all: tick, ..Known::default() }
    }

    /// Up to which tick the copies that object `key` counted are known to be over.
    fn landed(&self, key: u32) -> Tick {
        self.landings.binary_search_by_key(&key, |&(key, _)| key).map_or(0, |at| self.landings[at].1)
    }

    fn land(&mut self, key: u32, tick: Tick) {
        match self.landings.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(at) => self.landings[at].1 = self.landings[at].1.max(tick),
            Err(at) => self.landings.insert(at, (key, tick)),
        }
    }

    /// Returns the range of the parts of `warp`.
    fn places(&self, warp: u32) -> Range<usize> {
        let first = self.parts.partition_point(|part| u32::from(part.warp) < warp);
        let own = self.parts[first..].iter().take_while(|part| u32::from(part.warp) == warp);
        first..first + own.count()
    }

    /// The tick before which what `lane` of `warp` did is known.
    pub fn of(&self, warp: u32, lane: usize) -> Tick {
        let own = self.parts[self.places(warp)].iter().find(|part| part.lanes & (1 << lane) != 0);
        own.map_or(self.all, |part| part.tick.max(self.all))
    }

    /// Learns what `lanes` of `warp` did before `tick`.
    pub fn add(&mut self, warp: u32, lanes: u32, tick: Tick) {
        self.put(self.places(warp), Part { warp: warp as u16, lanes, tick });
    }

    /// Learns `new`, where `own` are the places of its warp's parts.
    fn put(&mut self, own: Range<usize>, new: Part) {
        let known_later = self.parts[own.clone()].iter().filter(|part| part.tick >= new.tick);
        let lanes = new.lanes & !known_later.fold(0, |lanes, part| lanes | part.lanes);
        if new.tick <= self.all || lanes == 0 {
            return;
        }
        let parts = &mut self.parts[own.clone()];
        parts.iter_mut().for_each(|part| part.lanes &= !lanes);
        match parts.iter_mut().find(|part| part.tick == new.tick) {
            Some(part) => part.lanes |= lanes,
            None => self.parts.insert(own.end, Part { lanes, ..new }),
        }
        if self.parts[own].iter().any(|part| part.lanes == 0) {
            self.parts.retain(|part| part.lanes != 0);
        }
    }

    /// Returns whether everything in `other` is known here too.
    fn covers(&self, other: &Known) -> bool {
        // `all` of a unit speaks of more warps than parts can name.
        if self.all < other.all || other.landings.iter().any(|&(key, tick)| self.landed(key) < tick) {
            return false;
        }
        let mut ours = &self.parts[..];
        other.parts.iter().filter(|part| part.tick > self.all).all(|part| {
            while ours.first().is_some_and(|own| own.warp < part.warp) {
                ours = &ours[1..];
            }
            let later = ours.iter().take_while(|own| own.warp == part.warp).filter(|own| own.tick >= part.tick);
            part.lanes & !later.fold(0, |lanes, own| lanes | own.lanes) == 0
        })
    }

    /// All that either knows; one of the two where it covers the other.
    pub fn join(a: &Arc<Known>, b: &Arc<Known>) -> Arc<Known> {
        if Arc::ptr_eq(a, b) || a.covers(b) {
            return a.clone();
        }
        if b.covers(a) {
            return b.clone();
        }
        let all = a.all.max(b.all);
        let parts = Vec::with_capacity(a.parts.len() + b.parts.len());
        let mut both = Known { all, parts, landings: a.landings.clone() };
        b.landings.iter().for_each(|&(key, tick)| both.land(key, tick));
        let (mut x, mut y) = (&a.parts[..], &b.parts[..]);
        while let Some(warp) = x.first().into_iter().chain(y.first()).map(|part| part.warp).min() {
            let start = both.parts.len();
            both.parts.extend(take_warp(&mut x, warp).iter().filter(|part| part.tick > all));
            for &part in take_warp(&mut y, warp) {
                both.put(start..both.parts.len(), part);
            }
        }
        Arc::new(both)
    }
}

/// The parts of `warp` from the front of `parts`.
fn take_warp<'p>(parts: &mut &'p [Part], warp: u16) -> &'p [Part] {
    let (own, rest) = parts.split_at(parts.iter().take_while(|part| part.warp == warp).count());
    *parts = rest;
    own
}

const FAN_BITS: u32 = 4;
const FAN: usize = 1 << FAN_BITS;

#[derive(Debug)]
enum Node {
    Leaf([Option<Arc<Known>>; FAN]),
    Inner([Option<Arc<Node>>; FAN]),
}

/// Knowledge about units, by their number. Cheap to clone; joining costs as much as the two differ.
#[derive(Debug, Clone, Default)]
pub(super) struct Beyond {
    root: Option<Arc<Node>>,
    /// Levels below the root.
    height: u32,
}

impl Beyond {
    /// Returns the knowledge about `unit`.
    pub fn of(&self, unit: u32) -> Option<&Arc<Known>> {
        if u64::from(unit) >> (FAN_BITS * (self.height + 1)) != 0 {
            return None;
        }
        let mut node = self.root.as_ref()?;
        let mut level = self.height;
        loop {
            let slot = (unit >> (FAN_BITS * level)) as usize % FAN;
            match &**node {
                Node::Leaf(known) => return known[slot].as_ref(),
                Node::Inner(nodes) => node = nodes[slot].as_ref()?,
            }
            level -= 1;
        }
    }

    /// Learns `known` of `unit`.
    pub fn learn(&mut self, unit: u32, known: &Arc<Known>) {
        let mut single = Beyond { root: None, height: 0 };
        while u64::from(unit) >> (FAN_BITS * (single.height + 1)) != 0 {
            single.height += 1;
        }
        let mut leaf: [Option<Arc<Known>>; FAN] = Default::default();
        leaf[unit as usize % FAN] = Some(known.clone());
        let mut node = Arc::new(Node::Leaf(leaf));
        for level in 1..=single.height {
            let mut nodes: [Option<Arc<Node>>; FAN] = Default::default();
            nodes[(unit >> (FAN_BITS * level)) as usize % FAN] = Some(node);
            node = Arc::new(Node::Inner(nodes));
        }
        single.root = Some(node);
        self.join(&single);
    }

    /// `known` of each of these units. Complete nodes are shared: a launch of a million units costs a few.
    pub fn for_units(units: Range<u64>, known: &Arc<Known>) -> Beyond {
        let mut height = 0;
        while units.end.saturating_sub(1) >> (FAN_BITS * (height + 1)) != 0 {
            height += 1;
        }
        let mut whole = vec![Arc::new(Node::Leaf(std::array::from_fn(|_| Some(known.clone()))))];
        for level in 0..height as usize {
            let below = whole[level].clone();
            whole.push(Arc::new(Node::Inner(std::array::from_fn(|_| Some(below.clone())))));
        }
        Beyond { root: node_of(&units, height, 0, known, &whole), height }
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Beyond) {
        let Some(theirs) = &other.root else { return };
        let Some(ours) = &self.root else {
            *self = other.clone();
            return;
        };
        let height = self.height.max(other.height);
        let (a, b) = (raised(ours, self.height, height), raised(theirs, other.height, height));
        *self = Beyond { root: Some(join_nodes(&a, &b)), height };
    }

    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Returns whether both are one map. (Equal maps need not be.)
    pub fn is_same(&self, other: &Beyond) -> bool {
        is_one(&self.root, &other.root)
    }
}

fn is_one<T>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    a.as_ref().map(Arc::as_ptr) == b.as_ref().map(Arc::as_ptr)
}

/// The node of `level` whose first unit is `base`, with `known` of those of `units` that lie in it. `whole` has by level what there
/// is of all.
fn node_of(units: &Range<u64>, level: u32, base: u64, known: &Arc<Known>, whole: &[Arc<Node>]) -> Option<Arc<Node>> {
    let slot_units = 1u64 << (FAN_BITS * level);
    let inside = units.start.max(base)..units.end.min(base + slot_units * FAN as u64);
    if inside.is_empty() {
        return None;
    }
    if inside == (base..base + slot_units * FAN as u64) {
        return whole.get(level as usize).cloned();
    }
    let slot = |slot: usize| base + slot as u64 * slot_units;
    Some(Arc::new(match level {
        0 => Node::Leaf(std::array::from_fn(|at| inside.contains(&slot(at)).then(|| known.clone()))),
        _ => Node::Inner(std::array::from_fn(|at| node_of(units, level - 1, slot(at), known, whole))),
    }))
}

/// The node under as many levels as `to` asks for: small numbers lie in the first slot of each.
fn raised(node: &Arc<Node>, from: u32, to: u32) -> Arc<Node> {
    let mut node = node.clone();
    for _ in from..to {
        let mut nodes: [Option<Arc<Node>>; FAN] = Default::default();
        nodes[0] = Some(node);
        node = Arc::new(Node::Inner(nodes));
    }
    node
}

/// Joins two nodes of one level; where one of them already holds the result it is shared.
fn join_nodes(a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    match (&**a, &**b) {
        (Node::Leaf(x), Node::Leaf(y)) => shared(a, b, x, y, Known::join, Node::Leaf),
        (Node::Inner(x), Node::Inner(y)) => shared(a, b, x, y, join_nodes, Node::Inner),
        // Levels are equal by construction.
        _ => a.clone(),
    }
}

fn shared<T>(
    a: &Arc<Node>,
    b: &Arc<Node>,
    x: &[Option<Arc<T>>; FAN],
    y: &[Option<Arc<T>>; FAN],
    join: fn(&Arc<T>, &Arc<T>) -> Arc<T>,
    node: fn([Option<Arc<T>>; FAN]) -> Node,
) -> Arc<Node> {
    let slots: [Option<Arc<T>>; FAN] = std::array::from_fn(|i| match (&x[i], &y[i]) {
        (Some(x), Some(y)) => Some(join(x, y)),
        (one, other) => one.as_ref().or(other.as_ref()).cloned(),
    });
    let same = |of: &[Option<Arc<T>>; FAN]| slots.iter().zip(of).all(|(slot, old)| is_one(slot, old));
    if same(x) {
        a.clone()
    } else if same(y) {
        b.clone()
    } else {
        Arc::new(node(slots))
    }
}

/// Knowledge of a thread beyond the bases of its clock.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    /// Knowledge about its own unit, if any.
    own: Option<Arc<Known>>,
    /// Knowledge about other units.
    pub beyond: Beyond,
    /// Knowledge behind the fences in its past, by scope, for fences that have an order among themselves. The thread has all of
    /// it, and hands it on to those whose fences must come after.
    behind: Option<Arc<[Beyond; FENCES.len()]>>,
    /// Releases that its threads read before a barrier, without the fence that would let them count: enough for reads that
    /// are more than plain, since they go where the writes went, and published kernels rely on it.
    pub within_sight: Beyond,
}

/// Scopes of fences.
const FENCES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

impl View {
    /// Returns whether it adds nothing to the bases.
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.beyond.is_empty() && self.within_sight.is_empty()
    }

    /// Returns whether fences lie behind it.
    pub fn has_news(&self) -> bool {
        self.behind.is_some()
    }

    /// A fence of this scope lies behind it from here on, which had `released` behind it.
    pub fn stand_behind(&mut self, scope: Scope, released: &Beyond) {
        let behind = Arc::make_mut(self.behind.get_or_insert_default());
        behind[scope as usize].join(released);
    }

    /// Returns the knowledge behind the fences in its past, by scope.
    pub fn behind(&self) -> impl Iterator<Item = (Scope, &Beyond)> {
        let all = self.behind.iter().flat_map(|behind| FENCES.into_iter().zip(behind.iter()));
        all.filter(|(_, released)| !released.is_empty())
    }

    /// The tick before which it knows what `lane` of `warp` of its own unit did.
    pub fn of(&self, warp: u32, lane: usize) -> Tick {
        self.own.as_ref().map_or(0, |known| known.of(warp, lane))
    }

    /// Learns what `lanes` of `warp` of its own unit did before `tick`.
    pub fn add(&mut self, warp: u32, lanes: u32, tick: Tick) {
        Arc::make_mut(self.own.get_or_insert_default()).add(warp, lanes, tick);
    }

    /// Up to which tick the copies that object `key` of its own unit counted are known to be over.
    pub fn landed(&self, key: u32) -> Tick {
        self.own.as_ref().map_or(0, |known| known.landed(key))
    }

    /// Learns that the copies which object `key` of its own unit counted before `tick` are over.
    pub fn land(&mut self, key: u32, tick: Tick) {
        Arc::make_mut(self.own.get_or_insert_default()).land(key, tick);
    }

    /// Forgets what it knows of its own unit's threads.
    pub fn forget_own(&mut self) {
        let landings = self.own.take().map(|mut own| std::mem::take(&mut Arc::make_mut(&mut own).landings));
        let landings = landings.filter(|landings| !landings.is_empty());
        self.own = landings.map(|landings| Arc::new(Known { landings, ..Known::default() }));
    }

    /// It is to be known in other units.
    pub fn forget_unit(&mut self) {
        self.own = None;
    }

    /// Joins its knowledge about its own unit with `known`.
    pub fn own_with(&self, known: Known) -> Arc<Known> {
        let known = Arc::new(known);
        self.own.as_ref().map_or_else(|| known.clone(), |own| Known::join(&known, own))
    }

    fn join_own(&mut self, known: &Arc<Known>) {
        self.own = Some(self.own.as_ref().map_or_else(|| known.clone(), |own| Known::join(own, known)));
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &View) {
        if let Some(known) = &other.own {
            self.join_own(known);
        }
        self.beyond.join(&other.beyond);
        self.within_sight.join(&other.within_sight);
        match (&self.behind, &other.behind) {
            (Some(ours), Some(theirs)) if !Arc::ptr_eq(ours, theirs) => {
                other.behind().for_each(|(scope, released)| self.stand_behind(scope, released));
            }
            (None, Some(theirs)) => self.behind = Some(theirs.clone()),
            _ => {}
        }
    }

    /// Learns what a thread released; `unit` is the learner's own.
    pub fn acquire(&mut self, released: &Beyond, unit: u32) {
        if let Some(known) = released.of(unit) {
            self.join_own(known);
        }
        self.beyond.join(released);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_known_up_to_the_latest_tick_learnt() {
        let mut known = Known::all_before(5);
        known.add(3, 0b11, 9);
        known.add(3, 0b10, 7);
        known.add(1, u32::MAX, 6);
        known.add(2, u32::MAX, 4);
        assert_eq!([known.of(3, 0), known.of(3, 1), known.of(3, 2), known.of(1, 31), known.of(2, 0)], [9, 9, 5, 6, 5]);
        let mut other = Known::all_before(6);
        other.add(3, 0b1, 8);
        let joined = Known::join(&Arc::new(known), &Arc::new(other));
        assert_eq!([joined.of(3, 0), joined.of(3, 1), joined.of(3, 2), joined.of(1, 0)], [9, 9, 6, 6]);
    }

    /// Compares the knowledge of two threads with their joint knowledge, lane by lane, over all parts of three warps.
    #[test]
    fn a_join_knows_the_later_of_both_of_every_lane() {
        let mut bits = 1u64;
        let mut below = |end: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 33) % end
        };
        for _ in 0..2000 {
            let mut known = || {
                let mut known = Known::all_before(below(4) as Tick);
                for _ in 0..below(6) {
                    known.add(below(3) as u32, below(16) as u32, below(8) as Tick);
                }
                Arc::new(known)
            };
            let (a, b) = (known(), known());
            let joined = Known::join(&a, &b);
            for (warp, lane) in (0..4).flat_map(|warp| (0..4).map(move |lane| (warp, lane))) {
                assert_eq!(joined.of(warp, lane), a.of(warp, lane).max(b.of(warp, lane)), "{a:?} {b:?}");
            }
            assert_eq!(joined.parts.iter().filter(|part| part.lanes == 0).count(), 0);
            assert!(joined.covers(&a) && joined.covers(&b) && Known::join(&joined, &a).covers(&joined));
            assert!(joined.parts.is_sorted_by_key(|part| part.warp), "{joined:?}");
        }
    }

    #[test]
    fn a_range_of_units_is_known_as_if_learnt_one_by_one() {
        let known = Arc::new(Known::all_before(7));
        for units in [0..0, 0..1, 3..16, 0..16, 5..40, 16..256, 250..4100] {
            let all = Beyond::for_units(units.clone(), &known);
            for unit in 0..4200 {
                assert_eq!(all.of(unit).is_some(), units.contains(&u64::from(unit)), "{unit} of {units:?}");
            }
        }
        assert!(Beyond::for_units(0..1 << 32, &known).of(u32::MAX).is_some());
    }

    #[test]
    fn maps_join_at_any_height_and_share_what_is_equal() {
        let known = |tick| Arc::new(Known::all_before(tick));
        let mut small = Beyond::default();
        small.learn(3, &known(1));
        let mut large = Beyond::default();
        large.learn(70_000, &known(2));
        large.learn(3, &known(5));
        assert!(small.of(70_000).is_none());
        small.join(&large);
        assert_eq!(small.of(3).map(|known| known.of(0, 0)), Some(5));
        assert_eq!(small.of(70_000).map(|known| known.of(0, 0)), Some(2));
        assert!(small.of(u32::MAX).is_none() && small.of(19).is_none());
        let before = small.root.clone().unwrap();
        small.join(&large);
        assert!(Arc::ptr_eq(&before, small.root.as_ref().unwrap()), "nothing new, nothing copied");
    }
}
