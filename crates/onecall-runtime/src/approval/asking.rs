//! Asks a person about one call of a run.

use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ItemId, QuestionKind, ResolvedCall, RunId, Timestamp,
};
use onecall_engine::HeldCalls;
use thiserror::Error;

use super::{ApprovalDesk, DeskError};
use crate::call_log::LogWriter;
use crate::journal::{Journal, JournalError};

/// Asks people about the calls of one run.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) desk: &'a dyn ApprovalDesk,
    pub(crate) held: &'a HeldCalls,
    pub(crate) journal: Option<&'a Journal>,
    pub(crate) log: LogWriter<'a>,
}

/// Why a person could not be asked.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    /// The journal up to the question is not on disk.
    #[error("the journal cannot be written: {0}")]
    Journal(#[from] JournalError),
    /// The desk has no answer.
    #[error(transparent)]
    Desk(#[from] DeskError),
}

impl Asking<'_> {
    /// Asks a question and waits for the answer. While it waits, the call is held; if the call is
    /// cancelled, the question is withdrawn.
    pub(crate) async fn ask(
        &self,
        call: &ResolvedCall,
        kind: QuestionKind,
        item: ItemId,
        rule: String,
    ) -> Result<AnsweredVerdict, AskError> {
        let _held = self.held.hold(call.id);
        if let Some(journal) = self.journal {
            journal.sync().await?;
        }
        let asked = Timestamp::now();
        let question = ApprovalQuestion {
            item: item.clone(),
            run: call.run.id.clone(),
            call: call.id,
            kind,
            name: call.name.clone(),
            line: call.site.as_ref().map(|site| site.line).filter(|line| *line > 0),
            arguments: call.arguments.get().to_owned(),
            rule,
            asked,
            expires: asked.after(self.desk.lifetime()),
            ways: self.desk.ways(),
        };
        let mut open = OpenQuestion { asking: self, run: &call.run.id, item: Some(item) };
        let answer = self.desk.ask(question).await;
        open.item = None;
        let answer = answer?;
        self.log.verdict(call, kind, &answer);
        Ok(answer)
    }
}

/// A question that waits for its answer. Dropping it withdraws the question, unless this process
/// gives the run up.
struct OpenQuestion<'a> {
    asking: &'a Asking<'a>,
    run: &'a RunId,
    /// `None` once it is answered.
    item: Option<ItemId>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let is_abandoned = self.asking.journal.is_some_and(Journal::is_abandoned);
        if let Some(item) = self.item.take().filter(|_| !is_abandoned) {
            self.asking.desk.withdraw(self.run, &item);
        }
    }
}
