//! Fixtures of arithmetic, made from the table: for every opcode a few lines of PTX that load rows of operands, execute
//! it and store what it gives. The recorder (`crates/device/examples/semantics.rs`) runs them on a GPU, the
//! test `semantics` in the simulator.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;
use ptx::table::{ARITHMETIC, Shape};

use super::operands::{OPERANDS, ROWS, ROWS_APPROXIMATE, fnv, rows};
use super::video;

/// Most opcodes in one kernel.
const PER_KERNEL: usize = 40;

/// Hash of each group's PTX, a line each: a change of the fixtures is seen by it.
pub fn hashes() -> String {
    groups().iter().map(|group| format!("{}\t{:016x}\n", group.name, fnv(group.ptx().as_bytes()))).collect()
}

/// The best that the compressor does.
const DEFLATE_LEVEL: u8 = 10;

/// One opcode, perhaps with an immediate.
pub struct Fixture {
    pub opcode: String,
    pub immediate: Option<u8>,
    /// Selectors of a packed video instruction, with their dots: of the destination and of the first two sources.
    pub selectors: [String; 3],
    pub destinations: Vec<String>,
    pub sources: Vec<String>,
}

/// A kernel: opcodes that take the same operands, on the same rows.
pub struct Kernel {
    pub name: String,
    pub fixtures: Vec<Fixture>,
    /// Operands of each thread; the value of operand `i` is in the low bits of entry `i`.
    pub rows: Vec<[u64; OPERANDS]>,
}

/// A file of kernels for one target.
pub struct Group {
    pub name: &'static str,
    pub sm: u8,
    pub version: u8,
    pub kernels: Vec<Kernel>,
}

/// Returns every group of the table, by name.
pub fn groups() -> Vec<Group> {
    let mut groups = BTreeMap::<&str, Group>::new();
    for shape in ARITHMETIC {
        let needs = shape.opcodes().iter().map(|opcode| shape.needs(opcode, "")).max_by_key(|n| (n.sm, n.version));
        let needs = needs.unwrap_or_default();
        let group = groups.entry(shape.group).or_insert(Group {
            name: shape.group,
            sm: match needs.sm {
                ..=80 => 80,
                81..=90 => 90,
                newer => newer,
            },
            version: 81,
            kernels: Vec::new(),
        });
        group.version = group.version.max(needs.version);
        group.kernels.extend(kernels(shape));
    }
    groups.into_values().collect()
}

/// The kernels of one shape.
fn kernels(shape: &Shape) -> Vec<Kernel> {
    let mut by_operands = BTreeMap::<(Vec<String>, Vec<String>), Vec<Fixture>>::new();
    for opcode in shape.opcodes() {
        let operands = shape.operands_of(&opcode);
        let key = (operands.destinations.clone(), operands.sources.clone());
        let has_immediate = operands.sources.iter().any(|kind| kind == "imm8");
        let immediates: &[u8] = if has_immediate { &[0x00, 0x01, 0x1b, 0x80, 0x96, 0xca, 0xe8, 0xfe] } else { &[0] };
        by_operands.entry(key).or_default().extend(immediates.iter().map(|&immediate| Fixture {
            opcode: opcode.clone(),
            immediate: has_immediate.then_some(immediate),
            selectors: Default::default(),
            destinations: operands.destinations.clone(),
            sources: operands.sources.clone(),
        }));
        if let Some(selecting) = video::selecting(&opcode, &operands) {
            let key = (selecting.destinations.clone(), selecting.sources.clone());
            by_operands.entry(key).or_default().push(selecting);
        }
    }
    let mut made = Vec::new();
    for ((destinations, sources), mut fixtures) in by_operands {
        let stem = format!("{}_{}_from_{}", shape.mnemonic(), destinations.join("_"), sources.join("_"));
        for part in 0.. {
            let rest = fixtures.split_off(fixtures.len().min(PER_KERNEL));
            let name = format!("{stem}_{:04x}_{part}", fnv(shape.pattern.as_bytes()) & 0xffff);
            // The rows follow what the instruction takes, not where it stands in the table.
            made.push(Kernel {
                rows: rows(&stem, &sources, if shape.group.starts_with("approx") { ROWS_APPROXIMATE } else { ROWS }),
                name,
                fixtures,
            });
            if rest.is_empty() {
                break;
            }
            fixtures = rest;
        }
    }
    made
}

/// Bits that a destination is recorded with.
pub fn width_bits(kind: &str) -> u32 {
    match kind {
        "pred" => 1,
        "u16" | "s16" | "b16" | "f16" | "bf16" => 16,
        "u64" | "s64" | "b64" | "f64" | "f32x2" => 64,
        _ => 32,
    }
}

/// The register file of a kind: `%h`, `%r`, `%d` of 16, 32 and 64 bits, `%p`.
fn register(kind: &str, index: usize) -> String {
    let file = match width_bits(kind) {
        1 => 'p',
        16 => 'h',
        64 => 'd',
        _ if kind == "f8x2" => 'h',
        _ => 'r',
    };
    format!("%{file}{index}")
}

