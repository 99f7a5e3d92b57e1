//! Admission of requests: only the pages of this server may ask it to do something.
//!
//! Any page of the web can send requests to a port of this machine. So a request that makes the server work is a POST that carries
//! a token, which stands in the text of each page that is served; pages of other origins cannot read that text. Its `Host` must
//! be this server, or a name that points to this machine would make a stranger's page look like one of ours, and its
//! `Origin` must be the same.

use anyhow::Result;
use hyper::{Method, StatusCode};

use super::http::{Answer, Request};

/// The header that carries the token. No page of another origin may send a header of its own without asking first.
pub const TOKEN_HEADER: &str = "x-lab-token";

/// The server's own name, and its token.
pub struct Door {
    hosts: [String; 2],
    token: String,
}

impl Door {
    /// For a server on this port of the loopback address, with a new token.
    ///
    /// # Errors
    /// A system that gives no random bytes.
    pub fn new(port: u16) -> Result<Door> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("this system gives no random bytes: {error}"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Door { hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], token })
    }

    /// Returns the addition to a served page, before any script of its own runs: the token, and which exercises are solved, put where the page
    /// remembers them. It stands in the page and not in a file, which any page could load as a script.
    pub fn script(&self, solved: &[String]) -> String {
        format!(
            "<script>window.reductionServer={{token:\"{}\"}};\
             try{{localStorage.setItem(\"reduction-course-exercises\",{})}}catch{{}}</script>",
            self.token,
            // Text of text: the page keeps it as such.
            serde_json::json!(serde_json::json!(solved).to_string())
        )
    }

    /// Returns whether the request means this server: other requests get no pages either, since the token stands in them.
    ///
    /// # Errors
    /// The refusal.
    pub fn knows_host(&self, request: &Request) -> Result<(), Answer> {
        let host = request.header("host");
        if self.hosts.iter().any(|known| known == host) {
            return Ok(());
        }
        let sentence = format!("this server is {}, and the request asks for another one", self.hosts[0]);
        Err(Answer::refusal(StatusCode::MISDIRECTED_REQUEST, sentence))
    }

    /// Returns whether the request comes from a page of this server, as it is served now.
    ///
    /// # Errors
    /// The refusal.
    pub fn admits(&self, request: &Request) -> Result<(), Answer> {
        self.knows_host(request)?;
        if request.method != Method::POST {
            return Err(
                Answer::refusal(StatusCode::METHOD_NOT_ALLOWED, "this is asked for by POST").with("allow", "POST")
            );
        }
        if request.header("origin") != format!("http://{}", request.header("host")) {
            return Err(Answer::refusal(StatusCode::FORBIDDEN, "only pages of this server may ask it to do something"));
        }
        if request.header(TOKEN_HEADER) != self.token {
            let sentence =
                "the page is not of this run of the server, which knows its pages by a token: load the page again";
            return Err(Answer::refusal(StatusCode::FORBIDDEN, sentence));
        }
        Ok(())
    }

    /// The token, for tests that stand for a page.
    #[cfg(test)]
    pub fn token(&self) -> &str {
        &self.token
    }
}
