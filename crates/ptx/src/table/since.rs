//! Rules that say which target and version of PTX an instruction needs, by mnemonic and words. All rules that match add up, so
//! that a combination of words that no shape lists is judged too.
//!
//! Lowering asks for each instruction: the rules are read once a process and found by mnemonic.
//!
//! A test of `simt` holds them to ptxas, spelling by spelling (`crates/simt/tests/data/ptxas.tsv`).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::shape::is_type;

/// Requirements of an instruction on its file's head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Oldest target: 80 for `sm_80`, 0 for any, [`NO_TARGET`] if none has it.
    pub sm: u8,
    /// Oldest version of PTX, times ten; 0 for any.
    pub version: u8,
    /// Only targets with a letter, of the family of `sm`, have it: `sm_100a`, `sm_103f`, but not `sm_100`.
    pub family: bool,
}

/// Value of [`Needs::sm`] for an instruction that no target has.
pub const NO_TARGET: u8 = 255;

/// Targets, each with the first version of PTX, times ten, that has it. Those with an `f` came with 8.8.
pub const TARGETS: &[(u8, u8)] = &[
    (50, 40),
    (52, 41),
    (53, 42),
    (60, 50),
    (61, 50),
    (62, 50),
    (70, 60),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (88, 90),
    (89, 78),
    (90, 78),
    (100, 86),
    (101, 86),
    (103, 88),
    (107, 94),
    (110, 90),
    (120, 87),
    (121, 88),
];

/// Last minor version of each major one, from 1 on.
const LAST_MINORS: [u8; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 5];

/// Newest version of PTX that is known here.
pub const VERSION_NEWEST: (u8, u8) = (LAST_MINORS.len() as u8, LAST_MINORS[LAST_MINORS.len() - 1]);

/// Returns whether that version of PTX exists.
pub fn is_version((major, minor): (u8, u8)) -> bool {
    usize::from(major).checked_sub(1).and_then(|at| LAST_MINORS.get(at)).is_some_and(|&last| minor <= last)
}

