//! The files of the built site, as a web server gives them.

use std::path::{Component, Path, PathBuf};

use hyper::StatusCode;

use super::serve::http::Answer;

/// The file that `url` names in the site at `dir`; `head` is put first into the head of a page. A file that is not
/// there is the site's own 404 page, with that status.
pub fn file(dir: &Path, url: &str, head: &str) -> Answer {
    let found = locate(dir, url).and_then(|path| Some((std::fs::read(&path).ok()?, path)));
    let (status, body, path) = match found {
        Some((contents, path)) => (StatusCode::OK, contents, path),
        None => {
            let path = dir.join("404.html");
            (StatusCode::NOT_FOUND, std::fs::read(&path).unwrap_or_else(|_| b"not found".to_vec()), path)
        }
    };
    let content_type = content_type(&path);
    let body = if content_type.starts_with("text/html") && !head.is_empty() {
        String::from_utf8_lossy(&body).replacen("<head>", &format!("<head>{head}"), 1).into_bytes()
    } else {
        body
    };
    Answer::new(status, content_type, body)
}

/// The path of `url` below `dir`, never above it.
fn locate(dir: &Path, url: &str) -> Option<PathBuf> {
    let path = decode(url.split(['?', '#']).next()?)?;
    let relative = Path::new(path.trim_start_matches('/'));
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let path = dir.join(relative);
    Some(if path.is_dir() { path.join("index.html") } else { path })
}

/// Percent-decodes a URL's path or fragment. `None` if it is no text.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = match tail {
            [high, low, ..] if first == b'%' => {
                std::str::from_utf8(&[*high, *low]).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ext| ext.to_str()).unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" | "md" | "cu" | "ptx" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_never_leaves_the_site() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("deep")).unwrap();
        assert_eq!(locate(dir.path(), "/a%20b.html?x=1#y"), Some(dir.path().join("a b.html")));
        assert_eq!(locate(dir.path(), "/deep/"), Some(dir.path().join("deep/index.html")));
        assert_eq!(locate(dir.path(), "/"), Some(dir.path().join("index.html")));
        for url in ["/../secret", "/deep/../../secret", "/%2e%2e/secret", "/..%2fsecret"] {
            assert_eq!(locate(dir.path(), url), None, "{url}");
        }
        assert_eq!(locate(dir.path(), "//etc/passwd"), Some(dir.path().join("etc/passwd")));
    }

    #[test]
    fn a_page_gets_its_head_and_what_is_gone_is_not_found() {
        let dir = crate::tree(&[("page.html", "<head></head>")]);
        let found = file(dir.path(), "/page.html", "<b>");
        assert_eq!((found.status, found.content_type), (StatusCode::OK, "text/html; charset=utf-8"));
        assert_eq!(found.body, b"<head><b></head>");
        assert_eq!(file(dir.path(), "/gone", "<b>").status, StatusCode::NOT_FOUND);
    }

    #[test]
    fn percent_codes_are_decoded() {
        assert_eq!(decode("a%C3%A9%").as_deref(), Some("aé%"));
        assert_eq!(decode("%ff"), None);
    }
}
