//! A lesson's files: where `kernels/<slug>.cu` and its committed PTX are, and whether the two still belong together.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::nvrtc::Nvrtc;
use crate::stamp::{Stamp, entry_hashes, up_to_date};

/// Target of the committed PTX: the oldest one that has every instruction of most lessons.
pub(crate) const COMMITTED_TARGET: &str = "compute_80";

/// Begins the line of a `.cu`'s head that names other targets, where a lesson needs them: `// Target. compute_90: why`, or
/// `// Target. compute_90, and compute_80 without this or that` for PTX of each, the lesson's own first.
pub(crate) const TARGET_MARK: &str = "// Target.";

/// Returns the targets of the committed PTX of a `.cu` with this text: one, mostly.
fn committed_targets(cu_text: &str) -> Vec<&str> {
    let line = cu_text.lines().find_map(|line| line.strip_prefix(TARGET_MARK)).unwrap_or_default();
    let words = line.split([' ', ':', ',', '.']);
    let targets: Vec<&str> = words.filter(|word| word.starts_with("compute_")).collect();
    if targets.is_empty() { vec![COMMITTED_TARGET] } else { targets }
}

/// The first of these targets: what most devices and the simulator get.
pub(crate) fn committed_target(cu_text: &str) -> &str {
    committed_targets(cu_text)[0]
}

/// Options that make the committed PTX of a `.cu` with this text: its first target, and the line information that counters
/// and findings need.
pub fn committed_options(cu_text: &str) -> Vec<String> {
    options(committed_target(cu_text))
}

fn options(target: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={target}"), "--generate-line-info".to_string()]
}

/// One lesson's kernels: the slug names `kernels/<slug>.cu` and `kernels/ptx/<slug>.ptx`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    /// `ch05-unroll`
    pub slug: String,
    /// The CUDA file.
    pub cu: PathBuf,
    /// The committed PTX.
    pub ptx: PathBuf,
}

impl KernelSource {
    /// Finds `kernels/<slug>.cu` and its PTX: from the current directory upwards, else in `fallback_root` (the source
    /// tree that the program was built from).
    ///
    /// # Errors
    /// [`Error::BadSlug`], [`Error::NoKernelFile`]. Missing PTX is no error here: it can be compiled.
    pub fn find(slug: &str, fallback_root: &Path) -> Result<KernelSource, Error> {
        let start = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        KernelSource::find_from(&start, slug, fallback_root)
    }

    /// [`KernelSource::find`] from `start` instead of the current directory.
    ///
    /// # Errors
    /// Those of [`KernelSource::find`].
    pub fn find_from(start: &Path, slug: &str, fallback_root: &Path) -> Result<KernelSource, Error> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if slug.is_empty() || slug.starts_with('-') || !slug.chars().all(letters) {
            return Err(Error::BadSlug { slug: slug.to_string() });
        }
        start
            .ancestors()
            .chain([fallback_root])
            .map(|root| KernelSource::in_root(root, slug))
            .find(|source| source.cu.is_file())
            .ok_or_else(|| Error::NoKernelFile {
                slug: slug.to_string(),
                start: start.to_path_buf(),
                fallback: fallback_root.to_path_buf(),
            })
    }

    /// The files of `slug` in the source tree `root`, whether they exist or not.
    pub fn in_root(root: &Path, slug: &str) -> KernelSource {
        let kernels = root.join("kernels");
        KernelSource {
            slug: slug.to_string(),
            cu: kernels.join(format!("{slug}.cu")),
            ptx: kernels.join("ptx").join(format!("{slug}.ptx")),
        }
    }

    /// The source tree that the lesson is in: the nearest folder above the `.cu` that holds `kernels`, else the folder
    /// of the `.cu`.
    pub fn root(&self) -> &Path {
        let folder = self.cu.parent().unwrap_or(Path::new("."));
        folder.ancestors().find(|folder| folder.join("kernels").is_dir()).unwrap_or(folder)
    }

    /// The lesson with the PTX file of each target that its `.cu` names: `<slug>.ptx` for the first, `<slug>.compute_80.ptx`
    /// for another.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn for_targets(&self) -> Result<Vec<(String, KernelSource)>, Error> {
        let text = self.read_cu()?;
        let with_target = |(i, target): (usize, &str)| {
            let ptx = if i == 0 { self.ptx.clone() } else { self.ptx.with_extension(format!("{target}.ptx")) };
            (target.to_owned(), KernelSource { ptx, ..self.clone() })
        };
        Ok(committed_targets(&text).into_iter().enumerate().map(with_target).collect())
    }

    /// The lesson with the PTX file that a GPU of this compute capability, 90 for 9.0, can take.
    pub(crate) fn for_arch(&self, arch: u32) -> Result<KernelSource, Error> {
        let number = |target: &str| target.trim_start_matches("compute_").parse::<u32>().unwrap_or(u32::MAX);
        let fits = self.for_targets()?.into_iter().find(|(target, _)| number(target) <= arch);
        Ok(fits.map_or_else(|| self.clone(), |(_, source)| source))
    }

    /// Hash of each entry's code in the committed PTX, by name; of one that stands there for several targets, of the first.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn entry_hashes(&self) -> Result<BTreeMap<String, String>, Error> {
        let targets = if self.cu.is_file() { self.for_targets()? } else { vec![(String::new(), self.clone())] };
        let mut hashes = BTreeMap::new();
        for (_, source) in targets.into_iter().rev() {
            hashes.extend(stamped_hashes(&source.ptx)?);
        }
        Ok(hashes)
    }

    /// The `.cu` as messages, line information and NVRTC name it: `kernels/ch05-unroll.cu`, the same on every machine.
    pub fn cu_name(&self) -> String {
        relative_name(&self.cu, self.root())
    }

    /// The committed PTX as messages name it: `kernels/ptx/ch05-unroll.ptx`.
    pub fn ptx_name(&self) -> String {
        relative_name(&self.ptx, self.root())
    }

    /// The text of the `.cu`.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn read_cu(&self) -> Result<String, Error> {
        read(&self.cu)
    }

    /// The committed PTX with line numbers of this `.cu`, if it was made from its code, else why it cannot be used.
    ///
    /// # Errors
    /// The reason, for a sentence that begins with the name of the `.cu`.
    pub fn read_ptx(&self, cu_text: &str) -> Result<String, String> {
        let name = self.ptx_name();
        let text = match read(&self.ptx) {
            Ok(text) => text,
            Err(Error::Unreadable { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!("{name} is not there"));
            }
            Err(error) => return Err(error.to_string()),
        };
        if Stamp::parse(&text).is_none() {
            return Err(format!("{name} does not say which source it was made from"));
        }
        up_to_date(text, cu_text).ok_or_else(|| format!("it was changed after {name} was made"))
    }
}

