//! Each file of `tests/parse` is read whole, and what is printed from its tree reads as the same tree.
//!
//! The files come from the CUDA sources beside them: `NAME.sm_80.ptx` and `NAME.sm_90.ptx` by NVRTC 12.1.105,
//! `NAME.sm_100.ptx` by NVRTC 13.0.88 and `.nvrtc-13.5` by 13.5.37, which write other dialects; `.debug` with `-G`.
//! Paths are cut to the file's name, and `grid_sync` for sm_100 lacks most of the header's unused constants.
//! `forms.ptx` is written by hand.

use crate::fixtures;

use fixtures::fixtures;
use ptx::{Immediate, Initializer, Instruction, Item, Linkage, Loc, Module, Operand, Space, Type};

/// The tree without what printing loses: spans, and the calls that lines were inlined through.
fn shape(module: &Module) -> String {
    let debug = format!("{module:?}");
    without(&without(&debug, "Span {", '}'), "callers: [", ']')
}

/// `text` without the parts from `open` to the next `close`.
fn without(text: &str, open: &str, close: char) -> String {
    let mut parts = text.split(open);
    let mut left = parts.next().unwrap_or_default().to_string();
    for part in parts {
        left.push_str(part.split_once(close).expect("what opens is closed").1);
    }
    left
}

#[test]
fn each_file_is_read_and_printed_and_read_again() {
    for (name, _, text) in fixtures("parse") {
        let module = ptx::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let printed = module.to_string();
        let again = ptx::parse(&name, &printed).unwrap_or_else(|error| panic!("{name}, printed: {error}"));
        assert_eq!(shape(&again), shape(&module), "{name}");
        assert_eq!(again.to_string(), printed, "{name}");
    }
}

#[test]
fn no_file_is_left_out_of_the_dialects() {
    let names: Vec<String> = fixtures("parse").into_iter().map(|(name, ..)| name).collect();
    for kernel in ["reduce", "grid_sync", "half", "integer", "float", "atomics", "memory", "calls", "warp", "async"] {
        for dialect in ["sm_80", "sm_100"] {
            assert!(names.contains(&format!("{kernel}.{dialect}")), "{kernel}.{dialect}");
        }
    }
}

