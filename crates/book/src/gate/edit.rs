//! Edit and run, end to end: a server as `--serve` starts it, NVRTC, and Chromium. A reader's text compiles or does not, runs, and is
//! right or wrong at its lines; who is no page of the server is refused; what is answered in a page counts in the terminal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use course::{exercise, show, workspace};
use device::nvrtc::Nvrtc;

use super::browser;
use super::{Scene, Verdict, built_site};
use crate::book::serve::{House, http};

/// Elements of the trace.
const N: u64 = 256;
/// For one text. The course's kernels take a second; the one that is to be stopped takes an hour.
const COMPILE_LIMIT: Duration = Duration::from_secs(20);
/// Folders of a reader's workspace that the server reads: copied here, since no check touches a reader's files.
const COPIED: [&str; 2] = ["chapters", "kernels"];

/// Runs the check.
pub fn check(scene: &Scene, chromium: &Path) -> Result<Verdict> {
    if Nvrtc::find(&scene.root).is_err() {
        if scene.is_ci {
            bail!("no NVRTC, and CI compiles what a page sends: `cargo course setup`");
        }
        return Ok(Verdict::Skip("no NVRTC on this machine: `cargo course setup` installs it".to_owned()));
    }
    let pictures = scene.root.join("target/gate/edit");
    let reader = copy(&scene.root, &pictures.join("reader"))?;
    let site = built_site(&scene.root)?;
    let listener = http::listen(0)?;
    let (address, port) = (http::address(&listener)?, listener.local_addr()?.port());
    let house = House::new(&reader, site.clone(), port, COMPILE_LIMIT)?;
    // The thread ends with the program; it holds nothing but a port.
    std::thread::spawn(move || http::serve(listener, House::limits(), move |request| house.answer(request)));
    let pages = [
        show::write(&scene.root, &exercise::scene::named(&reader, "four-loads")?.data)?,
        show::write(&scene.root, &show::trace(&trace(&scene.root, &pictures)?)?)?,
    ];
    let args = [Path::new(&address), &site, chromium, &pictures, &pages[0], &pages[1]];
    let last = browser::last_words(scene, "edit.mjs", &args)?;
    let solved = exercise::solved(&reader)?;
    if solved != ["half-the-blocks"] {
        bail!("the page answered half-the-blocks, and the terminal knows of {solved:?}");
    }
    Ok(Verdict::Pass(last.trim().to_owned()))
}

/// A file as `--trace` writes it, of two blocks that sum 0, 1, 2, ….
fn trace(root: &Path, folder: &Path) -> Result<PathBuf> {
    let name = "kernels/ptx/ch03-sequential.ptx";
    let ptx = workspace::read(root, name)?;
    let kernel = simt::Program::load(name, &ptx)?.kernel("sequential_i32")?;
    let mut memory = simt::Memory::default();
    let input = memory.alloc("in", 4 * N, 4)?;
    memory.write(input, &(0..N as u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>())?;
    let output = memory.alloc("out", 8, 4)?;
    let n = simt::Arg::Bytes((N as u32).to_le_bytes().to_vec());
    let args = vec![simt::Arg::Address(input), simt::Arg::Address(output), n];
    let launch = simt::Launch {
        grid: [2, 1, 1],
        block: [128, 1, 1],
        shared_bytes: 0,
        cooperative: false,
        cluster: None,
        device: 0,
        args,
    };
    let recorded = simt::trace::Options { blocks: 2, ..Default::default() };
    let options = simt::Options { trace: Some(recorded), ..Default::default() };
    let trace = simt::run(&kernel, &mut memory, &launch, &options)?.trace.context("a trace")?;
    let path = folder.join("two-blocks.json");
    std::fs::write(&path, serde_json::to_vec(&trace)?).context("cannot write a trace")?;
    Ok(path)
}

/// A workspace of its own, for the progress that the page makes; what an earlier run left in it is gone.
fn copy(root: &Path, to: &Path) -> Result<PathBuf> {
    if to.exists() {
        std::fs::remove_dir_all(to).with_context(|| format!("cannot empty `{}`", workspace::name(root, to)))?;
    }
    for folder in COPIED {
        for file in workspace::walk(&root.join(folder))? {
            let copy = to.join(file.strip_prefix(root).unwrap_or(&file));
            let parent = copy.parent().unwrap_or(to);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::copy(&file, &copy))
                .with_context(|| format!("cannot copy `{}`", workspace::name(root, &file)))?;
        }
    }
    Ok(to.to_path_buf())
}