/// One line of the table.
struct Rule(u8, u8, &'static str);

/// Target, version and pattern: mnemonics with `|` between or `*` for all, then for each word that must be there its
/// alternatives, types in their order. A trailing `*` stands for any end, `#4` for four operands, `#pred` for a predicate as the
/// last one, `#sm_89` for a file of that target; a word behind `!` must not be there.
#[rustfmt::skip] // a table reads by columns
static RULES: &[Rule] = &[
    // Arithmetic.
    Rule(53, 0, "add|sub|mul|fma|abs|neg|setp|set.f16|f16x2"),
    Rule(0, 65, "abs.f16|f16x2"),
    Rule(0, 60, "neg.f16|f16x2"),
    Rule(0, 65, "set.s16|u16|s32|u32.f16|f16x2"),
    Rule(80, 0, "abs|neg|fma|min|max.bf16|bf16x2"),
    Rule(80, 0, "fma.relu"),
    Rule(80, 0, "min|max.NaN|f16|f16x2"),
    Rule(86, 72, "min|max.xorsign"),
    Rule(90, 0, "add|sub|mul|setp|set|tanh|ex2|atom|red.bf16|bf16x2"),
    Rule(90, 80, "add|min|max.u16x2|s16x2"),
    Rule(90, 80, "min|max.relu"),
    Rule(90, 81, "fma.oob"),
    Rule(100, 0, "add|sub|mul|fma.f32x2"),
    Rule(100, 0, "add|sub|fma.f32.f16|bf16"),
    Rule(100, 88, "min|max.#4"),
    Rule(0, 43, "add|addc|sub|subc|mad|madc.cc.u64|s64"),
    Rule(0, 43, "lop3"),
    Rule(0, 60, "fns"),
    Rule(61, 0, "dp4a|dp2a"),
    Rule(70, 76, "szext|bmsk"),
    Rule(70, 82, "lop3.#6"),
    Rule(75, 70, "tanh.f16|f16x2|f32"),
    Rule(75, 70, "ex2.f16|f16x2"),
    Rule(70, 81, "cvt.satfinite.f16|f16x2|bf16|bf16x2|tf32.f32"),
    Rule(72, 65, "cvt.pack"),
    Rule(75, 65, "cvt.u4|s4|u2|s2"),
    Rule(80, 0, "cvt.bf16|bf16x2|f16x2|relu|rna"),
    Rule(80, 71, "cvt.f32.bf16"),
    Rule(90, 0, "cvt.rn|rz.tf32"),
    Rule(90, 0, "cvt.f16|f64|bf16|u16|u32|u64|s16|s32|s64.bf16"),
    Rule(90, 0, "cvt.bf16.f16|f64|u16|u32|u64|s16|s32|s64"),
    Rule(89, 0, "cvt.e4m3x2|e5m2x2"),
    Rule(0, 81, "cvt.e4m3x2|e5m2x2.#sm_89"),

    // Memory.
    Rule(0, 78, "ld|st|atom|red|cvta|isspacep|ldmatrix|stmatrix|mbarrier.shared::cta"),
    Rule(0, 78, "cp.mbarrier.shared::cta"),
    Rule(90, 0, "*.cluster|shared::cluster"),
    Rule(90, 0, "*.%cluster*|%ncluster*|%is_explicit_cluster"),
    Rule(0, 41, "*.%dynamic_smem_size|%total_smem_size"),
    Rule(0, 50, "*.%clock_hi"),
    Rule(90, 81, "*.%aggr_smem_size"),
    Rule(80, 76, "*.%reserved_smem_offset*"),
    Rule(70, 0, "ld|st.weak|relaxed|acquire|release|mmio"),
    Rule(70, 82, "ld|st.mmio"),
    Rule(70, 74, "ld|st.L1::*"),
    Rule(75, 74, "ld.L2::64B|L2::128B"),
    Rule(80, 74, "ld.L2::256B"),
    Rule(80, 74, "ld|st|atom|red|cp.L2::cache_hint"),
    Rule(100, 88, "ld|st.L2::evict*"),
    Rule(100, 88, "ld|st.v8"),
    Rule(100, 88, "ld|st.v4.b64|u64|s64|f64"),
    Rule(70, 83, "ld|st|mov.b128"),
    Rule(0, 83, "ld|st.param::*"),
    Rule(75, 91, "ld|st.volatile.local"),
    Rule(90, 81, "st.async"),
    Rule(NO_TARGET, 0, "ld.volatile.const"),
    Rule(NO_TARGET, 0, "ld|st.L1::*.shared*|local|const"),
    Rule(NO_TARGET, 0, "ld.L2::64B|L2::128B|L2::256B.shared*|local|const"),
    Rule(70, 77, "cvta|isspacep.param"),
    Rule(75, 65, "ldmatrix"),
    Rule(90, 0, "stmatrix|mapa|getctarank"),
    Rule(80, 0, "cp"),
    Rule(80, 74, "cp.L2::*"),
    Rule(80, 75, "cp.#pred"),
    Rule(90, 80, "cp.bulk"),
    Rule(90, 86, "cp.shared::cta.mbarrier::complete_tx::bytes"),

    // Atomics and fences.
    Rule(60, 0, "atom|red.f64|cta|gpu|sys"),
    Rule(60, 62, "atom|red.f16x2"),
    Rule(70, 63, "atom|red.f16|b16"),
    Rule(70, 0, "atom|red.relaxed|acquire|release|acq_rel"),
    Rule(90, 81, "atom|red.v2|v4|v8"),
    Rule(90, 83, "atom.b128"),
    Rule(90, 84, "atom.b128.sys"),
    Rule(60, 75, "membar.alias"),
    Rule(70, 0, "fence"),
    Rule(70, 75, "fence.alias"),
    Rule(90, 80, "fence.async|mbarrier_init"),
    Rule(90, 83, "fence.tensormap*"),

    // Lanes, warps, blocks.
    Rule(0, 62, "activemask"),
    Rule(70, 0, "match"),
    Rule(80, 0, "redux"),
    Rule(0, 60, "bar.warp"),
    Rule(0, 60, "barrier"),
    Rule(0, 60, "shfl|vote.sync"),
    Rule(0, 78, "bar|barrier.cta"),
    Rule(90, 80, "barrier.acquire|release|relaxed"),
    Rule(90, 80, "elect"),
    Rule(90, 0, "griddepcontrol"),
    Rule(80, 0, "mbarrier"),
    Rule(80, 80, "mbarrier.acquire|release"),
    Rule(80, 71, "mbarrier.parity"),
    Rule(90, 0, "mbarrier.try_wait"),
    Rule(90, 80, "mbarrier.shared::cluster"),
    Rule(90, 0, "mbarrier.arrive|arrive_drop.#3.!noComplete"),
    Rule(90, 80, "mbarrier.expect_tx|complete_tx"),
    Rule(90, 80, "mbarrier.relaxed"),
    Rule(90, 86, "mbarrier.arrive|arrive_drop|test_wait|try_wait.relaxed"),

    // Control, hints, directives.
    Rule(0, 60, "brx"),
    Rule(52, 73, "alloca|stacksave|stackrestore"),
    Rule(80, 74, "applypriority|discard|createpolicy"),
    Rule(70, 62, "nanosleep"),
    Rule(80, 74, "prefetch.L2::*"),
    Rule(90, 80, "prefetch.tensormap"),
    Rule(90, 0, ".maxclusterrank|.explicitcluster|.reqnctapercluster"),
    Rule(90, 90, ".blocksareclusters"),
    Rule(0, 64, ".noreturn"),
];

/// Rules for instructions that only a family's targets with a letter have.
static FAMILIES: &[Rule] = &[Rule(100, 86, "redux.f32")];

/// A group of a rule's pattern.
enum Group {
    /// A word of these has to be there.
    Any(Vec<&'static str>),
    /// This word must not be there.
    Not(&'static str),
}

/// A rule, read.
struct Read {
    sm: u8,
    version: u8,
    family: bool,
    groups: Vec<Group>,
}

/// All rules by mnemonic; those for any mnemonic stand under `*`.
static BY_MNEMONIC: LazyLock<HashMap<&str, Vec<Read>>> = LazyLock::new(|| {
    let mut all: HashMap<&str, Vec<Read>> = HashMap::new();
    for (rule, family) in RULES.iter().map(|rule| (rule, false)).chain(FAMILIES.iter().map(|rule| (rule, true))) {
        for mnemonic in rule.mnemonics() {
            all.entry(mnemonic).or_default().push(rule.read(family));
        }
    }
    all
});

/// Returns whether `pattern`, a word or its beginning and a `*`, stands for a word.
fn fits(pattern: &str, word: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == word, |start| word.starts_with(start))
}

impl Rule {
    /// Mnemonics and the groups behind them. The name of a directive begins with a dot.
    fn parts(&self) -> (&'static str, &'static str) {
        match self.2.split_once('.') {
            Some((mnemonics, rest)) if !mnemonics.is_empty() => (mnemonics, rest),
            _ => (self.2, ""),
        }
    }

    fn mnemonics(&self) -> impl Iterator<Item = &'static str> {
        self.parts().0.split('|')
    }

    fn read(&self, family: bool) -> Read {
        let group = |group: &'static str| match group.strip_prefix('!') {
            Some(absent) => Group::Not(absent),
            None => Group::Any(group.split('|').collect()),
        };
        let groups = self.parts().1.split('.').filter(|group| !group.is_empty()).map(group).collect();
        Read { sm: self.0, version: self.1, family, groups }
    }
}

