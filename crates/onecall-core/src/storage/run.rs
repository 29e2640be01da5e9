//! The storage trait for run records, and the records themselves.

use std::path::PathBuf;
use std::time::Duration;

use super::{FigureQuery, PeriodFigures, ReplayData, StoreError};
use crate::text::tokens_of_size;
use crate::{Picture, RunId, TextSizes, Timestamp, TokenUsage, UserName};

/// The approximate size of a run and of a call, not counting their texts.
const RUN_BYTES: usize = 400;
const CALL_BYTES: usize = 200;

/// The name of the client in the records of programs that commands run.
pub const COMMAND_LINE_CLIENT: &str = "command line";

/// The complete record of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The run itself.
    pub run: RunSummary,
    /// The source text of the program, with the secrets of the configuration removed.
    pub program: String,
    /// The content of `sys.argv`, with the secrets of the configuration removed; empty for a
    /// program that was not started from a command line.
    pub argv: Vec<String>,
    /// The definitions of the tools it called, as JSON, if they are recorded.
    pub tools: Option<String>,
    /// The line of the program where the error happened that ended the run, if it is known.
    pub error_line: Option<u64>,
    /// The text that the program printed, if output is recorded.
    pub output: Option<String>,
    /// The pictures that the program showed, if output is recorded; `None` for one that was not kept, because
    /// it is too large or of a format that is not shown.
    pub pictures: Vec<Option<Picture>>,
    /// The calls of the run, in the order in which they began.
    pub calls: Vec<StoredCall>,
    /// What a replay of the run needs.
    pub replay: ReplayData,
}

impl RunRecord {
    /// The approximate size of the record in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.stored_bytes() + self.replay.memory_bytes()
    }

    /// The approximate size of the record in a store, without the journal: how much that takes is
    /// known when it has been compressed.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let calls = self.calls.iter().map(|call| {
            let result = call.result.as_ref().map_or(0, |(_, text)| text.len());
            CALL_BYTES + length(&call.arguments) + length(&call.error) + result
        });
        let pictures = self.pictures.iter().flatten().map(|picture| picture.data().len());
        RUN_BYTES
            + self.program.len()
            + pictures.sum::<usize>()
            + self.argv.iter().map(String::len).sum::<usize>()
            + length(&self.output)
            + length(&self.tools)
            + calls.sum::<usize>()
    }
}

/// A run without its source text and its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The identifier of the run.
    pub id: RunId,
    /// When the run began.
    pub started: Timestamp,
    /// The user that the run was for.
    pub user: UserName,
    /// The client that asked for the run.
    pub client: String,
    /// The kind of run, such as `program`, `plan` or `exec`.
    pub kind: String,
    /// The language of the program.
    pub language: String,
    /// The engine that was chosen.
    pub engine: String,
    /// The session that it used.
    pub session: Option<String>,
    /// The SHA-256 digest of the program as it was received, in hexadecimal.
    pub program_hash: String,
    /// `ok`, or the kind of failure.
    pub outcome: String,
    /// The class and the text of the error that ended it.
    pub error: Option<(String, String)>,
    /// The duration of the run.
    pub duration: Duration,
    /// The bytes of its output that were kept.
    pub output_bytes: u64,
    /// Whether the output was longer than what was kept.
    pub output_truncated: bool,
    /// The number of its calls, including those without a record.
    pub call_count: u64,
    /// The number of its calls that failed.
    pub failed_calls: u64,
    /// The number of its calls that were answered from the cache.
    pub cached_calls: u64,
    /// The sizes of the texts that its agent read and wrote; `None` for a single call, which saves
    /// nothing.
    pub sizes: Option<TextSizes>,
    /// The counted tokens, if they were counted: those of a run that is recorded as a whole, some time
    /// after it has ended.
    pub counted_tokens: Option<TokenUsage>,
    /// How much of the run is recorded.
    pub detail: RunDetail,
}

impl RunSummary {
    /// The tokens that the run cost and saved: the counted ones, or else an estimate from the
    /// sizes.
    #[must_use]
    pub fn tokens(&self) -> Option<TokenUsage> {
        self.counted_tokens.or_else(|| self.sizes.map(TextSizes::tokens))
    }

    /// The tokens that an agent used and saved with the run. A run from the command line saves none: no
    /// model would have made its calls.
    #[must_use]
    pub fn agent_tokens(&self) -> Option<TokenUsage> {
        self.tokens().filter(|_| self.client != COMMAND_LINE_CLIENT)
    }
}

/// How much of a run is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDetail {
    /// Everything except arguments, results and output.
    Metadata,
    /// Everything, and the journal of a program, so that the run can be replayed without servers.
    Full,
}

impl RunDetail {
    /// The name of the level in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Full => "full",
        }
    }
}

