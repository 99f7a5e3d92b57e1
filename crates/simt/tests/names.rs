//! Names over the committed kernels, and what must have none.

use simt::Program;
use simt::names::Name;

use crate::host;

/// Names of a kernel of the course.
fn of(slug: &str, kernel: &str) -> Vec<Name> {
    let read = |path: String| host::read(format!("../../../kernels/{path}"));
    let program = Program::load(slug, &read(format!("ptx/{slug}.ptx"))).expect("it loads");
    let source = format!("kernels/{slug}.cu");
    program.names(kernel, |name| (name == source).then(|| read(format!("{slug}.cu")))).expect("it is there")
}

/// `variable line register`, in the order of the PTX, of one function.
fn listed(names: &[Name], function: &str) -> Vec<String> {
    let mut names: Vec<&Name> = names.iter().filter(|name| name.function == function).collect();
    names.sort_by_key(|name| name.ptx_line);
    names.iter().map(|name| format!("{} {} {}", name.name, name.line, name.register)).collect()
}

#[test]
fn variables_of_a_kernel_have_their_registers() {
    let names = of("ch05-unroll", "unroll_volatile_i32");
    // %r47 is twice what `s` is, and the loads of line 23 are not the sum yet: neither has a name.
    assert_eq!(listed(&names, "reduce_to_64"), ["tid 33 %r3", "sums 32 %rd10", "s 34 %r11"]);
    assert_eq!(
        listed(&names, "load_two"),
        ["in 19 %rd4", "n 19 %r12", "in 19 %rd1", "i 20 %r4", "sum 21 %r46", "sum 21 %r46", "sum 23 %r46"]
    );
    let names = of("ch01-naive", "interleaved_modulo_i32");
    let of_s: Vec<String> =
        listed(&names, "interleaved_modulo").into_iter().filter(|one| one.starts_with("s ")).collect();
    assert_eq!(of_s, ["s 28 %r19", "s 28 %r19"]);
}

#[test]
fn a_chain_of_registers_is_one_variable() {
    let names = of("ch05-unroll", "unroll_shuffle_i32");
    let sums = listed(&names, "last_warp_shuffle").into_iter().filter(|one| one.starts_with("sum ")).count();
    // One before the loop, and one for each round of it, which the compiler unrolled.
    assert_eq!(sums, 6);
}

/// A kernel whose line 3 is `statement`, and whose PTX computes `tid + 1` and `tid + 2` for that line.
fn named(statement: &str) -> Vec<String> {
    let source = format!(
        "extern \"C\" __global__ void k(unsigned int* out) {{\n  unsigned int tid = threadIdx.x;\n  {statement}\n  out[tid] = a;\n}}\n"
    );
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n.reg .b32 %r<9>;\n\
        .loc 1 2 1\nmov.u32 %r1, %tid.x;\n.loc 1 3 1\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, 2;\nret;\n}\n.file 1 \"k.cu\"\n";
    let program = Program::load("k.ptx", ptx).expect("it loads");
    let names = program.names("k", |_| Some(source.clone())).expect("it is there");
    listed(&names, "k").into_iter().filter(|one| !one.starts_with("tid")).collect()
}

#[test]
fn what_cannot_be_shown_has_no_name() {
    assert_eq!(named("unsigned int a = tid + 1;"), ["a 3 %r2"]);
    assert_eq!(named("unsigned int a = 2 + tid;"), ["a 3 %r3"]);
    for hidden in [
        "unsigned int a = tid + 3;",              // computed nowhere
        "unsigned int a = unknown(tid);",         // its value is not known
        "unsigned int a = tid + 1; change(&a);",  // changes out of sight
        "unsigned int a = tid + 1; a = other();", // half of it is not understood
        "unsigned int b = 0, a = tid + 1;",       // several at once are not taken apart
        "unsigned int a = 7;",                    // a number alone may be anything
    ] {
        assert_eq!(named(hidden), [""; 0], "{hidden}");
    }
}

#[test]
fn a_source_that_is_none_gives_no_names_and_no_panic() {
    for source in ["", "{", "void f(", "void f() { for (", "a = = ? :", "void k(int a) { a[; x = (y; }", "\"", "'\\"] {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.loc 1 1 1\nmov.u32 %r1, %tid.x;\nret;\n}\n.file 1 \"k.cu\"\n";
        let program = Program::load("k.ptx", ptx).expect("it loads");
        assert_eq!(program.names("k", |_| Some(source.to_owned())), Ok(Vec::new()), "{source}");
    }
}
