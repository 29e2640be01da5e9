//! The storage trait for approvals: open questions, answers, and approvals that cover later calls.

use super::StoreError;
use crate::{AnsweredVerdict, ApprovalQuestion, CallableName, ItemId, RunId, Timestamp, UserName};

/// A question with its answer, if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredQuestion {
    /// The question.
    pub question: ApprovalQuestion,
    /// Whether it is open, and the answer if it was answered.
    pub state: QuestionState,
    /// When a gateway announces the question to its webhook, unless that is done by then. `None` if it is
    /// done, or the gateway that asked has no webhook.
    pub announce: Option<Timestamp>,
}

/// What has become of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionState {
    /// The question waits for an answer.
    Open,
    /// The question was answered.
    Answered(AnsweredVerdict),
    /// The program cancelled the call, or its run has ended.
    Withdrawn,
}

/// The result of answering a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerReceipt {
    /// This answer counts.
    Accepted,
    /// The question was answered before; that answer counts.
    AlreadyAnswered(AnsweredVerdict),
    /// The question was withdrawn, or its run has ended.
    Withdrawn,
    /// The verdict is not an answer to this kind of question, for example that a call happened where
    /// an approval is asked for. The question stays as it was.
    DoesNotFit,
    /// The gateway that asks does not let people answer in this way. The question stays as it was.
    WayNotAllowed,
    /// The question had expired when the answer was given: it counts as denied, or as given up.
    Expired,
    /// There is no such question.
    Unknown,
}

/// An approval that covers later calls of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The question whose answer it is.
    pub item: ItemId,
    /// The tool.
    pub name: CallableName,
    /// The user whose calls it covers.
    pub user: UserName,
    /// The run that it is limited to, if it is.
    pub run: Option<RunId>,
    /// The values that arguments must have, by argument name.
    pub constraints: serde_json::Map<String, serde_json::Value>,
    /// When it ends; `None` if it ends with its run.
    pub until: Option<Timestamp>,
    /// Who gave it.
    pub by: String,
}

/// Selects questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// Only questions of this run.
    pub run: Option<RunId>,
    /// Only open questions.
    pub open: bool,
    /// Only questions of runs of this user that are stored.
    pub user: Option<UserName>,
    /// Only questions that were answered at this time or later; those whose answers are the newest come first.
    pub answered_since: Option<Timestamp>,
    /// The largest number of questions.
    pub limit: Option<usize>,
}

/// Stores approvals. Every write is on disk when its method returns.
pub trait Approvals: Send + Sync {
    /// Adds a question. If the item was stored before with the same kind of question, the stored one
    /// is kept and returned, with its answer if there is one; a question of another kind replaces it.
    /// A question that is still open may from now on be answered in the ways of the new one.
    /// If the run has ended, the question is not stored, and the result says that it is withdrawn.
    /// A run with an open question waits from the same moment on, so that no crash can leave a
    /// question that no process continues. A new question is to be announced: by the caller, and by other
    /// processes from `announce` on if that is not [done](Self::end_announcement) by then.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn add_question(
        &self,
        question: &ApprovalQuestion,
        announce: Option<Timestamp>,
    ) -> Result<StoredQuestion, StoreError>;

    /// The question with this id, if it is stored.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn question(&self, item: &ItemId) -> Result<Option<StoredQuestion>, StoreError>;

    /// The questions that match the filter, oldest first unless the filter says otherwise.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn questions(&self, filter: &QuestionFilter) -> Result<Vec<StoredQuestion>, StoreError>;

    /// Takes over the announcement of questions of a run, which are given with their
    /// [`announce`](StoredQuestion::announce): from now on the caller announces them, and other processes only
    /// from `until` on. The result has those that are open and that no other process has taken over.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn claim_announcement(
        &self,
        run: &RunId,
        questions: &[(ItemId, Timestamp)],
        until: Timestamp,
    ) -> Result<Vec<ItemId>, StoreError>;

    /// Notes that questions of a run have been announced, so that no process does it again.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn end_announcement(&self, run: &RunId, items: &[ItemId]) -> Result<(), StoreError>;

    /// Answers a question. The first answer that fits the question and comes in one of its ways
    /// counts. An approval that covers later calls is kept as a [`Grant`].
    ///
    /// # Errors
    /// If the store cannot be written.
    fn answer_question(
        &self,
        item: &ItemId,
        answer: &AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError>;

    /// Withdraws a question that is open.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn withdraw_question(&self, item: &ItemId) -> Result<(), StoreError>;

    /// The approvals that cover later calls of this tool by this user in this run at `now`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn grants(
        &self,
        name: &CallableName,
        run: &RunId,
        user: &UserName,
        now: Timestamp,
    ) -> Result<Vec<Grant>, StoreError>;

    /// All approvals that cover later calls at `now`, by the ids of their questions.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn all_grants(&self, now: Timestamp) -> Result<Vec<Grant>, StoreError>;

    /// Takes back the approval of later calls that was the answer to this question. The call that was
    /// asked about stays approved. The result is `false` if there is no such approval.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn revoke_grant(&self, item: &ItemId) -> Result<bool, StoreError>;

    /// A number that changes whenever any process changes questions, approvals of later calls, or durable
    /// runs; it may change with other writes, too. A change by a process on another machine is noticed
    /// within a second. It is cheap to read.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn change_number(&self) -> Result<i64, StoreError>;

    /// The secret key by which request states are sealed. It is made when it is first needed, and all
    /// processes that share the store use the same.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    fn sealing_key(&self) -> Result<[u8; 32], StoreError>;
}