/// The record of one call of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCall {
    /// The tool as the program named it.
    pub name: String,
    /// The server of the tool.
    pub server: String,
    /// The SHA-256 digest of the arguments, in hexadecimal.
    pub arguments_hash: String,
    /// The size of the arguments.
    pub arguments_bytes: u64,
    /// The size of the answer.
    pub result_bytes: u64,
    /// The time from the start of the run to the start of the call.
    pub started: Duration,
    /// The duration of the call; `None` if the run ended first.
    pub duration: Option<Duration>,
    /// The error message of the call, if it failed.
    pub error: Option<String>,
    /// The rule that rejected the call, if one did.
    pub denied_by: Option<String>,
    /// Whether the answer came from the cache.
    pub cached: bool,
    /// The arguments as JSON, if they are recorded.
    pub arguments: Option<String>,
    /// The answer, if it is recorded: its kind (`nothing`, `json`, `text` or `content`) and its
    /// text.
    pub result: Option<(String, String)>,
    /// The counted tokens, if the call was recorded by a version that counted them.
    pub counted_tokens: Option<u64>,
}

impl StoredCall {
    /// The tokens that a model would have spent on this call as a direct call: the counted ones, or
    /// else an estimate from the sizes.
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

/// The longest arguments of a call, in bytes, that a search for a text reads. Without a limit, a search would read
/// every large value in the store.
pub const MAX_SEARCHED_ARGUMENTS: u32 = 4_096;

/// Selects runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs that failed.
    pub failed: bool,
    /// Only runs that called a tool whose name contains this text.
    pub tool: Option<String>,
    /// Only runs of this user.
    pub user: Option<UserName>,
    /// Only runs whose client has a name that contains this text.
    pub client: Option<String>,
    /// Only runs that called a tool of a server whose name contains this text.
    pub server: Option<String>,
    /// Only runs with this outcome: `ok`, or a kind of failure.
    pub outcome: Option<String>,
    /// Only runs with this text in their identifier, program, output or error, in the error of a call, or in
    /// recorded arguments of a call that are at most [`MAX_SEARCHED_ARGUMENTS`] bytes long.
    pub text: Option<String>,
    /// Only runs that began at this time or later.
    pub since: Option<Timestamp>,
    /// Only runs that began before this time.
    pub until: Option<Timestamp>,
    /// Only runs that come after this one in the list, which has the newest first.
    pub after: Option<RunPosition>,
    /// The largest number of runs; the newest are returned.
    pub limit: Option<usize>,
}

/// The position of a run in the list of all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPosition {
    /// When the run began.
    pub started: Timestamp,
    /// The identifier of the run.
    pub id: RunId,
}

/// The result of looking up a run by the beginning of its identifier.
#[derive(Clone, Debug, PartialEq)]
pub enum RunLookup {
    /// Exactly one run matches.
    One(Box<RunRecord>),
    /// No run matches.
    Nothing,
    /// Several runs match; these are the newest of them.
    Several(Vec<RunId>),
}

/// Of which calls the arguments and the result are read with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTexts {
    /// Of all calls.
    All,
    /// Of no call.
    None,
    /// Of the call with this index, in the order in which calls began.
    Of(usize),
}

/// How long run records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Runs that began longer ago than this are removed.
    pub max_age: Duration,
    /// The oldest runs are removed until the rest takes no more than this.
    pub max_bytes: u64,
}

/// Stores run records.
pub trait RunStore: Send + Sync {
    /// The files of earlier stores that were damaged, oldest first. Each was set aside, and an empty store has
    /// replaced it.
    fn damaged_files(&self) -> Vec<PathBuf>;

    /// Stores the record of a run.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError>;

    /// The runs that match the filter, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError>;

    /// When the run began that has `count` newer ones, among the runs that `filter` selects by user and time;
    /// the other conditions are not looked at. `None` if there are no more runs than that.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn start_of_run_at(
        &self,
        filter: &RunFilter,
        count: usize,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Looks up the run whose identifier begins with `beginning`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn find_run(&self, beginning: &str) -> Result<RunLookup, StoreError>;

    /// The record of a run, with the arguments and results that `texts` selects; `None` if there is no such run.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn run(&self, id: &RunId, texts: CallTexts) -> Result<Option<RunRecord>, StoreError>;

    /// Passes every call of the runs since `since` to `visit`, run by run, without arguments and
    /// results.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn for_each_call(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(&RunId, StoredCall),
    ) -> Result<(), StoreError>;

    /// The sums over the runs of a period. They include runs that were removed because they took too much
    /// space.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn figures(&self, query: &FigureQuery) -> Result<PeriodFigures, StoreError>;

    /// Adds some runs to the sums that are not in them yet, because an older version has stored them. Returns
    /// whether there may be more of them. Several processes may do this at once.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn add_older_runs_to_figures(&self) -> Result<bool, StoreError>;

    /// Stores the counted tokens of a run in the place of the estimate, and returns whether the run was there
    /// and not counted before.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn set_run_tokens(&self, run: &RunId, tokens: TokenUsage) -> Result<bool, StoreError>;

    /// Removes the runs that exceed `retention`, and returns how many were removed.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError>;
}
