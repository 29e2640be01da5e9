//! The storage trait for the audit trail: who called which tool, who decided that, and how it ended.
//! Rows are only added. Each row has the digest of itself and the row before (`audit_chain.rs`).

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::audit_chain::{AuditHead, ExpectedHead};
use super::audit_report::AuditReport;
use crate::{ApprovalWay, Digest, QuestionKind, RunId, Timestamp, ToolError, ToolPattern};

/// What the trail keeps of one event. Its JSON form is what the digest of the row is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When it happened.
    #[serde(rename = "at_ms", with = "milliseconds")]
    pub at: Timestamp,
    /// The user.
    pub user: String,
    /// The groups that the user had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The name that the client gives itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The call that the event is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AuditedCall>,
    /// What happened.
    pub event: AuditEvent,
}

/// Identifies a call in the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedCall {
    /// The run that makes the call.
    pub run: String,
    /// The kind of the run, such as `program` or `plan`.
    pub kind: String,
    /// The SHA-256 digest of the program as it was received, in hexadecimal, if there is a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The tool as the program named it.
    pub tool: String,
    /// The number of the call in its run.
    pub id: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum AuditEvent {
    /// It was decided whether a call may be made. The call has begun.
    Decided {
        /// The decision.
        decision: AuditDecision,
        /// The rule behind the decision, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The arguments that the program wrote.
        arguments: AuditedArguments,
    },
    /// A person, or an earlier approval, decided about a call.
    Answered {
        /// What was asked.
        question: QuestionKind,
        /// The name of the verdict, such as `approve`.
        verdict: String,
        /// Who decided.
        by: String,
        /// The way in which it was decided.
        way: ApprovalWay,
        /// The arguments that the person wrote instead of those of the program, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<AuditedArguments>,
    },
    /// A call ended.
    Ended {
        /// How it ended.
        outcome: AuditOutcome,
        /// Whether the answer came from the cache.
        #[serde(default, skip_serializing_if = "is_false")]
        cached: bool,
        /// How long the call took, in microseconds.
        duration_us: u64,
    },
    /// A gateway began to serve.
    Started {
        /// The version of onecall.
        version: String,
        /// The number of its process.
        process: u32,
    },
    /// A gateway stopped.
    Stopped {
        /// The number of its process.
        process: u32,
    },
    /// Something that decides about calls was changed, such as the users or the policy.
    Changed {
        /// The change, for people.
        change: String,
    },
    /// Old rows were removed. Their checkpoint has the same numbers.
    Pruned {
        /// The number of the last row that was removed.
        through: u64,
        /// How many rows were removed.
        removed: u64,
        /// The digest of the last row that was removed, in hexadecimal.
        digest: String,
    },
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditDecision {
    /// The call may be made.
    Allow,
    /// The call may not be made.
    Deny,
    /// A person has to decide.
    Ask,
}

/// What is kept of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedArguments {
    /// The SHA-256 digest of the whole text, in hexadecimal.
    pub sha256: String,
    /// The size of the whole text.
    pub bytes: u64,
    /// The text without secrets, if arguments are kept. It ends with `…` if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// The tool answered.
    Ok,
    /// The tool, its server or the connection failed.
    Failed,
    /// The arguments did not fit, so the call was not sent.
    InvalidCall,
    /// The call was not sent for another reason.
    NeverSent,
    /// The configuration excludes the tool.
    NotAvailable,
    /// The definition of the tool differs from the pinned one.
    Quarantined,
    /// The policy forbids the call.
    Forbidden,
    /// A person denied the call.
    Denied,
    /// The program has used up its calls.
    QuotaExceeded,
    /// The run ended first. The tool may have done its work.
    Cancelled,
    /// This process gave the run up while the call was under way; another process may continue it.
    Unknown,
}

impl AuditOutcome {
    /// The outcome of a call that failed with this error.
    #[must_use]
    pub fn of_error(error: &ToolError) -> Self {
        match error {
            ToolError::Failed { .. } => Self::Failed,
            ToolError::InvalidCall { .. } => Self::InvalidCall,
            ToolError::NeverSent { .. } => Self::NeverSent,
            ToolError::NotAvailable { .. } => Self::NotAvailable,
            ToolError::Quarantined { .. } => Self::Quarantined,
            ToolError::Forbidden { .. } => Self::Forbidden,
            ToolError::Denied { .. } => Self::Denied,
            ToolError::QuotaExceeded { .. } => Self::QuotaExceeded,
        }
    }

