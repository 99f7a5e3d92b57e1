//! `cargo course book`: builds the book into target/book with mdBook's own engine, or serves it while you write. Its editions in other
//! languages, one for each file of translations, are folders of that site.
//!
//! Links to the glossary get the meaning of their term as a title; a plain `mdbook build` gives the same site without it, in more
//! bytes ([`slim`]). What is added besides is refusal: a missing include or anchor, and anything mdBook warns about, ends the build.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;

use course::workspace;

pub mod complaints;
pub mod glossary;
pub mod includes;
pub mod language;
pub mod links;
pub mod serve;
pub mod site;
mod slim;

/// Folder that the book is built into, from the workspace's root; `book.toml` says the same to mdBook.
pub const BUILD_DIR: &str = "target/book";

/// Options of `cargo course book`.
#[derive(clap::Args)]
pub struct Options {
    /// Serve the book on this machine only, and rebuild it whenever a source changes
    #[arg(long)]
    serve: bool,
    /// Port to serve on
    #[arg(long, requires = "serve", default_value_t = 3000, value_parser = port)]
    port: u16,
    /// Most seconds that the compiler may take for a kernel that a page sends
    #[arg(long, requires = "serve", default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=600))]
    compile_seconds: u64,
    /// Open the served book in a browser
    #[arg(long, requires = "serve")]
    open: bool,
    /// Write every sentence of the book, its exercises and its labs into po/messages.pot, and bring each po/LANGUAGE.po up to date
    #[arg(long, conflicts_with_all = ["serve", "language"])]
    messages: bool,
    /// Build the edition of po/LANGUAGE.po alone, zh_CN for example, into target/book-LANGUAGE
    #[arg(long, conflicts_with = "serve")]
    language: Option<String>,
}

/// A port, or what one is.
fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "a port is a number from 1 to 65535, or 0 for any that is free".to_owned())
}

/// Runs the verb.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root()?;
    if options.serve {
        let compile_limit = Duration::from_secs(options.compile_seconds);
        return serve::run(&root, options.port, options.open, compile_limit);
    }
    if options.messages {
        for (path, count) in language::write_messages(&root)? {
            println!("wrote {count} messages: {}", path.display());
        }
        return Ok(());
    }
    let built = match &options.language {
        Some(name) => heard(|| language::edition::build_alone(&root, name, &root.join(format!("{BUILD_DIR}-{name}"))))?,
        None => build(&root)?,
    };
    println!("built {} pages: open {}", built.pages, built.dir.join("index.html").display());
    Ok(())
}

/// A site that was built without a complaint.
pub struct Built {
    /// Folder of the build.
    pub dir: PathBuf,
    /// Pages in the table of contents.
    pub pages: usize,
}

/// Builds the book of the workspace at `root`.
pub fn build(root: &Path) -> Result<Built> {
    heard(|| build_unheard(root))
}

/// Does what builds a book, and refuses it if mdBook complains.
fn heard(work: impl FnOnce() -> Result<Built>) -> Result<Built> {
    let (result, complaints) = complaints::collect(work);
    let built = result?;
    match complaints.len() {
        0 => Ok(built),
        1 => bail!("mdBook complains: {}", complaints[0]),
        many => bail!("mdBook complains {many} times\n{}", complaints.join("\n")),
    }
}

fn build_unheard(root: &Path) -> Result<Built> {
    let mut book = MDBook::load(root)?;
    explain_terms(&mut book)?;
    let build_dir = book.build_dir_for("html");
    guard(&build_dir, &book.source_dir())?;
    includes::check(root, &book.source_dir())?.findings.verdict()?;
    book.build()?;
    slim::slim(&build_dir)?;
    language::edition::build_all(root, &build_dir)?;
    let pages = book.iter().filter(|item| matches!(item, BookItem::Chapter(_))).count();
    Ok(Built { dir: build_dir, pages })
}

/// Lets the links to the glossary show what their terms mean.
fn explain_terms(book: &mut MDBook) -> Result<()> {
    let page = book.source_dir().join(glossary::PAGE);
    if !page.is_file() {
        return Ok(());
    }
    let terms = glossary::parse(&std::fs::read_to_string(&page)?)?;
    book.book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            chapter.content = glossary::explained(&chapter.content, &terms);
        }
    });
    Ok(())
}

