//! A lesson's files: where `kernels/<slug>.cu` and its committed PTX are, and whether the two still belong together.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use ptx::Index;

use crate::Error;
use crate::committed::{committed_targets, targets_for};
use crate::stamp::{Stamp, entry_hashes, up_to_date};

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

    /// Targets that the `.cu` names, oldest first, and the file with the PTX of each: `<slug>.ptx` for the first, and
    /// `<slug>.compute_90.ptx` for what only a newer one has.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn files(&self) -> Result<Vec<(String, PathBuf)>, Error> {
        let text = self.read_cu()?;
        Ok(committed_targets(&text)
            .into_iter()
            .enumerate()
            .map(|(i, target)| (target.to_owned(), self.file(i, target)))
            .collect())
    }

    /// The file with the PTX of a target, the `i`th of its lesson.
    fn file(&self, i: usize, target: &str) -> PathBuf {
        if i == 0 { self.ptx.clone() } else { self.ptx.with_extension(format!("{target}.ptx")) }
    }

    /// Hash of each entry's code in the committed PTX, by name; of one that stands there for several targets, of the newest.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn entry_hashes(&self) -> Result<BTreeMap<String, String>, Error> {
        let files = if self.cu.is_file() { self.files()? } else { vec![(String::new(), self.ptx.clone())] };
        let mut hashes = BTreeMap::new();
        for (_, ptx) in files {
            hashes.extend(stamped_hashes(&ptx)?);
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

    /// The committed PTX that a device of this compute capability, 90 for 9.0, can take, or all of it: one text for each target,
    /// oldest first, with line numbers of this `.cu`, if it was made from its code, else why it cannot be used.
    ///
    /// # Errors
    /// The reason, for a sentence that begins with the name of the `.cu`.
    pub(crate) fn read_parts(&self, cu_text: &str, arch: Option<u32>) -> Result<Vec<Part>, String> {
        let targets = targets_for(cu_text, arch).into_iter().enumerate();
        targets.map(|(i, target)| self.read_part(cu_text, &self.file(i, target))).collect()
    }

    fn read_part(&self, cu_text: &str, ptx: &Path) -> Result<Part, String> {
        let name = relative_name(ptx, self.root());
        let text = match read(ptx) {
            Ok(text) => text,
            Err(Error::Unreadable { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!("{name} is not there"));
            }
            Err(error) => return Err(error.to_string()),
        };
        if Stamp::parse(&text).is_none() {
            return Err(format!("{name} does not say which source it was made from"));
        }
        let text = remembered(ptx, text, cu_text).ok_or_else(|| format!("it was changed after {name} was made"))?;
        Ok(Part { name, text })
    }

    /// The committed PTX as one text, which has each entry once, for the newest target.
    ///
    /// # Errors
    /// The reason why it cannot be used, for a sentence that begins with the name of the `.cu`.
    pub fn read_ptx(&self, cu_text: &str) -> Result<String, String> {
        Ok(joined(&self.read_parts(cu_text, None)?))
    }

    /// [`listing`] of an entry of the committed PTX.
    pub fn listing(&self, entry: &str) -> Vec<String> {
        let text = self.read_cu().ok().and_then(|cu| self.read_ptx(&cu).ok()).unwrap_or_default();
        listing(&text, entry).into_iter().map(str::to_owned).collect()
    }
}

/// [`up_to_date`] of a file's text. Programs load a lesson often and seldom with another text, and unfolding takes longer than
/// comparing with what was unfolded before.
fn remembered(ptx: &Path, text: String, cu_text: &str) -> Option<String> {
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, [String; 3]>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some([_, _, full]) = known.get(ptx).filter(|[had, cu, _]| *had == text && cu == cu_text) {
        return Some(full.clone());
    }
    let full = up_to_date(text.clone(), cu_text)?;
    known.insert(ptx.to_owned(), [text, cu_text.to_owned(), full.clone()]);
    Some(full)
}

/// Instructions and labels of an entry, a line each; none if the PTX does not have it.
pub fn listing<'t>(ptx: &'t str, entry: &str) -> Vec<&'t str> {
    let lines = Index::new(ptx).body(ptx, entry).unwrap_or_default().lines().map(str::trim);
    lines.filter(|line| line.ends_with([';', ':']) && !line.starts_with('.')).collect()
}

/// Committed PTX for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Name in messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Parts of one lesson, oldest target first, as one text; empty without any.
pub(crate) fn joined(parts: &[Part]) -> String {
    let mut parts = parts.iter().rev().map(|part| &part.text);
    let newest = parts.next().cloned().unwrap_or_default();
    parts.fold(newest, |text, base| Index::new(&text).joined(&text, &Index::new(base), base))
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

/// Sources of all kernels in the folder `kernels` of a source tree.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn all_sources(root: &Path) -> Result<Vec<KernelSource>, Error> {
    let folder = root.join("kernels");
    let unreadable = |source| Error::Unreadable { path: folder.clone(), source };
    let mut sources = Vec::new();
    // A tree that holds records alone has none.
    if !folder.is_dir() {
        return Ok(sources);
    }
    for file in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let slug = path.file_stem().filter(|_| path.extension().is_some_and(|extension| extension == "cu"));
        sources.extend(slug.map(|slug| KernelSource::in_root(root, &slug.to_string_lossy())));
    }
    Ok(sources)
}

/// Hash of each entry's code in the PTX of all lessons of a source tree, by name.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn all_entry_hashes(root: &Path) -> Result<BTreeMap<String, String>, Error> {
    let hashes = all_sources(root)?.into_iter().map(|source| source.entry_hashes());
    Ok(hashes.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
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
