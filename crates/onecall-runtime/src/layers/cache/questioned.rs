//! Notices when a server asks the client something while it works on a call.

use std::sync::Arc;

use onecall_core::{Abilities, BoxFuture, CallableName, Caller, ClientId, Question, Refusal};
use serde_json::value::RawValue;

use super::eras::Eras;

/// A caller whose questions are noted.
#[derive(Debug)]
pub(super) struct Questioned {
    caller: Arc<dyn Caller>,
    eras: Arc<Eras>,
}

impl Questioned {
    pub(super) fn new(caller: Arc<dyn Caller>, eras: Arc<Eras>) -> Self {
        Self { caller, eras }
    }
}

impl Caller for Questioned {
    fn client(&self) -> ClientId {
        self.caller.client()
    }

    fn wants_progress(&self) -> bool {
        self.caller.wants_progress()
    }

    fn progress(&self, name: &CallableName, report: &str) {
        self.caller.progress(name, report);
    }

    fn abilities(&self) -> Abilities {
        self.caller.abilities()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Box<RawValue>, Refusal>> {
        self.eras.asked(&question.server);
        self.caller.ask(question)
    }
}
