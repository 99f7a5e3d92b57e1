//! Services of the server for its pages, each by a POST that the door admits: compile a text, say what its kernels take of a
//! multiprocessor, and keep the reader's progress where the terminal keeps it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use course::exercise::{self, BadUsage};
use hyper::StatusCode;
use serde::Deserialize;

use super::compile::Compiler;
use super::door::Door;
use super::http::{Answer, Request};

/// Prefix of every address of the desk.
pub const PREFIX: &str = "/__lab/";

/// The desk.
pub struct Desk {
    /// Admission.
    pub door: Door,
    /// The compiler.
    pub compiler: Compiler,
    /// The workspace, whose folder `my` has the progress.
    pub root: PathBuf,
    /// Held while the file of the progress is read and written again.
    pub noting: Mutex<()>,
}

/// An answer to a question of the book.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    exercise: String,
    answer: String,
}

impl Desk {
    /// Answers a request to the desk.
    pub fn answer(&self, request: &Request) -> Answer {
        if let Err(refusal) = self.door.admits(request) {
            return refusal;
        }
        match request.url.strip_prefix(PREFIX) {
            Some("compile") => self.compiler.answer(&request.body),
            Some("resources") => self.compiler.resources(&request.body),
            Some("progress") => self.progress(&request.body),
            _ => Answer::refusal(StatusCode::NOT_FOUND, format!("{}: this server does no such thing", request.url)),
        }
    }

    /// Returns the addition to the head of a served page. A progress that cannot be read is no reason to show no page.
    pub fn head(&self) -> String {
        self.door.script(&exercise::solved(&self.root).unwrap_or_default())
    }

    /// Takes an answer, if one is brought, and tells which exercises are solved.
    fn progress(&self, body: &str) -> Answer {
        let _noting = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        if !body.is_empty() {
            let given: Given = match serde_json::from_str(body) {
                Ok(given) => given,
                Err(error) => return Answer::refusal(StatusCode::BAD_REQUEST, format!("this is no answer: {error}")),
            };
            if let Err(error) = exercise::answered(&self.root, &given.exercise, &given.answer) {
                return refused(&error);
            }
        }
        match exercise::solved(&self.root) {
            Ok(solved) => Answer::text("application/json", serde_json::json!({ "solved": solved }).to_string()),
            Err(error) => refused(&error),
        }
    }
}

fn refused(error: &anyhow::Error) -> Answer {
    let is_usage = error.is::<BadUsage>();
    let status = if is_usage { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR };
    Answer::refusal(status, format!("{error:#}"))
}