/// Refuses a build folder that mdBook would empty together with the sources: its default, `book`, is such a one.
fn guard(build_dir: &Path, source_dir: &Path) -> Result<()> {
    let source_dir = source_dir.canonicalize()?;
    // The build folder may not exist yet: compare the part of its path that does.
    let existing = build_dir.ancestors().find(|dir| dir.exists()).unwrap_or(build_dir);
    let rest = build_dir.strip_prefix(existing).unwrap_or(Path::new(""));
    let build_dir = existing.canonicalize()?.join(rest);
    ensure!(
        !source_dir.starts_with(&build_dir) && !build_dir.starts_with(&source_dir),
        "book.toml would build into `{}`, which mdBook empties first, and the pages are in `{}`: \
         set build-dir = \"{BUILD_DIR}\"",
        build_dir.display(),
        source_dir.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small book in a folder of its own.
    fn book(page: &str, config: &str) -> tempfile::TempDir {
        let summary = ("book/src/SUMMARY.md", "# Summary\n\n- [Page](page.md)\n");
        crate::tree(&[("book.toml", config), summary, ("book/src/page.md", page), ("book/src/part.txt", "a part\n")])
    }

    #[test]
    fn a_port_that_is_none_is_refused_in_words() {
        assert_eq!((port("0"), port("65535")), (Ok(0), Ok(65535)));
        for none in ["x", "", "-1", "65536", "80.5"] {
            assert!(port(none).unwrap_err().contains("from 1 to 65535"), "{none}");
        }
    }

    const CONFIG: &str = "[book]\ntitle = \"Test\"\nsrc = \"book/src\"\n[build]\nbuild-dir = \"target/book\"\n";

    fn refusal(page: &str, config: &str) -> String {
        let dir = book(page, config);
        let message = build(dir.path()).err().expect("the build must fail").to_string();
        assert!(dir.path().join("book/src/page.md").is_file(), "the sources must survive");
        message
    }

    #[test]
    fn a_good_book_builds_and_leaves_its_sources_alone() {
        let dir = book("# Page\n\n{{#include part.txt}}\n", CONFIG);
        let before = workspace::walk(&dir.path().join("book")).unwrap();
        let built = build(dir.path()).unwrap();
        assert_eq!(built.pages, 1);
        let html = std::fs::read_to_string(built.dir.join("page.html")).unwrap();
        assert!(html.contains("a part"));
        assert!(
            built.dir.join("searchindex.js").exists()
                || workspace::walk(&built.dir).unwrap().iter().any(|file| {
                    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("searchindex"))
                })
        );
        assert_eq!(workspace::walk(&dir.path().join("book")).unwrap(), before);
    }

    #[test]
    fn missing_includes_and_anchors_end_the_build() {
        assert!(refusal("{{#include gone.txt}}\n", CONFIG).contains("page.md:1: includes `book/src/gone.txt`"));
        assert!(refusal("\n{{#include part.txt:gone}}\n", CONFIG).contains("page.md:2: includes anchor `gone`"));
    }

    #[test]
    fn what_mdbook_warns_about_ends_the_build() {
        let unknown_key = format!("{CONFIG}[output.html]\nnonsense = true\n");
        let message = refusal("{{#include part.txt}}\n", &unknown_key);
        assert!(message.contains("nonsense"), "{message}");
        let unclosed = refusal("{{#include part.txt}}\n\n<div><span></div>\n", CONFIG);
        assert!(unclosed.starts_with("mdBook complains"), "{unclosed}");
    }

    #[test]
    fn a_build_folder_that_holds_the_sources_is_refused() {
        for build_dir in ["book", ".", "book/src", "book/src/out"] {
            let config = CONFIG.replace("target/book", build_dir);
            let message = refusal("{{#include part.txt}}\n", &config);
            assert!(message.contains("which mdBook empties first"), "{build_dir}: {message}");
        }
    }

    #[test]
    fn the_courses_own_build_folder_is_target_book() {
        let root = workspace::root().unwrap();
        let config = mdbook_driver::config::Config::from_disk(root.join("book.toml")).unwrap();
        assert_eq!(config.build.build_dir, Path::new(BUILD_DIR));
        assert!(!config.build.create_missing);
    }
}