impl Fixture {
    /// Returns its name in a record.
    pub fn key(&self) -> String {
        match self.immediate {
            Some(immediate) => format!("{} {immediate:#04x}", self.opcode),
            None if self.selectors.iter().any(|selector| !selector.is_empty()) => {
                let [d, a, b] = &self.selectors;
                format!("{} d{d} a{a} b{b}", self.opcode)
            }
            None => self.opcode.clone(),
        }
    }

    /// A carry goes in.
    fn takes_carry(&self) -> bool {
        matches!(self.opcode.split('.').next(), Some("addc" | "subc" | "madc"))
    }

    /// A carry comes out.
    pub fn gives_carry(&self) -> bool {
        self.opcode.split('.').any(|word| word == "cc")
    }

    /// Widths in bits of what is stored, in order.
    pub fn outputs(&self) -> Vec<u32> {
        let carry = self.gives_carry().then_some(32);
        self.destinations.iter().map(|kind| width_bits(kind)).chain(carry).collect()
    }

    /// The instruction, and what sets and reads the carry around it. `at` is its place in the kernel.
    fn write(&self, text: &mut String, at: usize) {
        let selector = |operand: usize| self.selectors.get(operand).map_or("", String::as_str);
        let destinations: Vec<String> =
            self.destinations.iter().enumerate().map(|(i, k)| register(k, 8 + i) + selector(0)).collect();
        let mut loaded = 0;
        let sources: Vec<String> = self
            .sources
            .iter()
            .map(|kind| match (kind.as_str(), self.immediate) {
                ("imm8", Some(immediate)) => format!("{immediate:#x}"),
                _ => {
                    loaded += 1;
                    // Every second one takes its predicate negated.
                    let negated = if kind == "pred" && at % 2 == 1 { "!" } else { "" };
                    format!("{negated}{}{}", register(kind, loaded - 1), selector(loaded))
                }
            })
            .collect();
        if self.takes_carry() {
            let set =
                if self.opcode.starts_with("subc") { "sub.cc.u32 %r10, 0, %r7" } else { "add.cc.u32 %r10, %r7, -1" };
            let _ = writeln!(text, "    {set};");
        }
        let _ = writeln!(text, "    {} {}, {};", self.opcode, destinations.join("|"), sources.join(", "));
        if self.gives_carry() {
            let get = if self.opcode.starts_with("sub") { "subc" } else { "addc" };
            let _ = writeln!(text, "    {get}.u32 %r9, 0, 0;");
        }
    }

    /// Stores of what it gave.
    fn store(&self, text: &mut String, at: usize, rows: usize) {
        let kinds: Vec<&str> =
            self.destinations.iter().map(String::as_str).chain(self.gives_carry().then_some("u32")).collect();
        for (i, kind) in kinds.into_iter().enumerate() {
            let offset = (2 * at + i) * rows * 8;
            if kind == "pred" {
                let _ = writeln!(text, "    selp.u32 %r10, 1, 0, %p{};", 8 + i);
                let _ = writeln!(text, "    st.global.b32 [%out+{offset}], %r10;");
            } else {
                let _ =
                    writeln!(text, "    st.global.b{} [%out+{offset}], {};", width_bits(kind), register(kind, 8 + i));
            }
        }
    }
}

impl Kernel {
    /// Blocks of [`ROWS`] threads that the rows take.
    pub fn blocks(&self) -> u32 {
        (self.rows.len() / ROWS) as u32
    }

    /// Words of the output buffer: two of eight bytes a fixture and row.
    pub fn output_words(&self) -> usize {
        self.fixtures.len() * 2 * self.rows.len()
    }

    /// The operands as the input buffer holds them.
    pub fn input(&self) -> Vec<u64> {
        self.rows.iter().flatten().copied().collect()
    }

    /// Tells one set of rows from another.
    pub fn input_hash(&self) -> String {
        let bytes: Vec<u8> = self.input().into_iter().flat_map(u64::to_le_bytes).collect();
        format!("{:016x}", fnv(&bytes))
    }

