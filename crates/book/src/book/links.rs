//! Checks every link of the built site: pages and fragments exist, nothing is loaded from the network, and addresses
//! outside are well formed. Addresses outside are never fetched, so that the check needs no network.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use course::findings::Findings;
use course::workspace;

use super::includes::tidy;
use super::site::decode;

// Files that a style sheet loads: `url(...)` and `@import "..."`.
pattern!(CSS_URL, r#"url\(\s*['"]?(?P<url>[^'")\s]+)|@import\s+['"](?P<import>[^'"]+)"#);
// A scheme and what follows it.
pattern!(SCHEME, r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)$");
// A host with a dot in it, then anything without blanks.
pattern!(OUTSIDE, r"^//[\w-]+(\.[\w-]+)+(:\d+)?([/?#]\S*)?$");

/// Kind of link, by what the browser does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Loads it to show the page.
    Load,
    /// Goes there if the reader asks.
    Go,
}

#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: u64,
    usage: Use,
    target: String,
}

/// Anchors and links of one page.
#[derive(Debug, Default)]
struct Page {
    ids: BTreeSet<String>,
    links: Vec<Link>,
    /// Links are relative to the site's root instead of the page's folder.
    has_base: bool,
}

/// Checks the site in `dir`.
pub fn check(dir: &Path) -> Result<Findings> {
    let mut findings = Findings::new("links");
    let mut pages = BTreeMap::new();
    let files: BTreeSet<PathBuf> = workspace::walk(dir)?.into_iter().collect();
    for file in &files {
        match file.extension().and_then(|ext| ext.to_str()) {
            Some("html") => {
                pages.insert(file.clone(), scan(&workspace::read(dir, file)?));
            }
            Some("css") => {
                let links = css_links(&workspace::read(dir, file)?, 1);
                pages.insert(file.clone(), Page { links, ..Page::default() });
            }
            _ => {}
        }
    }
    for (file, page) in &pages {
        for link in &page.links {
            findings.examined += 1;
            if let Err(problem) = check_link(dir, &files, &pages, file, link) {
                findings.problems.push(format!("{}:{}: {problem}", workspace::name(dir, file), link.line));
            }
        }
    }
    Ok(findings)
}

/// The part of a fragment that is a place in the page: what follows the name of a lab is for the lab.
fn place(fragment: &str) -> &str {
    if fragment.starts_with("lab=") { fragment.split('&').next().unwrap_or(fragment) } else { fragment }
}

fn check_link(
    dir: &Path,
    files: &BTreeSet<PathBuf>,
    pages: &BTreeMap<PathBuf, Page>,
    file: &Path,
    link: &Link,
) -> Result<(), String> {
    let target = link.target.as_str();
    if let Some(found) = SCHEME.captures(target) {
        return check_outside(link, &found["scheme"].to_ascii_lowercase(), &found["rest"]);
    }
    if target.starts_with("//") {
        return Err(format!("`{target}` leaves the site: nothing may be loaded from the network"));
    }
    if target.starts_with('/') {
        return Err(format!("`{target}` begins at the server's root: write it relative to the page"));
    }
    let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
    let path = decode(path.split('?').next().unwrap_or(""));
    let path = path.ok_or_else(|| format!("`{target}` is not well formed"))?;
    let folder = if pages[file].has_base { dir } else { file.parent().unwrap_or(dir) };
    let to = if path.is_empty() { file.to_path_buf() } else { tidy(&folder.join(&path)) };
    let to = if files.contains(&to) { to } else { to.join("index.html") };
    if !files.contains(&to) {
        return Err(format!("`{target}` leads nowhere: the site has no `{path}`"));
    }
    let fragment = fragment.and_then(decode).filter(|fragment| !fragment.is_empty() && fragment != "top");
    match (fragment, pages.get(&to)) {
        (Some(fragment), Some(page)) if !page.ids.contains(place(&fragment)) => {
            Err(format!("`{target}` leads nowhere: `{}` has no id `{fragment}`", workspace::name(dir, &to)))
        }
        _ => Ok(()),
    }
}

