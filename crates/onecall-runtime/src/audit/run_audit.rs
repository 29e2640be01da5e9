//! Reads the log of one run, and writes the rows of the audit trail from it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_core::storage::{
    AuditDecision, AuditEntry, AuditEvent, AuditOutcome, AuditedArguments, AuditedCall,
};
use onecall_core::{
    AnswerOrigin, AnsweredVerdict, CallResult, CallableName, Decision, Digest, PolicyRule,
    QuestionKind, ResolvedCall, RunContext, Timestamp, Verdict,
};

use super::{AuditDetail, AuditError, AuditWriter, MAX_ARGUMENT_BYTES};
use crate::CallEvent;
use crate::journal::Journal;

/// Bytes of a name that are kept. Names of clients, tools and rules come from outside.
const MAX_NAME_BYTES: usize = 512;

/// Bytes of all groups of a user that are kept.
const MAX_GROUPS_BYTES: usize = 4 * 1024;

/// The audit of one run.
pub(crate) struct RunAudit<'a> {
    writer: &'a AuditWriter,
    run: Arc<RunContext>,
    groups: Vec<String>,
    journal: Option<&'a Journal>,
    /// The calls that have rows and have not ended, by their ids.
    open: Mutex<HashMap<u64, OpenAudit>>,
}

/// A call that has rows and has not ended.
#[derive(Clone, Copy)]
struct OpenAudit {
    /// The position of its last row among those of the process.
    last_row: u64,
    /// Whether the call was passed on towards its tool.
    is_sent: bool,
}

impl<'a> RunAudit<'a> {
    /// Creates the audit of a run; `journal` is that of the run, if it has one.
    pub(crate) fn new(
        writer: &'a AuditWriter,
        run: &Arc<RunContext>,
        journal: Option<&'a Journal>,
    ) -> Self {
        let groups = bounded_groups(run.principal.groups.iter());
        Self { writer, run: Arc::clone(run), groups, journal, open: Mutex::default() }
    }

    /// Writes the row of one event of the call log, if it has one.
    pub(crate) fn call_event(&self, event: &CallEvent<'_>) {
        match event {
            CallEvent::Intent(_) => {}
            CallEvent::Decision { call, decision, permitted_by } => {
                self.decided(call, decision, *permitted_by);
            }
            CallEvent::Verdict { call, kind, answer } => self.answered(call, *kind, answer),
            CallEvent::End { call, name, result, duration, .. } => {
                self.ended(*call, name, *result, *duration);
            }
        }
    }

    /// Waits until there is room for the rows of another call.
    ///
    /// # Errors
    /// If the trail cannot be written.
    pub(crate) async fn room(&self) -> Result<(), AuditError> {
        self.writer.room().await
    }

    /// Whether there is room for the rows of another call.
    pub(crate) fn has_room(&self) -> bool {
        self.writer.has_room()
    }

    /// Notes that a call is passed on towards its tool.
    pub(crate) fn sent(&self, call: u64) {
        if let Some(open) = self.open().get_mut(&call) {
            open.is_sent = true;
        }
    }

    /// Waits until all rows of a call are on disk.
    ///
    /// # Errors
    /// If the trail cannot be written.
    pub(crate) async fn written(&self, call: u64) -> Result<(), AuditError> {
        let last_row = self.open().get(&call).map_or(0, |open| open.last_row);
        self.writer.written(last_row).await
    }

    fn decided(&self, call: &ResolvedCall, decision: &Decision, permitted_by: Option<&PolicyRule>) {
        let (decision, rule) = match decision {
            Decision::Allow => {
                (AuditDecision::Allow, permitted_by.map(|it| format!("policy {}", it.name)))
            }
            Decision::Deny(rule) => (AuditDecision::Deny, Some(rule.name().into_owned())),
            Decision::Ask(rule) => (AuditDecision::Ask, Some(rule.name())),
        };
        let rule = rule.map(|rule| bounded(&rule, MAX_NAME_BYTES));
        let arguments = self.arguments(call.arguments.get());
        self.write(call.id, &call.name, AuditEvent::Decided { decision, rule, arguments });
    }

