//! Hears what mdBook only says: its errors and warnings are log events, and a build that has some still succeeds.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Runs `work` and returns its result with every warning and error that was logged meanwhile.
pub fn collect<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let result = tracing::subscriber::with_default(Listener { heard: Arc::clone(&heard) }, work);
    let complaints = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    (result, complaints)
}

struct Listener {
    heard: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Levels are ordered by verbosity: ERROR is the smallest.
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut sentence = Sentence(format!("{}: ", event.metadata().level()));
        event.record(&mut sentence);
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(sentence.0);
    }

    // Spans are never enabled, so none is ever entered.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event's message followed by its other fields.
struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            other => write!(self.0, " ({other}: {value:?})"),
        };
        written.expect("writing to a String cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_and_errors_are_heard_and_the_rest_is_not() {
        let (result, complaints) = collect(|| {
            tracing::error!("no file {}", "x.md");
            tracing::warn!(page = 3, "odd");
            tracing::info!("building");
            7
        });
        assert_eq!(result, 7);
        assert_eq!(complaints, ["ERROR: no file x.md", "WARN: odd (page: 3)"]);
    }
}
