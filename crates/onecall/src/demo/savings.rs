//! Compares what a model reads and writes with direct calls and with one program.

use std::sync::{Mutex, PoisonError};

use onecall_core::text::tokens_of_size;
use onecall_runtime::{CallEvent, Observer};

/// Text that passes through a model's context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    pub(super) round_trips: u64,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    /// Whether the tokens were counted and not estimated.
    pub(super) is_counted: bool,
}

/// Texts whose tokens (o200k) are known, identified by their size. The demo always moves the same
/// texts, so its test counts their tokens, and the demo itself needs no tokenizer.
pub(super) struct KnownSize {
    pub(super) bytes: u64,
    pub(super) tokens: u64,
}

impl Traffic {
    /// Measures `texts`, which take `round_trips` turns of the model. If they are not the ones that
    /// were counted, their tokens are estimated.
    pub(super) fn of(round_trips: u64, texts: &[String], counted: &KnownSize) -> Self {
        let bytes = texts.iter().map(|text| text.len() as u64).sum();
        let is_counted = bytes == counted.bytes;
        let tokens = if is_counted { counted.tokens } else { tokens_of_size(bytes) };
        Self { round_trips, bytes, tokens, is_counted }
    }
}

/// Collects every call and answer of a program, as they would pass through a model that makes the
/// calls itself.
#[derive(Default)]
pub(super) struct CallCollector(Mutex<Vec<String>>);

impl CallCollector {
    fn note(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// All calls and answers.
    pub(super) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for CallCollector {
    fn call_event(&self, event: &CallEvent<'_>) {
        match event {
            CallEvent::Intent(call) => self.note(format!("{} {}", call.name, call.arguments)),
            CallEvent::End { result: Some(Ok(answer)), .. } => {
                self.note(answer.value.encode().1.into_owned());
            }
            CallEvent::End { result: Some(Err(error)), .. } => self.note(error.to_string()),
            CallEvent::Decision { .. }
            | CallEvent::Verdict { .. }
            | CallEvent::End { result: None, .. } => {}
        }
    }
}