    fn answered(&self, call: &ResolvedCall, question: QuestionKind, answer: &AnsweredVerdict) {
        let edited = match &answer.verdict {
            Verdict::Approve { arguments: Some(arguments), .. } => Some(arguments.to_string()),
            _ => None,
        };
        let event = AuditEvent::Answered {
            question,
            verdict: answer.verdict.name().to_owned(),
            by: bounded(&answer.by, MAX_NAME_BYTES),
            way: answer.way,
            arguments: edited.map(|arguments| self.arguments(&arguments)),
        };
        self.write(call.id, &call.name, event);
    }

    fn ended(
        &self,
        call: u64,
        name: &CallableName,
        result: Option<&CallResult>,
        duration: Duration,
    ) {
        // A call that was answered from the journal, or that was over a limit, has no rows.
        let Some(open) = self.open().remove(&call) else { return };
        let outcome = match result {
            Some(Ok(_)) => AuditOutcome::Ok,
            Some(Err(error)) => AuditOutcome::of_error(error),
            None if !self.journal.is_some_and(Journal::is_abandoned) => AuditOutcome::Cancelled,
            None if open.is_sent => AuditOutcome::Unknown,
            // The call was not sent, and another process continues the run.
            None => return,
        };
        let is_cached = |answer: &onecall_core::Answer| answer.origin == AnswerOrigin::Cache;
        let cached = result.is_some_and(|result| result.as_ref().is_ok_and(is_cached));
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let event = AuditEvent::Ended { outcome, cached, duration_us };
        self.writer.add(self.entry(call, name, event));
    }

    fn write(&self, call: u64, name: &CallableName, event: AuditEvent) {
        let entry = self.entry(call, name, event);
        // The map is locked first, so that the rows of a call are in the order of its events.
        let mut open = self.open();
        let last_row = self.writer.add(entry);
        let is_sent = open.get(&call).is_some_and(|open| open.is_sent);
        open.insert(call, OpenAudit { last_row, is_sent });
    }

    fn entry(&self, call: u64, name: &CallableName, event: AuditEvent) -> AuditEntry {
        AuditEntry {
            at: Timestamp::now(),
            user: self.run.principal.user.as_str().to_owned(),
            groups: self.groups.clone(),
            client: bounded(&self.run.client, MAX_NAME_BYTES),
            call: Some(AuditedCall {
                run: self.run.id.as_str().to_owned(),
                kind: self.run.kind.name().to_owned(),
                program: self.run.program.map(|digest| digest.to_string()),
                tool: bounded(name.as_str(), MAX_NAME_BYTES),
                id: call,
            }),
            event,
        }
    }

    /// What is kept of arguments. Secrets are removed from the text by the thread that writes it.
    fn arguments(&self, text: &str) -> AuditedArguments {
        AuditedArguments {
            sha256: Digest::of(text).to_string(),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            text: match self.writer.detail() {
                AuditDetail::Digest => None,
                AuditDetail::Full => Some(bounded(text, MAX_ARGUMENT_BYTES)),
            },
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, OpenAudit>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text of at most `limit` bytes; `…` stands for the rest.
fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// As many groups as are kept; `…` stands for the rest.
fn bounded_groups<'a>(groups: impl Iterator<Item = &'a String>) -> Vec<String> {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for group in groups {
        bytes += group.len();
        if bytes > MAX_GROUPS_BYTES {
            kept.push("…".to_owned());
            break;
        }
        kept.push(group.clone());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 5), "äö…");
        assert_eq!(bounded("äöü", 1), "…");
        let groups = vec!["g".repeat(3_000); 3];
        let kept = bounded_groups(groups.iter());
        assert_eq!(kept, ["g".repeat(3_000), "…".to_owned()]);
    }
}
