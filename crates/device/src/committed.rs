//! Committed PTX: which targets a lesson has PTX of, and what is left out of it.
//!
//! `<slug>.ptx` is for the oldest target that the `.cu` names, and `<slug>.compute_90.ptx` has the entries alone that a newer one
//! needs or makes differently. Comments, indentation, variables that no entry uses and names of inlined functions are left out:
//! nothing reads them, and they are a third of what NVRTC writes. Large files are folded ([`ptx::fold`]).

use std::borrow::Cow;
use std::path::PathBuf;

use ptx::Index;

use crate::nvrtc::Nvrtc;
use crate::stamp::Stamp;
use crate::{Error, KernelSource};

/// Target of the committed PTX: the oldest one that has every instruction of most lessons.
pub(crate) const COMMITTED_TARGET: &str = "compute_80";

/// Begins the line of a `.cu`'s head that names other targets, where a lesson needs them: `// Target. compute_90: why`, or
/// `// Target. compute_90, and compute_80 without this or that` for PTX of each.
pub(crate) const TARGET_MARK: &str = "// Target.";

/// Targets of the committed PTX of a `.cu` with this text, oldest first: one, mostly.
pub(crate) fn committed_targets(cu_text: &str) -> Vec<&str> {
    let line = cu_text.lines().find_map(|line| line.strip_prefix(TARGET_MARK)).unwrap_or_default();
    let words = line.split([' ', ':', ',', '.']);
    let mut targets: Vec<&str> = words.filter(|word| word.starts_with("compute_")).collect();
    targets.sort_by_key(|target| capability(target));
    if targets.is_empty() { vec![COMMITTED_TARGET] } else { targets }
}

/// 90 for `compute_90`.
fn capability(target: &str) -> u32 {
    target.trim_start_matches("compute_").parse().unwrap_or(u32::MAX)
}

/// Targets whose PTX a device of this compute capability, 90 for 9.0, can take, oldest first; of all where that is not known.
/// Where nothing fits it is the oldest, and the driver will say so.
pub(crate) fn targets_for(cu_text: &str, arch: Option<u32>) -> Vec<&str> {
    let mut targets = committed_targets(cu_text);
    let fits = targets.iter().take_while(|target| arch.is_none_or(|arch| capability(target) <= arch)).count();
    targets.truncate(fits.max(1));
    targets
}

/// The newest of them.
pub(crate) fn committed_target(cu_text: &str, arch: Option<u32>) -> &str {
    targets_for(cu_text, arch).pop().unwrap_or(COMMITTED_TARGET)
}

/// Size from which PTX of a lesson is committed folded, and that of exercises, answers and mistakes. Smaller files stay PTX that every
/// tool takes.
const FOLDED_FROM_BYTES: [usize; 2] = [100_000, 4_000];

/// Options that make PTX of a `.cu` with this text for the simulator: its newest target, and the line information that counters
/// and findings need.
pub fn committed_options(cu_text: &str) -> Vec<String> {
    options(committed_target(cu_text, None))
}

pub(crate) fn options(target: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={target}"), "--generate-line-info".to_string()]
}

/// Compiles the lesson's `.cu` into its committed PTX: the files, and the text of each, stamp included. The same text comes out on
/// every machine that has the same release of NVRTC.
///
/// # Errors
/// [`Error::Unreadable`], [`Error::Compile`], [`Error::Nvrtc`].
pub fn compile_committed(nvrtc: &Nvrtc, source: &KernelSource) -> Result<Vec<(PathBuf, String)>, Error> {
    let cu_text = source.read_cu()?;
    let mut made: Vec<(PathBuf, String)> = Vec::new();
    for (target, path) in source.files()? {
        let whole = nvrtc.compile(&source.cu_name(), &cu_text, &options(&target))?;
        let compiler = release_of(&whole).unwrap_or_else(|| nvrtc.name());
        let ptx = squeezed(&made.first().map_or(Cow::Borrowed(&*whole), |(_, base)| beyond(&whole, base).into()));
        let stamp = Stamp::new(&cu_text, compiler, options(&target).join(" "), &ptx);
        made.push((path, stamp.write() + &ptx));
    }
    let folded = |(path, ptx): (PathBuf, String)| {
        let is_lesson = path.parent().is_some_and(|folder| folder.ends_with("ptx"));
        let is_small = ptx.len() < FOLDED_FROM_BYTES[usize::from(!is_lesson)];
        (path, if is_small { ptx } else { ptx::fold(&ptx::unnumbered(&ptx)) })
    };
    Ok(made.into_iter().map(folded).collect())
}