    /// Returns the values of each output of fixture `at`, from the output buffer.
    pub fn outputs_of(&self, at: usize, output: &[u64]) -> Vec<Vec<u64>> {
        let slots = 0..self.fixtures[at].outputs().len();
        let rows = self.rows.len();
        slots.map(|i| output[(2 * at + i) * rows..][..rows].to_vec()).collect()
    }

    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "\n.visible .entry {}(.param .u64 input, .param .u64 output)\n{{", self.name);
        text.push_str("    .reg .b16 %h<11>;\n    .reg .b32 %r<12>;\n    .reg .b64 %d<11>, %in, %out, %at;\n    .reg .pred %p<11>;\n");
        text.push_str("    ld.param.u64 %in, [input];\n    ld.param.u64 %out, [output];\n    mov.u32 %r8, %ctaid.x;\n    mov.u32 %r9, %tid.x;\n    mad.lo.s32 %r11, %r8, 128, %r9;\n");
        let _ = writeln!(text, "    mul.wide.u32 %at, %r11, {};\n    add.s64 %in, %in, %at;", 8 * OPERANDS);
        text.push_str("    mul.wide.u32 %at, %r11, 8;\n    add.s64 %out, %out, %at;\n");
        let kinds = self.fixtures.first().map_or(&[][..], |fixture| &fixture.sources);
        for (i, kind) in kinds.iter().filter(|kind| *kind != "imm8").enumerate() {
            match kind.as_str() {
                "pred" => {
                    let _ = writeln!(text, "    ld.global.b32 %r10, [%in+{}];\n    setp.ne.u32 %p{i}, %r10, 0;", 8 * i);
                }
                _ => {
                    let name = register(kind, i);
                    let bits = match &name[1..2] {
                        "h" => 16,
                        "d" => 64,
                        _ => 32,
                    };
                    let _ = writeln!(text, "    ld.global.b{bits} {name}, [%in+{}];", 8 * i);
                }
            }
        }
        if self.fixtures.iter().any(Fixture::takes_carry) {
            // A carry goes in on every odd row.
            text.push_str("    and.b32 %r7, %r11, 1;\n");
        }
        for (at, fixture) in self.fixtures.iter().enumerate() {
            fixture.write(text, at);
            fixture.store(text, at, self.rows.len());
        }
        text.push_str("    ret;\n}\n");
    }
}

impl Group {
    /// The file's text.
    pub fn ptx(&self) -> String {
        let (major, minor) = (self.version / 10, self.version % 10);
        let mut text = format!(
            "// Made by `cargo run -p device --example semantics -- --write FOLDER`. What each kernel's rows of operands are,\n\
             // and how its results are laid out, is told in fixture.rs and operands.rs.\n\
             .version {major}.{minor}\n.target sm_{}\n.address_size 64\n",
            self.sm
        );
        self.kernels.iter().for_each(|kernel| kernel.write(&mut text));
        text
    }
}

/// Values as a record holds them: hexadecimal digits of their width; where there are at most two different values, these
/// two and a bit for each row; predicates are bits alone. Where it is shorter, `=` and the bytes of the digits, deflated, in base64.
pub fn encode(values: &[u64], bits: u32) -> String {
    let digits = |value: u64| format!("{value:0width$x}", width = bits as usize / 4);
    let mask = |is: &dyn Fn(u64) -> bool| -> String {
        let nibble = |four: &[u64]| four.iter().enumerate().fold(0, |sum, (i, &value)| sum | u32::from(is(value)) << i);
        values.chunks(4).map(|four| format!("{:x}", nibble(four))).collect()
    };
    let first = values.first().copied().unwrap_or(0);
    let other = values.iter().copied().find(|&value| value != first).unwrap_or(first);
    match bits {
        1 => mask(&|value| value != 0),
        _ if values.iter().all(|&value| value == first || value == other) => {
            format!("{}/{}:{}", digits(first), digits(other), mask(&|value| value == other))
        }
        _ => {
            let bytes: Vec<u8> =
                values.iter().flat_map(|value| value.to_be_bytes()[8 - bits as usize / 8..].to_vec()).collect();
            let packed = format!("={}", STANDARD_NO_PAD.encode(compress_to_vec(&bytes, DEFLATE_LEVEL)));
            let digits: String = values.iter().map(|&value| digits(value)).collect();
            if packed.len() < digits.len() { packed } else { digits }
        }
    }
}

/// The values of an encoded text.
pub fn decode(text: &str, bits: u32) -> Vec<u64> {
    let number = |digits: &str| u64::from_str_radix(digits, 16).expect("hexadecimal digits");
    let flags = |text: &str| -> Vec<bool> {
        text.chars().flat_map(|c| (0..4).map(move |i| c.to_digit(16).expect("a digit") >> i & 1 != 0)).collect()
    };
    if let Some(packed) = text.strip_prefix('=') {
        let bytes = STANDARD_NO_PAD.decode(packed).expect("base64");
        let bytes = decompress_to_vec(&bytes).expect("deflated bytes");
        return bytes
            .chunks(bits as usize / 8)
            .map(|one| one.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
            .collect();
    }
    match text.split_once(':') {
        Some((values, mask)) => {
            let (first, other) = values.split_once('/').expect("two values");
            flags(mask).into_iter().map(|is| number(if is { other } else { first })).collect()
        }
        None if bits == 1 => flags(text).into_iter().map(u64::from).collect(),
        None => text
            .as_bytes()
            .chunks(bits as usize / 4)
            .map(|digits| number(std::str::from_utf8(digits).expect("ASCII")))
            .collect(),
    }
}
