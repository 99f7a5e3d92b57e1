//! `cargo course ptx`: compiles every kernel with the pinned NVRTC into the committed PTX, or compares.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use device::nvrtc::{Nvrtc, pinned};
use device::{KernelSource, Stamp, compile_committed, entry_hashes, up_to_date};

use crate::ensure::{Mode, ensure};
use crate::findings::Findings;
use crate::lessons;
use crate::share::{self, Piece};
use crate::{exercise, workspace};

/// Sources that decide what PTX is made of a kernel.
const MAKERS: [&str; 4] =
    ["crates/device/src/committed.rs", "crates/device/src/nvrtc", "crates/ptx/src/fold.rs", "crates/ptx/src/index.rs"];

/// Options of `cargo course ptx`.
#[derive(clap::Args)]
pub struct Options {
    /// Compare with the committed PTX and write nothing
    #[arg(long)]
    check: bool,
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    if options.check {
        println!("fresh: {}", check(&root)?.verdict()?);
        return Ok(());
    }
    for (path, text) in exercise::written_out(&root)? {
        ensure(&root, &path, &text, Mode::Write, COMMAND)?;
    }
    let kernels = kernels(&root)?;
    ensure!(!kernels.is_empty(), "found no kernels/*.cu: nothing to compile");
    let nvrtc = find_pinned(&root)?;
    for kernel in &kernels {
        for (ptx, text) in compile(&nvrtc, kernel)? {
            let written = ensure(&root, &ptx, &text, Mode::Write, COMMAND)?;
            println!("{} {}", if written { "wrote    " } else { "unchanged" }, workspace::name(&root, &ptx));
        }
    }
    Ok(())
}

const COMMAND: &str = "cargo course ptx";

/// The pinned NVRTC. Another release makes other PTX, so that it is refused even where it would work.
pub fn find_pinned(root: &Path) -> Result<Nvrtc> {
    let nvrtc = Nvrtc::find(root)?;
    ensure!(
        nvrtc.version() == pinned::VERSION,
        "{} (found in {}) is not {}, which makes the committed PTX: run `cargo course setup`",
        nvrtc.name(),
        nvrtc.place(),
        pinned::NAME
    );
    Ok(nvrtc)
}

/// Recompiles every kernel and compares with what is committed.
pub fn check(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("kernels");
    compare_all(root, &kernels(root)?, &mut findings)?;
    findings.problems.extend(orphans(root)?);
    Ok(findings)
}

/// Compares the stamps of all kernels, and recompiles those that this commit has changed and a share of the others, which its hash
/// picks: a stamp that was forged together with its PTX is found by one of the next commits. Where git does not say what the commit has
/// changed, or where it has changed what makes PTX of a kernel, every kernel is recompiled.
pub fn check_share(root: &Path) -> Result<Findings> {
    let mut kernels = kernels(root)?;
    let pieces = kernels.iter().map(|kernel| piece(root, kernel)).collect::<Result<Vec<Piece>>>()?;
    let Some((chosen, words)) = share::of(root, pieces, &MAKERS) else { return check(root) };
    let mut findings = check_stamps(root)?;
    kernels.retain(|kernel| chosen.contains(&workspace::name(root, &kernel.cu)));
    let mut recompiled = Findings::new("kernels");
    compare_all(root, &kernels, &mut recompiled)?;
    recompiled
        .problems
        .extend(kernels.is_empty().then(|| "no kernel is in the share: nothing was recompiled".to_owned()));
    findings.problems.extend(recompiled.problems);
    findings.notes.push(format!("recompiled {words}"));
    Ok(findings)
}

/// A kernel and its PTX, by the bytes that are compiled: once for each of its targets, whatever is committed of the newer ones.
fn piece(root: &Path, kernel: &KernelSource) -> Result<Piece> {
    let name = workspace::name(root, &kernel.cu);
    let files = kernel.files()?;
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let largest = files.iter().map(|(_, ptx)| bytes(ptx)).max().unwrap_or(0);
    let weight = largest * files.len() as u64;
    let own = files.iter().map(|(_, ptx)| workspace::name(root, ptx)).chain([name.clone()]).collect();
    Ok(Piece { name, weight, files: own })
}

fn compare_all(root: &Path, kernels: &[KernelSource], findings: &mut Findings) -> Result<()> {
    let nvrtc = find_pinned(root)?;
    for kernel in kernels {
        let cu = kernel.read_cu()?;
        for (ptx, made) in compile(&nvrtc, kernel)? {
            findings.examined += 1;
            findings.problems.extend(compare(root, &ptx, &made, &cu).err().map(|error| format!("{error:#}")));
        }
    }
    Ok(())
}

