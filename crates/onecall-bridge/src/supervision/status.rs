//! The status of servers at one moment, for commands and logs that people read.

use std::fmt;
use std::time::{Duration, Instant};

use onecall_core::text::with_thousands_separators;
use onecall_core::{ServerName, UserName};

use crate::supervision::pins::QuarantinedTool;

/// The target of log lines about unavailable servers. A command that reports failures itself
/// disables it.
pub const AVAILABILITY_LOG_TARGET: &str = "onecall_bridge::availability";

/// The target of log lines about the start, failure and stop of a server. They go to the log file
/// of the server.
pub const LIFECYCLE_LOG_TARGET: &str = "onecall_bridge::life";

/// The target of log lines that a server wrote itself: lines of its stderr, and log messages of
/// the protocol, which have a field `severity`.
pub const SERVER_LOG_TARGET: &str = "server";

/// A configured server and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStatus {
    /// The name of the server in the configuration.
    pub name: ServerName,
    /// The user that the server belongs to; `None` if all users share it.
    pub user: Option<UserName>,
    /// The transport: `stdio`, `http`, `sse`, or `local` for the local tools.
    pub transport: &'static str,
    /// The state of the server.
    pub state: ServerState,
    /// The tools of the server that programs may not call until the user accepts them.
    pub quarantined: Vec<QuarantinedTool>,
    /// How often the server was started again after a failure, since this process began.
    pub restarts: u64,
    /// Why not all of its tools are known, if its list exceeded a limit.
    pub cut: Option<ListingCut>,
}

/// Describes a tool list that was not read to its end. The display text names the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingCut {
    /// How many tools were kept.
    pub kept: usize,
    /// The limit that was exceeded.
    pub limit: ListingLimit,
}

/// A limit on tool lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingLimit {
    /// The number of tools, from the configuration.
    Tools(usize),
    /// The number of pages, from the configuration.
    Pages(usize),
    /// The bytes of all pages.
    Bytes(usize),
    /// The server sent a cursor twice, so the list would never end.
    RepeatedCursor,
}

impl fmt::Display for ListingCut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "only its first {} tools are known: ",
            with_thousands_separators(self.kept)
        )?;
        match self.limit {
            ListingLimit::Tools(most) => {
                write!(formatter, "'max_tools' in 'limits' is {}", with_thousands_separators(most))
            }
            ListingLimit::Pages(most) => {
                write!(formatter, "'max_pages' in 'limits' is {}", with_thousands_separators(most))
            }
            ListingLimit::Bytes(most) => {
                write!(formatter, "the list is longer than {} MiB", most / (1024 * 1024))
            }
            ListingLimit::RepeatedCursor => {
                formatter.write_str("the list begins again (a cursor came twice)")
            }
        }
    }
}

/// The state of a server. Text in it that comes from the server is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// The server starts when it is needed: it was not needed yet, or belongs to a user and was stopped
    /// because it was not used.
    Idle,
    /// The server was started for the first time and has not listed its tools yet.
    Connecting,
    /// The server was started for the first time, by a command that downloads what it runs, or it
    /// waits for other such servers.
    Installing {
        /// When the installation began.
        since: Instant,
    },
    /// Not a server but the local tools.
    Local {
        /// The number of local tools.
        tools: usize,
    },
    /// The tools of the server can be called.
    Ready {
        /// The name that the server reports.
        server_name: String,
        /// The version that the server reports.
        server_version: String,
        /// The protocol revision in use.
        protocol: String,
        /// The number of its tools.
        tools: usize,
        /// The time from the start to the tool list.
        took: Duration,
    },
    /// The server did not start, or has ended since.
    Failed {
        /// The reason.
        reason: String,
        /// The last lines of its stderr, to be appended to the reason. Only for people: a program
        /// must not read what servers write there.
        stderr_tail: String,
        /// The kind of problem.
        failure_kind: FailureKind,
        /// When it is started again.
        next_start: NextStart,
    },
}

/// The kind of problem that a server has, for code that suggests a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command does not exist.
    NoCommand,
    /// The command exists but cannot be executed.
    NotExecutable,
    /// The working directory does not exist.
    NoDirectory,
    /// The server did not become ready in time.
    TooSlow,
    /// The server exited or closed the connection.
    Ended,
    /// The user has to log in.
    LoggedOut,
    /// The server rejected the configured credentials.
    Unauthorized,
    /// Connecting to the server's address failed.
    Unreachable,
    /// The configuration entry refers to variables that are not set.
    Unresolved,
    /// Any other problem; the reason describes it.
    Other,
}

impl FailureKind {
    /// A short name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NoCommand => "command not found",
            Self::NotExecutable => "not executable",
            Self::NoDirectory => "no working directory",
            Self::TooSlow => "too slow",
            Self::Ended => "ended",
            Self::LoggedOut => "needs login",
            Self::Unauthorized => "unauthorized",
            Self::Unreachable => "unreachable",
            Self::Unresolved => "variable not set",
            Self::Other => "failed",
        }
    }
}

/// When a server that is not running is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStart {
    /// The server is started at this time.
    At(Instant),
    /// The server is being started.
    Now,
    /// When a request needs it: it belongs to a user.
    WhenNeeded,
    /// After the user has logged in; the reason says how.
    AfterLogin,
    /// After the configuration is reloaded with a usable entry.
    AfterReload,
    /// Never: the server was stopped.
    Never,
}
