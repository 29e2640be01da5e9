//! What is remembered of a run.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use onecall_core::Tokens;
use serde::Serialize;

use crate::{StoreError, Timestamp};

/// Names a run: short, in the order of time, and like no other of any process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

/// Digits that are in the order of their bytes, and cannot be taken for one another.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl RunId {
    /// A name for a run that began at `started`: nine digits of the time, five of chance.
    #[must_use]
    pub fn new(started: Timestamp) -> Self {
        // Keyed at random by the standard library, differently each time.
        let chance = RandomState::new().hash_one(std::process::id());
        let time = u64::try_from(started.0).unwrap_or(0);
        Self(digits(time, 9) + &digits(chance, 5))
    }

    /// Takes a name as it is.
    pub fn known(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The last `count` digits of a number.
fn digits(number: u64, count: u32) -> String {
    let places = (0..count).rev().map(|place| (number >> (5 * place)) & 31);
    let digit = |value: u64| usize::try_from(value).ok().and_then(|at| DIGITS.get(at));
    places.filter_map(digit).map(|digit| char::from(*digit)).collect()
}

/// A run with everything that is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The run itself.
    pub run: RunSummary,
    /// The text of the program; secrets of the configuration are taken out.
    pub program: String,
    /// The definitions of the tools it called, as JSON, if they are kept.
    pub tools: Option<String>,
    /// What it printed, if that is kept.
    pub output: Option<String>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallFacts>,
}

/// A run without its text and its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// When it began.
    pub started: Timestamp,
    /// Who asked for it.
    pub client: String,
    /// What it came as: `program`, `plan` or `exec`.
    pub kind: String,
    /// What it is written in.
    pub language: String,
    /// What was to run it.
    pub engine: String,
    /// The session it ran in.
    pub session: Option<String>,
    /// SHA-256 of the program as it came, in hexadecimal.
    pub program_hash: String,
    /// `ok`, or why it did not come to its end.
    pub outcome: String,
    /// The class and the text of the error that ended it.
    pub error: Option<(String, String)>,
    /// How long it took.
    pub duration: Duration,
    /// Bytes that it printed, as far as they were kept.
    pub output_bytes: u64,
    /// Whether it printed more.
    pub output_truncated: bool,
    /// How many calls it made; those that were not recorded count, too.
    pub call_count: u64,
    /// How many of them failed.
    pub failed_calls: u64,
    /// How many were answered from the cache.
    pub cached_calls: u64,
    /// What it was worth, once that is counted.
    pub tokens: Option<Tokens>,
    /// How much of it is kept.
    pub detail: RunDetail,
}

/// How much is kept of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDetail {
    /// No arguments, results or output.
    Metadata,
    /// Everything, so that it can be run again without a server.
    Full,
}

impl RunDetail {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Full => "full",
        }
    }
}

/// One call of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    /// The tool as the program named it.
    pub name: String,
    /// The server it lives on.
    pub server: String,
    /// SHA-256 of the arguments, in hexadecimal.
    pub arguments_hash: String,
    /// Their size.
    pub arguments_bytes: u64,
    /// The size of the answer.
    pub result_bytes: u64,
    /// Since the start of the run.
    pub started: Duration,
    /// `None` if the run ended first.
    pub duration: Option<Duration>,
    /// Why it gave nothing.
    pub error: Option<String>,
    /// Whether the answer came from the cache.
    pub cached: bool,
    /// The arguments as JSON, if they are kept.
    pub arguments: Option<String>,
    /// The answer, if it is kept: its kind (`nothing`, `json` or `text`) and its text.
    pub result: Option<(String, String)>,
    /// Tokens that a model would have spent on it with a direct call.
    pub tokens: Option<u64>,
}

/// Which runs are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only those that failed.
    pub failed: bool,
    /// Only those that called a tool whose name has this in it.
    pub tool: Option<String>,
    /// Only those that began then or later.
    pub since: Option<Timestamp>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// What a shortened name of a run led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// One run.
    One(Box<RunRecord>),
    /// None.
    Nothing,
    /// More than one; the newest of them.
    Several(Vec<RunId>),
}

/// How long runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Those that began longer ago go.
    pub keep: Duration,
    /// The oldest go until the others take no more.
    pub max_bytes: u64,
}

/// Remembers runs.
pub trait Runs: Send + Sync {
    /// Keeps a run.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError>;

    /// Corrects what a run and each of its calls was worth.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_tokens(&self, id: &RunId, tokens: Tokens, calls: &[u64]) -> Result<(), StoreError>;

    /// The runs that are wanted, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError>;

    /// The run whose name begins like this.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn find_run(&self, beginning: &str) -> Result<Found, StoreError>;

    /// Hands every call of the runs since then to `visit`, run by run. Arguments and results
    /// are left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn each_call(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(&RunId, CallFacts),
    ) -> Result<(), StoreError>;

    /// Removes what need not be kept any longer, and says how many runs those were.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_runs_are_in_the_order_of_time_and_differ() {
        let earlier = RunId::new(Timestamp(1_778_311_773_000));
        let later = RunId::new(Timestamp(1_778_311_773_001));
        assert!(earlier < later, "{earlier} {later}");
        assert_eq!(earlier.as_str().len(), 14);
        let names: BTreeSet<_> = (0..100).map(|_| RunId::new(Timestamp(5))).collect();
        assert!(names.len() > 95);
    }
}