/// Fails if the committed PTX is not what the compiler makes today. Comments that have come since then count as little as they
/// do where the PTX is loaded.
fn compare(root: &Path, ptx: &Path, made: &str, cu: &str) -> Result<()> {
    let text = std::fs::read_to_string(ptx).unwrap_or_default();
    let full = ptx::unfold(made);
    let is_folded_alike = (text.len() == ptx::unfold(&text).len()) == (made.len() == full.len());
    let committed = up_to_date(text, cu).unwrap_or_default();
    let code =
        |ptx: &str| ptx.split_inclusive('\n').skip_while(|line| line.starts_with("// course: ")).collect::<String>();
    if !is_folded_alike || code(&committed) != code(&full) {
        ensure(root, ptx, made, Mode::Check, COMMAND)?;
    }
    Ok(())
}

/// Compares stamps alone, which needs no compiler: whether the committed PTX says that it was made from these kernels
/// by the pinned compiler.
pub fn check_stamps(root: &Path) -> Result<Findings> {
    let mut findings = Findings::new("stamps");
    for kernel in kernels(root)? {
        for (_, ptx) in kernel.files()? {
            findings.examined += 1;
            findings.problems.extend(stamp_problem(root, &kernel, &ptx)?);
        }
    }
    findings.problems.extend(orphans(root)?);
    Ok(findings)
}

fn stamp_problem(root: &Path, kernel: &KernelSource, ptx: &Path) -> Result<Option<String>> {
    let name = workspace::name(root, ptx);
    if !ptx.exists() {
        return Ok(Some(format!("{name}: missing: run `{COMMAND}` and commit the result")));
    }
    let ptx = workspace::read(root, ptx)?;
    Ok(match Stamp::parse(&ptx) {
        None => Some(format!("{name}: has no stamp: run `{COMMAND}` and commit the result")),
        Some(stamp) if !stamp.is_of(&kernel.read_cu()?) => {
            Some(format!("{name}: {} was edited after it was made: run `{COMMAND}`", kernel.cu_name()))
        }
        Some(stamp) if stamp.compiler != pinned::NAME => {
            Some(format!("{name}: made by {} instead of {}: run `{COMMAND}`", stamp.compiler, pinned::NAME))
        }
        Some(stamp) if stamp.entries != entry_hashes(&ptx) => {
            Some(format!("{name}: its code is not what its stamp says: run `{COMMAND}`"))
        }
        Some(_) => None,
    })
}

fn compile(nvrtc: &Nvrtc, kernel: &KernelSource) -> Result<Vec<(PathBuf, String)>> {
    let made = compile_committed(nvrtc, kernel)?;
    let compiler = Stamp::parse(&made[0].1).map(|stamp| stamp.compiler).unwrap_or_default();
    ensure!(
        compiler == pinned::NAME,
        "{compiler} (found in {}) is not {}: run `cargo course setup`",
        nvrtc.place(),
        pinned::NAME
    );
    Ok(made)
}

/// Every kernel: the lessons', then the asides and mistakes that their pages show and the exercises'.
fn kernels(root: &Path) -> Result<Vec<KernelSource>> {
    let slugs = file_stems(&root.join("kernels"), "cu")?;
    let mut kernels: Vec<KernelSource> = slugs.iter().map(|slug| KernelSource::in_root(root, slug)).collect();
    for folder in side_folders(root) {
        kernels.extend(file_stems(&folder, "cu")?.iter().map(|name| workspace::kernel(&folder, name)));
    }
    Ok(kernels)
}

/// PTX whose kernel, or whose target in it, is gone.
fn orphans(root: &Path) -> Result<Vec<String>> {
    let mut made = Vec::new();
    for kernel in kernels(root)? {
        made.extend(kernel.files()?.into_iter().map(|(_, ptx)| ptx));
    }
    let folders = std::iter::once(root.join("kernels/ptx")).chain(side_folders(root));
    let mut problems = Vec::new();
    for folder in folders {
        for name in file_stems(&folder, "ptx")? {
            let ptx = folder.join(name + ".ptx");
            if !made.contains(&ptx) {
                problems.push(format!("{}: its kernel is gone: delete it", workspace::name(root, &ptx)));
            }
        }
    }
    Ok(problems)
}

/// The page before the chapters, whose kernels and their PTX lie with it.
const FIRST: &str = "book/src/first-kernel";
/// Folders of chapters where a kernel lies beside its PTX: asides and mistakes that pages show, and what belongs to exercises.
const SIDE_FOLDERS: [&str; 6] = ["asides", "tests/mistakes", "exercises", "solutions", "wrong", "choices"];

