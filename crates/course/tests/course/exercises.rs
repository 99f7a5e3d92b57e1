//! The exercises as readers meet them: what is printed, what is on disk afterwards, and the exit status.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use crate::checkout::{Checkout, repository};

const CHAPTER: &str = "chapters/ch04-first-add";
const COPY: &str = "my/four-loads.cu";

/// A checkout with the exercises of one chapter, whose committed PTX makes a compiler unnecessary.
fn chapter() -> Checkout {
    let checkout = Checkout::new();
    let copy = |name: &str| checkout.write(name, &std::fs::read_to_string(repository().join(name)).unwrap());
    copy("kernels/ch04-first-add.cu");
    copy("kernels/ptx/ch04-first-add.ptx");
    for extension in ["cu", "ptx"] {
        copy(&format!("{CHAPTER}/tests/mistakes/both_or_neither.{extension}"));
    }
    copy(&format!("{CHAPTER}/exercises.toml"));
    for folder in ["exercises", "solutions", "wrong", "choices"] {
        for entry in std::fs::read_dir(repository().join(CHAPTER).join(folder)).unwrap() {
            copy(&format!("{CHAPTER}/{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    checkout
}

impl Checkout {
    /// Text of one of the chapter's kernels.
    fn kernel(&self, name: &str) -> String {
        self.read(&format!("{CHAPTER}/{name}.cu"))
    }

    /// Makes the reader's copy such a text, and has it judged.
    #[track_caller]
    fn tries(&self, status: i32, text: &str) -> String {
        self.write(COPY, text);
        self.says(status, &["exercise", "four-loads"])
    }

    /// Runs `cargo course`, and expects this status. Returns all that it said.
    #[track_caller]
    fn says(&self, status: i32, args: &[&str]) -> String {
        self.ends(status, args).concat()
    }

    /// Lends this checkout the compiler of the real one; false if there is none.
    #[cfg(unix)]
    fn has_compiler(&self) -> bool {
        let Some(real) = crate::checkout::installed() else { return false };
        std::fs::create_dir_all(self.path("target")).unwrap();
        std::os::unix::fs::symlink(real, self.path("target/nvrtc")).unwrap();
        true
    }
}

#[test]
fn the_first_call_makes_a_copy_and_judges_the_starter() {
    let checkout = chapter();
    let said = checkout.says(1, &["exercise", "four-loads"]);
    let (copy, starter) = (checkout.read(COPY), checkout.kernel("exercises/four-loads"));
    assert!(starter.contains("// ANCHOR") && !copy.contains("ANCHOR"), "the book's marks are not for readers: {copy}");
    assert_eq!(copy.lines().count(), starter.lines().count());
    for what in
        ["Your copy is my/four-loads.cu", "fails first at n = 33, 32 threads a block, i32", "element 32 is missing"]
    {
        assert!(said.contains(what), "{what}: {said}");
    }
    let listed = checkout.says(0, &["exercise"]);
    assert!(listed.contains("not started"), "the starter is no try: {listed}");
}

#[test]
fn a_solution_is_solved_and_stays_solved() {
    let checkout = chapter();
    checkout.tries(1, &checkout.kernel("wrong/four-loads-one-guard"));
    let said = checkout.tries(0, &checkout.kernel("solutions/four-loads"));
    assert!(said.contains("solved. Compare with chapters/ch04-first-add/solutions/four-loads.cu"), "{said}");
    checkout.tries(1, &checkout.kernel("wrong/four-loads-one-guard"));
    let progress = checkout.says(0, &["progress"]);
    assert!(progress.contains("write    solved             3    0 of 3"), "{progress}");
    assert!(progress.contains("1 of 6 solved"), "{progress}");
}

#[test]
fn a_question_takes_an_answer_and_says_why() {
    let checkout = chapter();
    let said = checkout.says(1, &["exercise", "half-the-blocks", "16"]);
    assert!(said.starts_with("not yet: That is one element a thread."), "{said}");
    checkout.says(1, &["exercise", "half-the-blocks", "-5"]); // a number, and not the answer
    let said = checkout.says(0, &["exercise", "half-the-blocks", "8"]);
    assert!(said.starts_with("right: A block takes 128 elements") && said.contains("need one more: 8."), "{said}");
    assert!(said.contains("Next: cargo course exercise which-two"), "{said}");
    let said = checkout.says(1, &["exercise", "second-load", "a"]);
    assert!(said.starts_with("not yet: A run with n = 70 ends with `out-of-bounds`"), "{said}");
    checkout.says(0, &["exercise", "second-load", "C"]);
    let progress = checkout.says(0, &["progress"]);
    assert!(progress.contains("✓ half-the-blocks        ch04     predict  solved             3"), "{progress}");
    assert!(progress.contains("2 of 6 solved"), "{progress}");
    checkout.says(0, &["reset", "half-the-blocks"]);
    assert!(checkout.says(0, &["progress"]).contains("1 of 6 solved"));
}

#[test]
fn without_an_answer_the_question_is_asked() {
    let checkout = chapter();
    let said = checkout.says(1, &["exercise", "next"]);
    for what in ["ch04-first-add: Half the blocks", "1,000 numbers", "cargo course exercise half-the-blocks NUMBER"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let said = checkout.says(1, &["exercise", "which-two"]);
    for what in ["unsigned int i = ____, j = ____;", "  b)  tid\n      tid + 32\n"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let mut child = checkout.command(&["exercise", "which-two"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"b\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "an answer at the prompt");
    let said = checkout.says(0, &["exercise", "4"]);
    assert!(said.contains("1 of 6 solved; next: cargo course exercise half-the-blocks"), "{said}");
    for first in ["4.1", "ch04.1", "ch04-first-add.1"] {
        assert!(checkout.says(1, &["exercise", first]).contains("ch04-first-add: Half the blocks"), "{first}");
    }
}

#[test]
fn a_verdict_names_the_readers_own_lines() {
    let checkout = chapter();
    let said = checkout.tries(1, &checkout.kernel("wrong/four-loads-first-guard"));
    let line = checkout.read(COPY).lines().position(|line| line.contains("sum += in[")).unwrap() + 1;
    assert!(said.contains("error[out-of-bounds]"), "{said}");
    assert!(said.contains(&format!("--> my/four-loads.cu:{line}\n")), "{said}");

    let said = checkout.tries(1, &checkout.kernel("wrong/four-loads-side-by-side"));
    assert!(said.contains("goal missed: each of the 128 sectors of 1,024 elements is loaded once"), "{said}");
    assert!(said.contains("counted 512, allowed at most 128"), "{said}");
    let line = checkout.read(COPY).lines().position(|line| line.contains("sum += in[")).unwrap() + 1;
    assert!(said.contains(&format!("all of it in my/four-loads.cu:{line}\n")), "{said}");
}

#[test]
fn what_is_not_there_is_status_2() {
    let checkout = chapter();
    for args in [
        &["exercise", "no-loads"][..],
        &["exercise", ""],
        &["exercise", "../four-loads"],
        &["exercise", "four-loads", "five-loads"],
        &["exercise", "half-the-blocks", "eight"],
        &["exercise", "half-the-blocks", ""],
        &["exercise", "half-the-blocks", "8", "9"],
        &["exercise", "which-two", "e"],
        &["exercise", "which-two", "12"],
        &["exercise", "4", "8"],
        &["exercise", "4.0"],
        &["exercise", "4.7"],
        &["exercise", "4.one"],
        &["exercise", ".1"],
        &["hint", "4"],
        &["watch", "no-loads"],
        &["hint"],
        &["hint", "no-loads"],
        &["hint", "--all"],
        &["reset", "no-loads"],
        &["reset"],
        &["progress", "x"],
    ] {
        checkout.says(2, args);
    }
    let said = checkout.says(2, &["hint", "no-loads"]);
    assert!(said.contains("no exercise `no-loads`: `cargo course exercise` lists all"), "{said}");
    assert!(!checkout.path("my").exists(), "nothing is written for them");
}

#[test]
fn a_checkout_without_exercises_says_so() {
    let checkout = chapter();
    std::fs::remove_file(checkout.path(&format!("{CHAPTER}/exercises.toml"))).unwrap();
    let said = checkout.says(1, &["exercise"]);
    assert!(said.contains("found no chapters/*/exercises.toml"), "{said}");
}

#[test]
fn hints_come_one_by_one() {
    let checkout = chapter();
    let hint = |args: &[&str]| checkout.says(0, &[&["hint", "four-loads"], args].concat());
    assert!(hint(&[]).starts_with("hint 1 of 3: "));
    assert!(hint(&[]).starts_with("hint 2 of 3: "));
    let last = hint(&[]);
    assert!(last.starts_with("hint 3 of 3: ") && last.contains("There is no further hint"), "{last}");
    assert_eq!(hint(&[]), last);
    let all = hint(&["--all"]);
    assert!(all.starts_with("hint 1 of 3: ") && all.ends_with(&last), "{all}");
}

#[test]
fn reset_never_loses_work() {
    let checkout = chapter();
    checkout.says(1, &["exercise", "four-loads"]);
    let starter = checkout.read(COPY);
    for (text, kept) in [("// mine\n", "my/four-loads.1.cu"), ("// mine too\n", "my/four-loads.2.cu")] {
        checkout.write(COPY, text);
        let said = checkout.says(0, &["reset", "four-loads"]);
        assert!(said.contains(&format!("your work is kept in {kept}")), "{said}");
        assert_eq!((checkout.read(COPY), checkout.read(kept)), (starter.clone(), text.to_owned()));
    }
    assert!(!checkout.says(0, &["reset", "four-loads"]).contains("kept"), "there is nothing to keep");
    assert!(!checkout.path("my/four-loads.3.cu").exists());
}

#[test]
fn an_edited_copy_without_a_compiler_names_the_setup() {
    let checkout = chapter();
    let said = checkout.tries(1, "// mine\n");
    if said.contains("✗ compiles") {
        println!("skipped: this machine has an NVRTC of its own");
        return;
    }
    assert_eq!(
        said,
        "error: my/four-loads.cu must be compiled, because it is no longer the starter, but no NVRTC was found: run \
         `cargo course setup` once to install it\n"
    );
}

#[cfg(unix)]
#[test]
fn what_the_compiler_says_has_file_and_line() {
    let checkout = chapter();
    if !checkout.has_compiler() {
        return;
    }
    let starter = checkout.kernel("exercises/four-loads");
    let line = starter.lines().position(|line| line.contains("sums[tid] = sum;")).unwrap() + 2;
    let said = checkout.tries(1, &starter.replace("sums[tid] = sum;", "sums[tid] = sum"));
    assert!(said.contains("✗ compiles and loads"), "{said}");
    assert!(said.contains(&format!("my/four-loads.cu({line}): error: expected a \";\"")), "{said}");

    let said = checkout.tries(1, &starter.replace("four_loads_f32", "five_loads_f32"));
    assert!(said.contains("there is no kernel four_loads_f32 (but four_loads_i32 and five_loads_f32)"), "{said}");

    let said = checkout.tries(1, "\n");
    assert!(said.contains("there is no kernel four_loads_i32: keep"), "{said}");
}

#[cfg(unix)]
#[test]
fn printf_and_warnings_are_shown_and_a_header_of_the_host_is_explained() {
    let checkout = chapter();
    if !checkout.has_compiler() {
        return;
    }
    let wrong = checkout.kernel("wrong/four-loads-one-guard");
    let call = "    four_loads(in, out, n);";
    let talks = format!("    int unused;\n    if (threadIdx.x == 3) printf(\"n is %u\\n\", n);\n{call}");
    let talks = wrong.replacen(call, &talks, 1);
    let said = checkout.tries(1, &talks);
    for what in ["the compiler warns:", "\"unused\" was declared but never referenced", "printf in this case:\nn is "] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let said = checkout.tries(1, &format!("#include <cstdio>\n{talks}"));
    assert!(said.contains("printf in this case:\nn is "), "a header out of habit: {said}");
    let said = checkout.tries(1, &format!("#include <iostream>\n{talks}"));
    assert!(said.contains("`printf` needs none: leave the #include out"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_loop_without_an_end_is_reported() {
    let checkout = chapter();
    if !checkout.has_compiler() {
        return;
    }
    let solution = checkout.kernel("solutions/four-loads");
    let said = checkout.tries(1, &solution.replace("s /= 2", "s /= 1"));
    assert!(said.contains("error[step-budget]") && said.contains("--> my/four-loads.cu:"), "{said}");
}

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn watching_asks_and_goes_on() {
    let checkout = chapter();
    let mut watch = checkout.command(&["watch"]);
    let mut watch = Running(watch.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    // A wrong answer, nonsense, the right one; the second question is left for later; the input ends.
    watch.0.stdin.take().unwrap().write_all(b"16\nmany\n8\n\n").unwrap();
    for said in [
        "not yet: That is one element",
        "`many` is no whole number",
        "right: A block takes 128",
        "ch04-first-add: Which two?",
    ] {
        assert!(lines.any(|line| line.starts_with(said)), "{said}");
    }
    assert!(lines.any(|line| line.starts_with("not yet. Edit my/four-loads.cu and save it")));
    assert!(checkout.says(0, &["progress"]).contains("1 of 6 solved"));
}

#[test]
fn watching_judges_what_is_saved() {
    let checkout = chapter();
    let mut watch = Running(checkout.command(&["watch"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("not yet. Edit my/four-loads.cu and save it")));
    checkout.write(COPY, &checkout.kernel("solutions/four-loads"));
    assert!(lines.any(|line| line.starts_with("solved.")));
    checkout.write(COPY, &checkout.kernel("wrong/four-loads-one-guard"));
    assert!(lines.any(|line| line.starts_with("fails first at n = 1")));
}