/// PTX without the entries whose code `base` has, for an older target. If the two number their files differently, nothing is left
/// out: line information names files by number.
fn beyond(ptx: &str, base: &str) -> String {
    let files = |text: &str| {
        let lines = text.lines().filter(|line| line.trim_start().starts_with(".file"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let known = files(ptx);
    if !files(base).iter().all(|file| known.contains(file)) {
        return ptx.to_owned();
    }
    let (index, older) = (Index::new(ptx), Index::new(base).codes(base));
    let codes = index.codes(ptx);
    let own = index.entries(ptx).into_iter().filter(|&entry| older.get(entry) != codes.get(entry));
    index.only(ptx, &own.collect::<Vec<_>>())
}

/// PTX without what nothing reads, one statement a line.
fn squeezed(ptx: &str) -> String {
    let index = Index::new(ptx);
    let mut out = String::with_capacity(ptx.len());
    for line in index.only(ptx, &index.entries(ptx)).lines() {
        // A name in quotation marks may hold anything.
        let code =
            if line.trim_start().starts_with(".file") { line } else { line.split("//").next().unwrap_or_default() };
        let mut words = code.split_whitespace().peekable();
        let is_line = words.peek() == Some(&".loc");
        while let Some(word) = words.next() {
            if is_line && word == "function_name" {
                words.next();
                continue;
            }
            out.push_str(word);
            out.push(if words.peek().is_some() { ' ' } else { '\n' });
        }
    }
    out
}

/// `NVRTC 12.1.105`: the head comment of the PTX has all three numbers, NVRTC's own version function only two.
fn release_of(ptx: &str) -> Option<String> {
    let line = ptx.lines().find(|line| line.starts_with("// Cuda compilation tools"))?;
    let (_, release) = line.rsplit_once(", V")?;
    Some(format!("NVRTC {}", release.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_name_the_target() {
        assert_eq!(committed_options("// Idea.   none\n")[0], "--gpu-architecture=compute_80");
        assert_eq!(committed_options("// Target. compute_90: clusters\n")[0], "--gpu-architecture=compute_90");
        assert_eq!(
            committed_options("// Target. compute_90, and compute_80 too.\n")[0],
            "--gpu-architecture=compute_90"
        );
    }

    #[test]
    fn a_device_gets_what_it_can_take() {
        let both = "// Target. compute_90, and compute_80 without overlap.\n";
        assert_eq!(targets_for(both, None), ["compute_80", "compute_90"]);
        assert_eq!(targets_for(both, Some(100)), ["compute_80", "compute_90"]);
        assert_eq!((targets_for(both, Some(89)), committed_target(both, Some(75))), (vec!["compute_80"], "compute_80"));
        assert_eq!(targets_for("// Target. compute_90: clusters\n", Some(80)), ["compute_90"]);
    }

    #[test]
    fn what_nothing_reads_is_left_out() {
        let ptx = "//\n// Generated\n\n.version 8.1\n.target sm_80\n.address_size 64\n\n\t// .globl\ta\n.global .align 1 .u8 unused = 1;\n\
            .visible .entry a(\n\t.param .u64 p\n)\n{\n\t.loc\t1 5 5, function_name $L__info_string12, inlined_at 1 9 1\n\n\
            \t// begin inline asm\n\tmov.u32 \t%r1, 1;\n\t// end inline asm\n\tret;\n\n}\n\t.file\t1 \"a//b.cu\"\n\
            \t.section\t.debug_str\n\t{\n$L__info_string12:\n.b8 95,0\n\n\t}\n";
        let short = squeezed(ptx);
        assert_eq!(
            short,
            ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry a(\n.param .u64 p\n)\n{\n\
             .loc 1 5 5, inlined_at 1 9 1\nmov.u32 %r1, 1;\nret;\n}\n.file 1 \"a//b.cu\"\n"
        );
        assert_eq!(squeezed(&short), short);
        assert_eq!(crate::entry_hashes(&short), crate::entry_hashes(ptx));
    }

    #[test]
    fn a_newer_target_keeps_what_the_older_one_lacks() {
        let entry = |name: &str, code: &str| format!(".visible .entry {name}()\n{{\n{code};\n}}\n");
        let file =
            |target: &str, entries: &[String], files: &str| format!(".target {target}\n{}{files}", entries.concat());
        let base = file("sm_80", &[entry("a", "ret"), entry("b", "ret")], ".file 1 \"a.cu\"\n");
        let entries = [entry("a", "ret"), entry("b", "exit"), entry("c", "ret")];
        let names = |ptx: &str| Index::new(ptx).entries(ptx).join(" ");
        let newer = file("sm_90", &entries, ".file 1 \"a.cu\"\n.file 2 \"b.h\"\n");
        assert_eq!(names(&beyond(&newer, &base)), "b c");
        assert_eq!(names(&beyond(&file("sm_90", &entries, ".file 1 \"b.h\"\n"), &base)), "a b c", "other numbers");
    }
}
