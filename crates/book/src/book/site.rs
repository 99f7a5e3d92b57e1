//! A small web server for the built site, on this machine only: for `--serve` and for the gate's page check.
//!
//! A thread a connection and an answer a connection: a browser opens six at once and leaves some idle, which must not
//! hold up the others.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};

/// More than any browser's request head or report, in bytes.
const REQUEST_LIMIT: u64 = 1 << 20;
/// A connection on which nothing is asked for so long is closed.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// What a browser asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Path and query, as they were sent.
    pub url: String,
    /// What came with it; empty for an ordinary page.
    pub body: String,
}

/// An answer to one request.
pub struct Answer {
    status: u16,
    content_type: &'static str,
    body: Vec<u8>,
    policy: Option<&'static str>,
}

impl Answer {
    /// Status 200 with this text.
    pub fn text(content_type: &'static str, body: String) -> Answer {
        Answer { status: 200, content_type, body: body.into_bytes(), policy: None }
    }

    /// Tells the browser what the page may load.
    pub fn with_policy(self, policy: &'static str) -> Answer {
        Answer { policy: Some(policy), ..self }
    }

    fn write(&self, mut to: impl Write) -> std::io::Result<()> {
        let reason = if self.status == 200 { "OK" } else { "Not Found" };
        let policy = self.policy.map(|policy| format!("Content-Security-Policy: {policy}\r\n")).unwrap_or_default();
        write!(
            to,
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             {policy}Connection: close\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len()
        )?;
        to.write_all(&self.body)?;
        to.flush()
    }
}

/// Listens on a port of the loopback address; port 0 takes a free one.
pub fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            anyhow!("port {port} is busy: another program listens there; choose another with --port")
        }
        _ => anyhow!("cannot listen on port {port} of this machine: {error}"),
    })
}

/// The address of a server that [`listen`] made, without a slash at its end.
pub fn address(listener: &TcpListener) -> Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}

/// Answers requests until the program ends.
pub fn serve(listener: &TcpListener, respond: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
    let respond = Arc::new(respond);
    for connection in listener.incoming() {
        // A connection that breaks before it is accepted is the browser's affair.
        let Ok(connection) = connection else { continue };
        let respond = Arc::clone(&respond);
        std::thread::spawn(move || {
            // So is one that breaks in the middle, or on which nothing sensible comes.
            let _ = converse(&connection, &*respond);
        });
    }
}

fn converse(connection: &TcpStream, respond: &dyn Fn(&Request) -> Answer) -> std::io::Result<()> {
    connection.set_read_timeout(Some(IDLE_LIMIT))?;
    match read_request(BufReader::new(connection))? {
        Some(request) => respond(&request).write(connection),
        None => Ok(()),
    }
}

/// One request, or `None` if what comes is none.
fn read_request(from: impl BufRead) -> std::io::Result<Option<Request>> {
    let mut from = from.take(REQUEST_LIMIT);
    let mut line = String::new();
    from.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (Some("GET" | "POST"), Some(url)) = (words.next(), words.next()) else { return Ok(None) };
    let url = url.to_owned();
    let mut body_bytes = 0;
    loop {
        line.clear();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            body_bytes = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    from.take(body_bytes).read_to_string(&mut body)?;
    Ok(Some(Request { url, body }))
}

/// The file that `url` names in the site at `dir`; `head` is put first into the head of a page. A file that is not
/// there is the site's own 404 page, with that status.
pub fn file(dir: &Path, url: &str, head: &str) -> Answer {
    let found = locate(dir, url).and_then(|path| Some((std::fs::read(&path).ok()?, path)));
    let (status, body, path) = match found {
        Some((contents, path)) => (200, contents, path),
        None => {
            let path = dir.join("404.html");
            (404, std::fs::read(&path).unwrap_or_else(|_| b"not found".to_vec()), path)
        }
    };
    let content_type = content_type(&path);
    let body = if content_type.starts_with("text/html") && !head.is_empty() {
        String::from_utf8_lossy(&body).replacen("<head>", &format!("<head>{head}"), 1).into_bytes()
    } else {
        body
    };
    Answer { status, content_type, body, policy: None }
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
    fn requests_are_read_and_nonsense_is_not() {
        let read = |text: &str| read_request(text.as_bytes()).unwrap();
        let request = |url: &str, body: &str| Some(Request { url: url.to_owned(), body: body.to_owned() });
        assert_eq!(read("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nrest"), request("/a?b", ""));
        assert_eq!(read("POST /r HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody and more"), request("/r", "body"));
        assert_eq!(read(""), None);
        assert_eq!(read("DELETE / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(read("GET"), None);
    }

    #[test]
    fn an_idle_connection_holds_up_no_other() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("page.html"), "<head></head>").unwrap();
        let listener = listen(0).unwrap();
        let to = listener.local_addr().unwrap();
        let site = dir.path().to_path_buf();
        std::thread::spawn(move || serve(&listener, move |request| file(&site, &request.url, "<b>")));
        let _idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(to).unwrap()).collect();
        let ask = |url: &str| {
            let mut connection = TcpStream::connect(to).unwrap();
            write!(connection, "GET {url} HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            answer
        };
        let found = ask("/page.html");
        assert!(found.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{found}");
        assert!(found.ends_with("\r\n\r\n<head><b></head>"), "{found}");
        assert!(ask("/gone").starts_with("HTTP/1.1 404 Not Found"));
    }

    #[test]
    fn percent_codes_are_decoded() {
        assert_eq!(decode("a%C3%A9%").as_deref(), Some("aé%"));
        assert_eq!(decode("%ff"), None);
    }

    #[test]
    fn a_busy_port_is_named() {
        let first = listen(0).unwrap();
        let port = first.local_addr().unwrap().port();
        let message = listen(port).expect_err("the port is taken").to_string();
        assert_eq!(message, format!("port {port} is busy: another program listens there; choose another with --port"));
    }
}
