//! A call of a journalled run that is under way.

use onecall_core::{ToolError, ToolValue};

use super::Journal;

/// A call that is under way. Dropping it before [`Self::end`] journals it as cancelled.
pub(crate) struct OpenJournalCall<'a> {
    journal: &'a Journal,
    id: u64,
    is_over: bool,
}

impl Journal {
    /// Waits until a call may be made: until the program has repeated everything that the journal has.
    /// The error is the result of a call that the journal answers. A call that the program cancelled
    /// before waits until the program cancels it again. In a replay, every call without an end waits.
    pub(crate) async fn open_call(
        &self,
        id: u64,
    ) -> Result<OpenJournalCall<'_>, Result<ToolValue, ToolError>> {
        let recorded = self.recorded(id);
        if let Some(end) = recorded.and_then(|recorded| recorded.end) {
            return Err(end.clone());
        }
        if self.is_replay() || recorded.is_some_and(|recorded| recorded.is_cancelled) {
            return std::future::pending().await;
        }
        let open = OpenJournalCall { journal: self, id, is_over: false };
        self.wait_until_live().await;
        self.room().await;
        Ok(open)
    }
}

impl OpenJournalCall<'_> {
    /// Journals how the call ended.
    pub(crate) fn end(mut self, result: Result<ToolValue, ToolError>) {
        self.is_over = true;
        self.journal.ended(self.id, result);
    }
}

impl Drop for OpenJournalCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.journal.cancelled(self.id);
        }
    }
}
