//! What is remembered of a run.

use std::time::Duration;

use super::StoreError;
use crate::text::tokens_of_size;
use crate::{RunId, TextSizes, Timestamp, Tokens};

/// What a run and a call take beside their texts, about.
const RUN_BYTES: usize = 400;
const CALL_BYTES: usize = 200;

/// A run with everything that is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The run itself.
    pub run: RunSummary,
    /// The text of the program; secrets of the configuration are taken out.
    pub program: String,
    /// What it found in `sys.argv`, without secrets of the configuration; empty for a program
    /// that was not started from a command line.
    pub argv: Vec<String>,
    /// The definitions of the tools it called, as JSON, if they are kept.
    pub tools: Option<String>,
    /// What it printed, if that is kept.
    pub output: Option<String>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallFacts>,
}

impl RunRecord {
    /// What it takes in a store, about.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let calls = self.calls.iter().map(|call| {
            let result = call.result.as_ref().map_or(0, |(_, text)| text.len());
            CALL_BYTES + length(&call.arguments) + length(&call.error) + result
        });
        RUN_BYTES
            + self.program.len()
            + self.argv.iter().map(String::len).sum::<usize>()
            + length(&self.output)
            + length(&self.tools)
            + calls.sum::<usize>()
    }
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
    /// The sizes of what its agent read and wrote; none for a single call, which saves nothing.
    pub sizes: Option<TextSizes>,
    /// The tokens of a run that was recorded by a version that counted them.
    pub counted_tokens: Option<Tokens>,
    /// How much of it is kept.
    pub detail: RunDetail,
}

impl RunSummary {
    /// What the run cost and saved: as it was counted, or else estimated from the sizes.
    #[must_use]
    pub fn tokens(&self) -> Option<Tokens> {
        self.counted_tokens.or_else(|| self.sizes.map(TextSizes::tokens))
    }
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
    /// The rule that kept the call from being made, if one did.
    pub denied_by: Option<String>,
    /// Whether the answer came from the cache.
    pub cached: bool,
    /// The arguments as JSON, if they are kept.
    pub arguments: Option<String>,
    /// The answer, if it is kept: its kind (`nothing`, `json` or `text`) and its text.
    pub result: Option<(String, String)>,
    /// The tokens of a call that was recorded by a version that counted them.
    pub counted_tokens: Option<u64>,
}

impl CallFacts {
    /// The tokens that a model would have spent on it with a direct call: as they were counted, or
    /// else estimated from the sizes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.counted_tokens.unwrap_or_else(|| {
            let written = self.name.len() + self.error.as_ref().map_or(0, String::len);
            let written = u64::try_from(written).unwrap_or(u64::MAX);
            let sent = self.arguments_bytes.saturating_add(self.result_bytes);
            tokens_of_size(sent.saturating_add(written))
        })
    }
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
