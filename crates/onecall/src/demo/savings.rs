//! What a model would have read and written with direct calls, against what it did
//! with one program.

use std::sync::{Mutex, PoisonError};

use onecall_runtime::{CallEvent, Observer, Tokenizer};

/// Text that passes through a model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) round_trips: u64,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
}

impl Traffic {
    /// Counts `texts`, which take `round_trips` turns of the model.
    pub(super) fn of(round_trips: u64, texts: &[String], tokenizer: &Tokenizer) -> Self {
        Self {
            round_trips,
            bytes: texts.iter().map(|text| text.len() as u64).sum(),
            tokens: texts.iter().map(|text| tokenizer.count(text)).sum(),
        }
    }
}

/// Writes down every call and answer of a program, as a client making the calls
/// itself would have to.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Vec<String>>);

impl Ledger {
    fn note(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// All calls and answers.
    pub(super) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Ledger {
    fn call_event(&self, event: &CallEvent<'_>) {
        match event {
            CallEvent::Intent(call) => self.note(format!("{} {}", call.name, call.arguments)),
            CallEvent::End { result: Some(Ok(answer)), .. } => {
                self.note(answer.value.written().1.into_owned());
            }
            CallEvent::End { result: Some(Err(error)), .. } => self.note(error.to_string()),
            CallEvent::Decision(..) | CallEvent::End { result: None, .. } => {}
        }
    }
}
