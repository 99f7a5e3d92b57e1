//! The web server behind `--serve` and the gate's checks: hyper on the loopback address, with limits on what a request may take.
//!
//! Connections are hyper's; what is answered is an ordinary function, which may take its time: each call has a thread of its own.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

/// After a connection that could not be accepted, most often because there are too many.
const PAUSE: Duration = Duration::from_millis(50);

/// Limits of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most bytes of what comes with it; its head is limited by hyper.
    pub body_bytes: usize,
    /// Longest time of arrival. A connection that stays idle for so long is closed.
    pub arrival: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { body_bytes: 1 << 20, arrival: Duration::from_secs(10) }
    }
}

/// Request of a browser.
#[derive(Debug)]
pub struct Request {
    /// GET, POST, …
    pub method: Method,
    /// Path and query, as they were sent.
    pub url: String,
    /// Everything that it says of itself.
    pub headers: HeaderMap,
    /// Body; empty for an ordinary page.
    pub body: String,
}

impl Request {
    /// A header as text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

/// An answer to one request.
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Media type of the body.
    pub content_type: &'static str,
    /// Body.
    pub body: Vec<u8>,
    /// Headers besides the usual ones.
    more: Vec<(&'static str, &'static str)>,
}

impl Answer {
    /// An answer of this status and type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, content_type, body: body.into(), more: Vec::new() }
    }

    /// Status 200 with this text.
    pub fn text(content_type: &'static str, body: String) -> Answer {
        Answer::new(StatusCode::OK, content_type, body)
    }

    /// Why a request is not answered, in a sentence for people.
    pub fn refusal(status: StatusCode, sentence: impl Into<String>) -> Answer {
        Answer::new(status, "text/plain; charset=utf-8", sentence.into())
    }

    /// One more header.
    pub fn with(mut self, name: &'static str, value: &'static str) -> Answer {
        self.more.push((name, value));
        self
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let usual =
            [("content-type", self.content_type), ("cache-control", "no-store"), ("x-content-type-options", "nosniff")];
        for (name, value) in usual.into_iter().chain(self.more) {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }
}

/// Listens on a port of the loopback address; port 0 takes a free one.
pub fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            anyhow!("port {port} is busy: another program listens there; choose another with --port")
        }
        ErrorKind::PermissionDenied => {
            anyhow!("port {port} is not for everyone on this machine: choose one from 1024 on with --port")
        }
        _ => anyhow!("cannot listen on port {port} of this machine: {error}"),
    })
}

/// The address of a server that [`listen`] made, without a slash at its end.
pub fn address(listener: &TcpListener) -> Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}

/// Answers requests until the program ends.
///
/// # Errors
/// A listener that cannot be used.
pub fn serve(
    listener: TcpListener,
    limits: Limits,
    respond: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> Result<()> {
    listener.set_nonblocking(true).context("the server cannot start")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("the server cannot start")?;
    let respond = Arc::new(respond);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).context("the server cannot start")?;
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let respond = Arc::clone(&respond);
            tokio::spawn(async move {
                let service = service_fn(move |request| converse(request, limits, Arc::clone(&respond)));
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(limits.arrival);
                // A connection that breaks, or on which nothing sensible comes, is the browser's affair.
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

async fn converse(
    incoming: hyper::Request<Incoming>,
    limits: Limits,
    respond: Arc<impl Fn(&Request) -> Answer + Send + Sync + 'static>,
) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let answer = match read(incoming, limits).await {
        Ok(request) => {
            let answered = tokio::task::spawn_blocking(move || respond(&request)).await;
            let broken = |_| {
                Answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake: its terminal says which")
            };
            answered.unwrap_or_else(broken)
        }
        Err(refusal) => refusal,
    };
    Ok(answer.into_response())
}

/// The whole request, or why it is not taken.
async fn read(incoming: hyper::Request<Incoming>, limits: Limits) -> Result<Request, Answer> {
    let (parts, body) = incoming.into_parts();
    let too_large = || {
        let sentence =
            format!("this is too large: a request to this server brings at most {} bytes", limits.body_bytes);
        Answer::refusal(StatusCode::PAYLOAD_TOO_LARGE, sentence)
    };
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(too_large());
    }
    let collected = tokio::time::timeout(limits.arrival, Limited::new(body, limits.body_bytes).collect()).await;
    let bytes = match collected {
        Err(_) => {
            let sentence = format!("this came too slowly: a request arrives within {} s", limits.arrival.as_secs_f32());
            return Err(Answer::refusal(StatusCode::REQUEST_TIMEOUT, sentence));
        }
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => return Err(Answer::refusal(StatusCode::BAD_REQUEST, "the request ended too early")),
        Ok(Ok(whole)) => whole.to_bytes(),
    };
    let body = String::from_utf8(bytes.to_vec())
        .map_err(|_| Answer::refusal(StatusCode::BAD_REQUEST, "what came with the request is no text in UTF-8"))?;
    let url = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    Ok(Request { method: parts.method, url, headers: parts.headers, body })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    /// A server on a free port; it ends with the program.
    pub fn start(limits: Limits, respond: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> SocketAddr {
        let listener = listen(0).unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(listener, limits, respond));
        to
    }

    /// Sends this text and reads what comes until the server closes or falls silent: the status, and the rest.
    pub fn ask(to: SocketAddr, text: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(to).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer: {answer}")), answer)
    }

    fn small() -> Limits {
        Limits { body_bytes: 8, arrival: Duration::from_millis(300) }
    }

    fn echo(request: &Request) -> Answer {
        Answer::text("text/plain", format!("{} {} {}", request.method, request.url, request.body))
    }

    #[test]
    fn a_request_is_read_whole() {
        let to = start(small(), echo);
        let (status, answer) =
            ask(to, "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
        assert_eq!(status, 200);
        assert!(answer.ends_with("\r\n\r\nPOST /a?b body"), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_read() {
        let to = start(small(), echo);
        let (status, answer) =
            ask(to, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\nConnection: close\r\n\r\n");
        assert_eq!(status, 413);
        assert!(answer.contains("at most 8 bytes"), "{answer}");
        let chunks = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n9\r\n123456789\r\n0\r\n\r\n";
        assert_eq!(ask(to, chunks).0, 413);
    }

    #[test]
    fn what_is_too_slow_is_refused_and_holds_up_no_other() {
        let to = start(small(), echo);
        let idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(to).unwrap()).collect();
        let (status, answer) =
            ask(to, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbo");
        assert_eq!(status, 408);
        assert!(answer.contains("within 0.3 s"), "{answer}");
        // A head that never comes has no answer: the connection ends.
        for mut connection in idle {
            connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut rest = Vec::new();
            assert!(connection.read_to_end(&mut rest).is_ok(), "an idle connection stays open");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let to = start(small(), echo);
        let mut connection = TcpStream::connect(to).unwrap();
        connection
            .write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n\xff\xfe")
            .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    #[test]
    fn a_panic_is_an_answer_too() {
        let to = start(small(), |_: &Request| panic!("on purpose, in a test"));
        assert_eq!(ask(to, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").0, 500);
    }

    #[test]
    fn a_busy_port_is_named() {
        let first = listen(0).unwrap();
        let port = first.local_addr().unwrap().port();
        let message = listen(port).expect_err("the port is taken").to_string();
        assert_eq!(message, format!("port {port} is busy: another program listens there; choose another with --port"));
    }
}