fn fixture(name: &str) -> Module {
    let (_, _, text) = fixtures("parse").into_iter().find(|(found, ..)| found == name).expect(name);
    ptx::parse(name, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The instructions of a function, those of nested scopes included.
fn instructions(module: &Module, function: &str) -> Vec<Instruction> {
    let function = module.functions.iter().find(|f| f.name == function).expect("the function");
    function.instructions().cloned().collect()
}

/// The operands of the instructions of `forms` whose opcode starts with `opcode`.
fn operands_in_forms(opcode: &str) -> Vec<Vec<Operand>> {
    let found = instructions(&fixture("forms"), "forms");
    found.into_iter().filter(|i| i.opcode.starts_with(opcode)).map(|i| i.operands).collect()
}

fn name(text: &str) -> Operand {
    Operand::Name(text.to_string())
}

fn int(value: i128) -> Operand {
    Operand::Immediate(Immediate::Int(value))
}

fn address(base: &str, offset: i64) -> Operand {
    Operand::Address { base: Some(base.to_string()), offset }
}

#[test]
fn kernels_parameters_and_shared_memory_are_found() {
    let module = fixture("reduce.sm_80");
    assert_eq!((module.version, module.target.as_str(), module.address_size_bits), ((8, 1), "sm_80", 64));
    let kernels: Vec<&str> = module.functions.iter().filter(|f| f.is_entry).map(|f| f.name.as_str()).collect();
    assert_eq!(kernels, ["reduce_i32", "reduce_f32", "reduce_f64"]);
    let types: Vec<Type> = module.functions[0].params.iter().map(|p| p.ty).collect();
    assert_eq!(types, [Type::U64, Type::U64, Type::U32]);
    let storage = module.variables.iter().find(|v| v.linkage == Linkage::Extern).expect("extern shared memory");
    assert_eq!((storage.space, storage.align_bytes, storage.dims.as_slice()), (Space::Shared, 16, &[0][..]));
}

#[test]
fn a_line_is_that_of_the_innermost_function_and_knows_its_callers() {
    let module = fixture("reduce.sm_80");
    let shuffle = instructions(&module, "reduce_f32").into_iter().find(|i| i.spec.mnemonic == "shfl").unwrap();
    let file = module.sources.iter().find(|s| s.path == "reduce.cu").expect("the source is named");
    // Line 4 holds the shuffle, inlined at line 21, and that at line 27.
    assert_eq!(shuffle.loc.map(|loc| (loc.file, loc.line)), Some((file.index, 4)));
    let callers: Vec<_> = shuffle.callers.iter().map(|loc| (loc.file, loc.line)).collect();
    assert_eq!(callers, [(file.index, 21), (file.index, 27)]);
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parse/reduce.sm_80.ptx")).unwrap();
    let span = &text[shuffle.span.start as usize..shuffle.span.end as usize];
    assert!(span.starts_with("shfl.sync.down") && span.ends_with(';'), "{span}");
    assert_eq!(text.lines().nth(shuffle.span.line as usize - 1).unwrap().trim(), span);
}

#[test]
fn calls_in_a_circle_end() {
    let text = ".version 8.0 .target sm_80 .address_size 64 .file 1 \"a.cu\" .visible .entry k() {
        .loc 1 1 1, function_name f, inlined_at 1 2 1
        .loc 1 2 1, function_name f, inlined_at 1 1 1
        membar.cta;
        .loc 1 3 1
        ret; }";
    let module = ptx::parse("circle.ptx", text).unwrap();
    let [fence, ret] = &instructions(&module, "k")[..] else { panic!("two instructions") };
    assert_eq!((fence.callers[0].line, fence.callers[1].line), (1, 2));
    assert!((2..1000).contains(&fence.callers.len()));
    assert!(ret.callers.is_empty());
}

#[test]
fn line_zero_is_no_line() {
    let lines: Vec<Option<Loc>> = instructions(&fixture("forms"), "forms").iter().map(|i| i.loc).collect();
    assert_eq!(lines[0], Some(Loc { file: 1, line: 10, column: 3 }));
    assert_eq!(lines[9], Some(Loc { file: 1, line: 11, column: 5 }));
    assert_eq!(*lines.last().unwrap(), None);
}

#[test]
fn operands_keep_their_shape() {
    let moves = operands_in_forms("mov");
    assert_eq!(moves[0], [Operand::Vector(vec![Operand::Sink, name("%r1")]), name("%rd1")]);
    assert_eq!(moves[2][1], name("%tid.x"));
    assert_eq!(moves[4][1], Operand::Offset("matrix".to_string(), 2));
    assert_eq!(moves[5][1], Operand::Offset("matrix".to_string(), -1));
    assert_eq!((&moves[6][1], &moves[8][1]), (&int(32), &int(31)));
    assert_eq!(moves.last().unwrap()[1], Operand::Index("matrix".to_string(), 3));
    let loads = operands_in_forms("ld");
    assert_eq!(loads[0][1], address("%rd1", -16));
    assert_eq!(loads[2][1], address("b", 8));
    assert_eq!(loads[4], [name("%r4"), address("%rd1", -4), name("%rd2")]);
    assert_eq!(operands_in_forms("st")[0][0], Operand::Address { base: None, offset: 16 });
    let setp = &operands_in_forms("setp")[0];
    assert_eq!(setp[0], Operand::Pair(Box::new(name("%p1")), Box::new(name("%p2"))));
    assert_eq!((&setp[2], &setp[3]), (&int(-1), &Operand::Not("%p3".to_string())));
    assert_eq!(operands_in_forms("elect")[0][0], Operand::Pair(Box::new(Operand::Sink), Box::new(name("%p4"))));
    let copy = &operands_in_forms("cp.async.bulk.tensor")[0];
    assert_eq!(copy[1], Operand::List(vec![address("%rd1", 0), Operand::Vector(vec![name("%r2"), name("%r3")])]));
}

#[test]
fn calls_keep_the_place_of_what_they_leave_out() {
    let list = |names: &[&str]| Operand::List(names.iter().map(|n| name(n)).collect());
    let calls = operands_in_forms("call");
    assert_eq!(calls[0], [name("nothing")]);
    assert_eq!(calls[1], [name("nothing"), list(&[])]);
    assert_eq!(calls[2], [list(&["%r1"]), name("identity"), list(&["%r2"])]);
    let arguments = Operand::List(vec![name("%r2"), int(0)]);
    assert_eq!(calls[3], [list(&["%r1"]), name("%rd1"), arguments, name("prototype")]);
}

#[test]
fn initial_values_are_evaluated() {
    let module = fixture("forms");
    let init = |name: &str| &module.variables.iter().find(|v| v.name == name).expect(name).init;
    let value = |v: i128| Initializer::Value(Immediate::Int(v));
    assert_eq!(*init("negative"), [value(-125)]);
    assert_eq!([init("octal"), init("binary")].map(|i| i[0].clone()), [value(15), value(11)]);
    assert_eq!(*init("largest"), [value(0xFFFF_FFFF_FFFF_FFFF)]);
    assert_eq!(*init("computed"), [value((-7 << 4) | 3)]);
    assert_eq!(*init("warp"), [value(64)]);
    assert_eq!(*init("matrix"), [1, 2, 3, 4, 5, 6].map(value));
    assert_eq!(init("quad")[2], Initializer::Value(Immediate::F64(1.5f64.to_bits())));
    let addresses = init("addresses");
    let generic = Initializer::Address { symbol: "matrix".to_string(), offset: 2, generic: true, mask: None };
    assert_eq!((addresses.len(), &addresses[3]), (6, &generic));
    let part = |symbol: &str, offset, generic, mask| Initializer::Address {
        symbol: symbol.to_string(),
        offset,
        generic,
        mask: Some(mask),
    };
    let parts = [part("quad", 0, false, 0xFF), part("quad", 4, false, 0xFF00), part("negative", 8, true, 0xFF_0000)];
    assert_eq!(*init("parts"), parts);
    let variable = module.variables.iter().find(|v| v.name == "addresses").unwrap();
    assert_eq!(variable.dims, [6], "the size left out is that of the values");
}

#[test]
fn directives_and_pointers_of_kernels_are_kept() {
    let module = fixture("forms");
    let function = |name: &str| module.functions.iter().find(|f| f.name == name).expect(name);
    let expected = [
        ("maxntid", &[256, 1, 1][..]),
        ("reqntid", &[128]),
        ("minnctapersm", &[2]),
        ("maxnreg", &[64]),
        ("explicitcluster", &[]),
        ("reqnctapercluster", &[2, 1, 1]),
    ];
    let found = &function("empty").directives;
    assert_eq!(found.len(), expected.len());
    for ((name, numbers), (expected_name, expected_numbers)) in found.iter().zip(expected) {
        assert_eq!((name.as_str(), numbers.as_slice()), (expected_name, expected_numbers));
    }
    let pointer = function("forms").params[0].pointer.expect("a pointer");
    assert_eq!((pointer.space, pointer.align_bytes), (Some(Space::Global), Some(4)));
    assert_eq!(function("forms").params[2].dims, [16]);
    assert_eq!((function("nothing").body.is_none(), function("identity").returns.len()), (true, 1));
    let [alias] = module.aliases.as_slice() else { panic!("one alias") };
    assert_eq!((alias.name.as_str(), alias.function.as_str()), ("second_name", "identity"));
    let prototypes = function("forms").body.iter().flatten().filter_map(|item| match item {
        Item::CallPrototype(prototype) => Some(prototype),
        _ => None,
    });
    let sizes: Vec<_> = prototypes.map(|p| (p.returns.len(), p.params.len(), p.directives.len())).collect();
    assert_eq!(sizes, [(1, 2, 1)]);
}
