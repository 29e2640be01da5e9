//! The interface to the people who decide about calls.

use std::time::Duration;

use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalWay, BoxFuture, ItemId, ResolvedCall, RunId,
};
use thiserror::Error;

/// Puts questions to people and returns their answers.
pub trait ApprovalDesk: Send + Sync {
    /// Asks about a call, and waits for the answer, however long that takes. Before this is called,
    /// the journal of the run is on disk.
    ///
    /// A question that was asked before, by this process or an earlier one, has the same
    /// [item](ApprovalQuestion::item): its stored answer is returned, if there is one. The desk
    /// returns [`DeskError::OtherCall`] if the stored question has another tool or other arguments.
    ///
    /// Dropping the future does not withdraw the question.
    ///
    /// # Errors
    /// If there can be no answer.
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<AnsweredVerdict, DeskError>>;

    /// Withdraws a question of a run, because the program has cancelled its call. It does not block.
    fn withdraw(&self, run: &RunId, item: &ItemId);

    /// The earlier approval that covers a call, if there is one. None covers a call that a person was
    /// asked about, by this process or an earlier one: its own answer counts, which [`Self::ask`]
    /// returns.
    fn covered<'a>(&'a self, call: &'a ResolvedCall) -> BoxFuture<'a, Option<AnsweredVerdict>>;

    /// The answer to a question that was asked before, if there is one.
    ///
    /// # Errors
    /// If it is not known whether there is an answer.
    fn verdict<'a>(
        &'a self,
        item: &'a ItemId,
    ) -> BoxFuture<'a, Result<Option<AnsweredVerdict>, DeskError>>;

    /// How long a question stays open.
    fn lifetime(&self) -> Duration;

    /// The ways in which questions may be answered.
    fn ways(&self) -> Vec<ApprovalWay>;
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeskError {
    /// The question cannot be stored or shown.
    #[error("{reason}")]
    Unavailable {
        /// The reason.
        reason: String,
    },
    /// The question was withdrawn, or its run has ended.
    #[error("the question was withdrawn")]
    Withdrawn,
    /// The stored question of this item is about another call.
    #[error("the stored question '{item}' is about another call", item = item.as_str())]
    OtherCall {
        /// The item.
        item: ItemId,
    },
}
