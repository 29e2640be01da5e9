//! Whoever sits at the terminal while a program runs: sees what servers report, and cannot
//! be asked.

use std::fmt;

use indicatif::ProgressBar;
use onecall_core::{Abilities, BoxFuture, CallableName, Caller, ClientId, Question, Refusal};
use serde_json::value::RawValue;

use crate::terminal::neutralise;

/// Shows reports beside a spinner.
pub(crate) struct Spectator(pub(crate) ProgressBar);

impl Caller for Spectator {
    fn client(&self) -> ClientId {
        ClientId(0)
    }

    fn wants_progress(&self) -> bool {
        !self.0.is_hidden()
    }

    fn progress(&self, name: &CallableName, report: &str) {
        self.0.set_message(format!("{name}: {}", neutralise(report)));
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Box<RawValue>, Refusal>> {
        Box::pin(async move { Err(Refusal::Unsupported(question.subject.method())) })
    }
}

impl fmt::Debug for Spectator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Spectator")
    }
}