fn check_outside(link: &Link, scheme: &str, rest: &str) -> Result<(), String> {
    let target = &link.target;
    match (scheme, link.usage) {
        ("data", Use::Load) => Ok(()),
        ("http" | "https", Use::Load) => {
            Err(format!("`{target}` is loaded from the network: the book must read offline"))
        }
        ("http" | "https", Use::Go) if OUTSIDE.is_match(rest) => Ok(()),
        ("mailto", Use::Go) if rest.contains('@') => Ok(()),
        ("http" | "https" | "mailto", Use::Go) => Err(format!("`{target}` is not a well-formed address")),
        _ => Err(format!("`{target}`: the scheme `{scheme}` has no place in the book")),
    }
}

fn css_links(css: &str, first_line: u64) -> Vec<Link> {
    CSS_URL
        .captures_iter(css)
        .filter_map(|found| found.name("url").or(found.name("import")))
        // `url(#id)` names a part of the document that the style applies to.
        .filter(|url| !url.as_str().starts_with('#'))
        .map(|url| Link {
            line: first_line + css[..url.start()].matches('\n').count() as u64,
            usage: Use::Load,
            target: url.as_str().to_owned(),
        })
        .collect()
}

fn scan(html: &str) -> Page {
    let tokenizer = Tokenizer::new(Scanner::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    // The tokenizer stops after each script to let it run; there is nothing to run here.
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    tokenizer.sink.page.into_inner()
}

/// Collects ids and links while the tokenizer reads a page.
#[derive(Default)]
struct Scanner {
    page: RefCell<Page>,
    in_style: RefCell<bool>,
}

impl TokenSink for Scanner {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                self.start(&tag, line);
                *self.in_style.borrow_mut() = &*tag.name == "style";
                match &*tag.name {
                    "script" => TokenSinkResult::RawData(RawKind::ScriptData),
                    "style" => TokenSinkResult::RawData(RawKind::Rawtext),
                    "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
                    _ => TokenSinkResult::Continue,
                }
            }
            Token::TagToken(_) => {
                *self.in_style.borrow_mut() = false;
                TokenSinkResult::Continue
            }
            Token::CharacterTokens(text) if *self.in_style.borrow() => {
                self.page.borrow_mut().links.extend(css_links(&text, line));
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Scanner {
    fn start(&self, tag: &Tag, line: u64) {
        let mut page = self.page.borrow_mut();
        let tag_name = &*tag.name;
        let has_rel = |word: &str| {
            tag.attrs.iter().any(|attr| {
                &*attr.name.local == "rel" && attr.value.split_whitespace().any(|rel| rel.eq_ignore_ascii_case(word))
            })
        };
        for attr in &tag.attrs {
            let name = &*attr.name.local;
            let value = attr.value.trim();
            let usage = match (tag_name, name) {
                (_, "id") | ("a", "name") => {
                    page.ids.insert(value.to_owned());
                    continue;
                }
                // A lab is a place too: a link to it says what it is to show.
                (_, "data-lab") => {
                    page.ids.insert(format!("lab={}", value.split('/').next().unwrap_or(value)));
                    continue;
                }
                ("base", "href") => {
                    page.has_base = true;
                    continue;
                }
                (_, "style") => {
                    page.links.extend(css_links(value, line));
                    continue;
                }
                (_, "srcset") => {
                    let candidates = value.split(',').filter_map(|part| part.split_whitespace().next());
                    page.links.extend(candidates.map(|url| Link { line, usage: Use::Load, target: url.to_owned() }));
                    continue;
                }
                ("a" | "area", "href") => Use::Go,
                ("link", "href") if has_rel("canonical") || has_rel("license") => Use::Go,
                (_, "href" | "xlink:href" | "src" | "poster") | ("object", "data") => Use::Load,
                _ => continue,
            };
            page.links.push(Link { line, usage, target: value.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Problems of a site with one page of this body, beside `other.html` with the id `there` and `a b.svg`.
    fn problems(body: &str) -> Vec<String> {
        let dir = crate::tree(&[
            ("other.html", "<h1 id=there>x</h1><a name='old'></a>"),
            ("index.html", "<p>home</p>"),
            ("deep/a b.svg", "<svg/>"),
            ("deep/page.html", &format!("<html>\n<body id='me'>{body}</body></html>")),
        ]);
        let findings = check(dir.path()).unwrap();
        assert!(findings.examined > 0 || body.is_empty());
        findings.problems
    }

    fn problem(body: &str) -> String {
        let found = problems(body);
        assert_eq!(found.len(), 1, "{body}: {found:?}");
        found[0].clone()
    }

    #[test]
    fn good_links_pass() {
        let body = "<a href='../other.html'>a</a><a href=\"../other.html#there\">b</a><a href=#me>c</a>\
                    <a href='../other.html#old'>d</a><img src='a%20b.svg'><a href='../'>e</a><a href='#'>f</a>\
                    <a href='https://example.org/x#y'>g</a><a href='mailto:me@example.org'>h</a>\
                    <img src='data:image/png;base64,AAAA'><div style=\"background: url('a%20b.svg')\"></div>\
                    <script>const x = \"<a href='nowhere'>\";</script><!-- <a href='nowhere'> -->\
                    <svg><use href='#me'></use></svg>";
        assert_eq!(problems(body), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_a_lab_needs_the_lab() {
        let lab = "<div class=lab data-lab='ch01-naive/simple_global'></div>";
        let link = |slug: &str| format!("<a href='#lab={slug}&amp;n=32&amp;at=round3'>a</a>");
        assert_eq!(problems(&format!("{lab}{}", link("ch01-naive"))), Vec::<String>::new());
        assert!(problem(&format!("{lab}{}", link("ch02-divergence"))).contains("leads nowhere"));
        assert!(problem(&link("ch01-naive")).contains("leads nowhere"));
    }

    #[test]
    fn dead_links_are_named_with_page_and_line() {
        assert_eq!(
            problem("\n<a href='gone.html#x'>a</a>"),
            "deep/page.html:3: `gone.html#x` leads nowhere: the site has no `gone.html`"
        );
        assert_eq!(
            problem("<a href='../other.html#gone'>a</a>"),
            "deep/page.html:2: `../other.html#gone` leads nowhere: `other.html` has no id `gone`"
        );
        assert!(problem("<a href='#gone'>a</a>").contains("has no id `gone`"));
        assert!(problem("<script></script><img src='gone.png'>").contains("the site has no `gone.png`"));
    }

    #[test]
    fn nothing_is_loaded_from_the_network() {
        for body in [
            "<script src='https://cdn.example.org/x.js'></script>",
            "<link rel='stylesheet' href='http://example.org/x.css'>",
            "<img srcset='https://example.org/x.png 2x'>",
            "<style>@import 'https://example.org/x.css';</style>",
            "<p style=\"background: url(https://example.org/x.png)\">",
        ] {
            assert!(problem(body).contains("loaded from the network"), "{body}");
        }
        assert!(problem("<img src='//example.org/x.png'>").contains("leaves the site"));
    }

    #[test]
    fn ill_formed_addresses_are_refused() {
        for body in
            ["<a href='https://nodot/'>", "<a href='https://'>", "<a href='https://a b.org'>", "<a href='mailto:x'>"]
        {
            assert!(problem(body).contains("not a well-formed address"), "{body}");
        }
        assert!(problem("<a href='javascript:alert(1)'>").contains("has no place"));
        assert!(problem("<a href='/other.html'>").contains("server's root"));
    }

    #[test]
    fn style_sheets_are_searched() {
        let css = "a { color: red }\nb { background: url(\"gone.svg\") }\n@import 'https://example.org/a.css';\n";
        let problems = check(crate::tree(&[("style.css", css)]).path()).unwrap().problems;
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("style.css:2: `gone.svg` leads nowhere"), "{problems:?}");
        assert!(problems[1].starts_with("style.css:3: "), "{problems:?}");
    }
}