/// The chapters' side folders that exist.
fn side_folders(root: &Path) -> Vec<PathBuf> {
    let of = |slug: &str| SIDE_FOLDERS.map(|folder| root.join("chapters").join(slug).join(folder));
    let folders = lessons::slugs().flat_map(of);
    folders.chain([root.join(FIRST)]).filter(|folder| folder.is_dir()).collect()
}

/// Names of the files directly in `folder` that end in `.extension`, without it, sorted.
fn file_stems(folder: &Path, extension: &str) -> Result<Vec<String>> {
    let end = format!(".{extension}");
    let names = workspace::names(folder)?;
    let mut stems: Vec<String> = names.iter().filter_map(|name| Some(name.strip_suffix(&end)?.to_owned())).collect();
    stems.sort();
    Ok(stems)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.1\n.visible .entry a()\n{\n\tret;\n}\n";

    /// A tree with one kernel and PTX that was made from `made_from` by `compiler`.
    fn tree(made_from: &str, compiler: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| lab::record::write(&dir.path().join(name), text).unwrap();
        put("kernels/ch01-a.cu", "now\n");
        let options = "--gpu-architecture=compute_80".to_owned();
        let stamp = Stamp::new(made_from, compiler.to_owned(), options, PTX);
        put("kernels/ptx/ch01-a.ptx", &(stamp.write() + PTX));
        dir
    }

    #[test]
    fn a_fresh_stamp_passes_and_a_stale_one_names_the_command() {
        assert_eq!(check_stamps(tree("now\n", pinned::NAME).path()).unwrap().verdict().unwrap(), "1 stamps");
        let stale = check_stamps(tree("then\n", pinned::NAME).path()).unwrap().verdict().unwrap_err().to_string();
        assert_eq!(
            stale,
            "kernels/ptx/ch01-a.ptx: kernels/ch01-a.cu was edited after it was made: run `cargo course ptx`"
        );
        let commented = tree("now // and why\n", pinned::NAME);
        assert_eq!(check_stamps(commented.path()).unwrap().verdict().unwrap(), "1 stamps", "a comment is no code");
        let by_hand = tree("now\n", pinned::NAME);
        let ptx = by_hand.path().join("kernels/ptx/ch01-a.ptx");
        std::fs::write(&ptx, std::fs::read_to_string(&ptx).unwrap().replace("\tret;", "\tret;\n\tret;")).unwrap();
        let problems = check_stamps(by_hand.path()).unwrap().problems;
        assert!(problems[0].contains("its code is not what its stamp says"), "{problems:?}");
        let other = check_stamps(tree("now\n", "NVRTC 13.0.88").path()).unwrap().verdict().unwrap_err().to_string();
        assert!(other.contains("made by NVRTC 13.0.88 instead of"), "{other}");
    }

    #[test]
    fn what_makes_ptx_is_known() {
        for maker in MAKERS {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(maker).exists(), "{maker} is gone");
        }
    }

    #[test]
    fn a_kernel_is_weighed_by_its_ptx_and_known_by_its_files() {
        let dir = tree("now\n", pinned::NAME);
        let kernel = kernels(dir.path()).unwrap().remove(0);
        let piece = piece(dir.path(), &kernel).unwrap();
        assert_eq!((piece.name.as_str(), piece.weight > 0), ("kernels/ch01-a.cu", true));
        assert_eq!(piece.files, ["kernels/ptx/ch01-a.ptx", "kernels/ch01-a.cu"]);
    }

    #[test]
    fn missing_unstamped_and_orphaned_ptx_is_named() {
        let dir = tree("now\n", pinned::NAME);
        let ptx = dir.path().join("kernels/ptx/ch01-a.ptx");
        std::fs::write(&ptx, ".version 8.1\n").unwrap();
        std::fs::write(dir.path().join("kernels/ptx/ch09-z.ptx"), "").unwrap();
        let problems = check_stamps(dir.path()).unwrap().problems;
        assert!(problems[0].starts_with("kernels/ptx/ch01-a.ptx: has no stamp"), "{problems:?}");
        assert_eq!(problems[1], "kernels/ptx/ch09-z.ptx: its kernel is gone: delete it");
        std::fs::remove_file(ptx).unwrap();
        assert!(check_stamps(dir.path()).unwrap().problems[0].contains("missing"));
    }

    #[test]
    fn no_kernels_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_stamps(dir.path()).unwrap().verdict().unwrap_err().to_string().contains("found no stamps"));
    }
}