    /// The outcome in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::InvalidCall => "invalid arguments",
            Self::NeverSent => "never sent",
            Self::NotAvailable => "not available",
            Self::Quarantined => "quarantined",
            Self::Forbidden => "forbidden",
            Self::Denied => "denied",
            Self::QuotaExceeded => "over the limit of calls",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl AuditEntry {
    /// An entry of the local user that is not about a call.
    #[must_use]
    pub fn of_gateway(at: Timestamp, event: AuditEvent) -> Self {
        let (user, groups, client) =
            (crate::UserName::local().to_string(), Vec::new(), String::new());
        Self { at, user, groups, client, call: None, event }
    }

    /// The run that the entry is about; empty if there is none.
    #[must_use]
    pub fn run(&self) -> &str {
        self.call.as_ref().map_or("", |call| &call.run)
    }

    /// The tool that the entry is about; empty if there is none.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.call.as_ref().map_or("", |call| &call.tool)
    }

    /// Whether the entry says what was decided about a call, by a rule or a person.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        matches!(self.event, AuditEvent::Decided { .. } | AuditEvent::Answered { .. })
    }

    /// Whether the entry says that a call may not be made: by a rule, or because a person denied it.
    #[must_use]
    pub fn is_denial(&self) -> bool {
        match &self.event {
            AuditEvent::Decided { decision, .. } => *decision == AuditDecision::Deny,
            AuditEvent::Answered { verdict, .. } => verdict == "deny" || verdict == "give_up",
            _ => false,
        }
    }
}

/// A row of the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, from 1, without gaps.
    pub number: u64,
    /// What it records.
    pub entry: AuditEntry,
    /// The digest of the row and all rows before it.
    pub digest: Digest,
}

/// Selects rows of the trail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only rows of this user.
    pub user: Option<String>,
    /// Only rows about tools whose name matches this pattern.
    pub tool: Option<ToolPattern>,
    /// Only rows of the runs whose identifier begins with this.
    pub run: Option<RunId>,
    /// Only rows of this run that decide about a call.
    pub decisions_of: Option<RunId>,
    /// Only rows of this time or later.
    pub since: Option<Timestamp>,
    /// Only rows that deny a call.
    pub denied: bool,
    /// Only rows whose number is less than this.
    pub before: Option<u64>,
    /// Only rows whose number is greater than this.
    pub after: Option<u64>,
    /// The largest number of rows; the newest are returned.
    pub limit: Option<usize>,
}

impl AuditFilter {
    /// Whether the filter selects an entry, whatever its number and the limit are.
    #[must_use]
    pub fn selects(&self, entry: &AuditEntry) -> bool {
        self.user.as_ref().is_none_or(|user| *user == entry.user)
            && self.tool.as_ref().is_none_or(|pattern| pattern.matches(entry.tool()))
            && self.run.as_ref().is_none_or(|run| entry.run().starts_with(run.as_str()))
            && self.since.is_none_or(|since| entry.at >= since)
            && (!self.denied || entry.is_denial())
            && self
                .decisions_of
                .as_ref()
                .is_none_or(|run| entry.run() == run.as_str() && entry.is_decision())
    }
}

/// Stores the audit trail. Its methods block, so they are called from threads that may wait.
pub trait AuditTrail: Send + Sync {
    /// Adds rows to the end of the trail in this order, all or none. They are on disk when this
    /// returns. Several processes may add rows to one trail.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError>;

    /// The rows that match the filter, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// The number and the digest of the newest row; `None` if there never was a row.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn audit_head(&self) -> Result<Option<AuditHead>, StoreError>;

    /// Checks the whole trail. If `expected` is given, a row must have that digest.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn verify_audit(&self, expected: Option<ExpectedHead>) -> Result<AuditReport, StoreError>;

    /// Removes the oldest rows up to the first one that is not older than `before`, and leaves a
    /// checkpoint. Returns how many were removed. A trail that is not intact is left as it is.
    ///
    /// # Errors
    /// If the store cannot be written, or the rows to be removed are not intact.
    fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<u64, StoreError>;
}

fn is_false(value: &bool) -> bool {
    !value
}

mod milliseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Timestamp;

    pub(super) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.0.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp)
    }
}