impl Read {
    /// Returns whether the rule covers an instruction of its mnemonic. Types stand in their order, other words anywhere.
    fn matches(&self, words: &[&str]) -> bool {
        let mut next_type = 0;
        self.groups.iter().all(|group| match group {
            Group::Not(absent) => !words.contains(absent),
            Group::Any(patterns) => {
                let fits = |&at: &usize| {
                    let is_one = patterns.iter().any(|pattern| fits(pattern, words[at]));
                    is_one && (at >= next_type || !is_type(words[at]))
                };
                let found = (0..words.len()).find(fits);
                next_type = found.filter(|&at| is_type(words[at])).map_or(next_type, |at| at + 1);
                found.is_some()
            }
        })
    }
}

/// Requirements of an instruction. `words` are its modifiers, the special registers that it reads, and the facts that [`RULES`]
/// writes with a `#`.
pub fn needs(mnemonic: &str, words: &[&str]) -> Needs {
    let rules = [mnemonic, "*"].into_iter().filter_map(|mnemonic| BY_MNEMONIC.get(mnemonic)).flatten();
    rules.filter(|rule| rule.matches(words)).fold(Needs::default(), |needs, rule| Needs {
        sm: needs.sm.max(rule.sm),
        version: needs.version.max(rule.version),
        family: needs.family || rule.family,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::lookup;

    fn sm_and_version(opcode: &str) -> (u8, u8) {
        let words: Vec<&str> = opcode.split('.').collect();
        let needs = needs(words[0], &words[1..]);
        (needs.sm, needs.version)
    }

    #[test]
    fn every_rule_is_about_a_mnemonic() {
        for rule in RULES.iter().chain(FAMILIES).filter(|rule| !rule.2.starts_with(['.', '*'])) {
            assert!(rule.mnemonics().all(|mnemonic| lookup(mnemonic).is_some()), "{}", rule.2);
        }
    }

    #[test]
    fn rules_add_up_and_types_stand_in_order() {
        assert_eq!(sm_and_version("add.u32"), (0, 0));
        assert_eq!(sm_and_version("cvt.rn.bf16.f32"), (80, 0));
        assert_eq!(sm_and_version("cvt.f32.bf16"), (80, 71));
        assert_eq!(sm_and_version("set.eq.f16.u32"), (53, 0));
        assert_eq!(sm_and_version("set.eq.u32.f16"), (53, 65));
        assert_eq!(sm_and_version("st.L1::no_allocate.shared::cluster.b32").0, NO_TARGET);
        assert_eq!((needs(".blocksareclusters", &[]).sm, needs(".blocksareclusters", &[]).version), (90, 90));
        assert!(needs("redux", &["sync", "min", "f32"]).family && !needs("redux", &["sync", "min", "s32"]).family);
    }

    #[test]
    fn versions_end() {
        assert!(is_version((3, 2)) && is_version((5, 0)) && is_version(VERSION_NEWEST));
        assert!([(0, 0), (3, 3), (5, 1), (7, 9), (9, 6), (10, 0), (99, 9)].into_iter().all(|v| !is_version(v)));
    }
}