/// `path` below `root` with forward slashes, or the whole path where it is not below.
fn relative_name(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn read(path: &Path) -> Result<String, Error> {
    // PTX and CUDA files that are not UTF-8 are still files: the parser says what is wrong with them, at which line.
    let bytes = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.to_path_buf(), source })?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Hash of each entry's code in the PTX of all lessons of a source tree, by name.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn all_entry_hashes(root: &Path) -> Result<BTreeMap<String, String>, Error> {
    let folder = root.join("kernels");
    let unreadable = |source| Error::Unreadable { path: folder.clone(), source };
    let mut hashes = BTreeMap::new();
    // A tree that holds records alone has none.
    if !folder.is_dir() {
        return Ok(hashes);
    }
    for file in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let slug = path.file_stem().filter(|_| path.extension().is_some_and(|extension| extension == "cu"));
        if let Some(slug) = slug {
            hashes.extend(KernelSource::in_root(root, &slug.to_string_lossy()).entry_hashes()?);
        }
    }
    Ok(hashes)
}

/// The hashes in the head of a PTX file, of which no more is read; without a stamp those of its text; none without the file.
fn stamped_hashes(ptx: &Path) -> Result<BTreeMap<String, String>, Error> {
    let unreadable = |source| Error::Unreadable { path: ptx.to_path_buf(), source };
    let file = match std::fs::File::open(ptx) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        file => file.map_err(unreadable)?,
    };
    let mut head = String::new();
    for line in std::io::BufReader::new(file).lines() {
        let line = line.map_err(unreadable)?;
        if !line.starts_with("// course: ") {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    Ok(match Stamp::parse(&head) {
        Some(stamp) => stamp.entries,
        None => entry_hashes(&read(ptx)?),
    })
}

/// Compiles the lesson's `.cu` into the text of its committed PTX for a target, stamp included. The same text comes out on every
/// machine that has the same release of NVRTC.
///
/// # Errors
/// [`Error::Unreadable`], [`Error::Compile`], [`Error::Nvrtc`].
pub fn compile_committed(nvrtc: &Nvrtc, source: &KernelSource, target: &str) -> Result<String, Error> {
    let cu_text = source.read_cu()?;
    let ptx = without_names(&nvrtc.compile(&source.cu_name(), &cu_text, &options(target))?);
    let compiler = release_of(&ptx).unwrap_or_else(|| nvrtc.name());
    let stamp = Stamp::new(&cu_text, compiler, options(target).join(" "), &ptx);
    Ok(stamp.write() + &ptx)
}

/// PTX without the names of inlined functions, which make up a fifth of it and which nothing reads. ptxas asks for a name beside
/// each `inlined_at`, so that all have the same, empty one.
fn without_names(ptx: &str) -> String {
    const MARK: &str = "function_name $L__info_string";
    let Some((code, _)) = ptx.split_once("\t.section\t.debug_str") else { return ptx.to_owned() };
    let mut parts = code.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("function_name $n");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out + "\t.section\t.debug_str\n\t{\n$n:\n.b8 0\n\n\t}\n"
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
        assert_eq!(committed_targets("// Target. compute_90, and compute_80 too.\n"), ["compute_90", "compute_80"]);
    }

    #[test]
    fn names_of_inlined_functions_are_left_out() {
        let ptx = ".loc 1 5 5, function_name $L__info_string12, inlined_at 1 9 1\nret;\n\t.section\t.debug_str\n\t{\n$L__info_string12:\n.b8 95,0\n\n\t}\n";
        let short =
            ".loc 1 5 5, function_name $n, inlined_at 1 9 1\nret;\n\t.section\t.debug_str\n\t{\n$n:\n.b8 0\n\n\t}\n";
        assert_eq!(without_names(ptx), short);
        assert_eq!(without_names("ret;\n"), "ret;\n");
    }

    #[test]
    fn a_gpu_gets_the_newest_code_that_it_can_take() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("kernels")).unwrap();
        let source = KernelSource::in_root(dir.path(), "ch01-a");
        std::fs::write(&source.cu, "// Target. compute_90, and compute_80 without overlap.\n").unwrap();
        let name = |arch| source.for_arch(arch).unwrap().ptx_name();
        assert_eq!((name(90), name(100)), ("kernels/ptx/ch01-a.ptx".to_owned(), "kernels/ptx/ch01-a.ptx".to_owned()));
        assert_eq!((name(80), name(89)), ("kernels/ptx/ch01-a.compute_80.ptx".to_owned(), name(80)));
        assert_eq!(name(75), source.ptx_name(), "nothing fits, and the driver will say so");
    }
}
