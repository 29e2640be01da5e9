//! What is known about a server at one moment, for people to read.

use std::fmt;
use std::time::{Duration, Instant};

use onecall_core::ServerName;
use onecall_core::text::grouped;

use crate::supervision::pins::Quarantined;

/// The target of log lines that say that a server is not available. A command that reports
/// failures itself turns them off.
pub const AVAILABILITY_LOG_TARGET: &str = "onecall_bridge::availability";

/// The target of log lines that say when a server starts, fails and stops. They are for the log
/// file of the server.
pub const LIFE_LOG_TARGET: &str = "onecall_bridge::life";

/// The target of log lines that a server wrote itself: lines of its stderr, and log messages of
/// the protocol, which have a field `severity`.
pub const SERVER_LOG_TARGET: &str = "server";

/// A configured server and how it is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: ServerName,
    /// How it is reached: `stdio`, `http`, `sse`, or `local` if it is no server.
    pub transport: &'static str,
    /// How it is doing.
    pub state: ServerState,
    /// Its tools that programs may not call until they are accepted.
    pub quarantined: Vec<Quarantined>,
    /// Why not all of its tools are known, if its list went beyond a limit.
    pub cut: Option<ListingCut>,
}

/// The list of a server's tools that was not read to its end. The display text says at which
/// limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingCut {
    /// How many tools were kept.
    pub kept: usize,
    /// What the list went beyond.
    pub limit: ListingLimit,
}

/// What a list of tools may not go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingLimit {
    /// Tools, as the configuration says.
    Tools(usize),
    /// Pages, as the configuration says.
    Pages(usize),
    /// Bytes of all definitions.
    Bytes(usize),
    /// A page that had been read before would have come again.
    Circle,
}

impl fmt::Display for ListingCut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "only its first {} tools are known: ", grouped(self.kept))?;
        match self.limit {
            ListingLimit::Tools(most) => {
                write!(formatter, "'max_tools' in 'limits' is {}", grouped(most))
            }
            ListingLimit::Pages(most) => {
                write!(formatter, "'max_pages' in 'limits' is {}", grouped(most))
            }
            ListingLimit::Bytes(most) => {
                write!(formatter, "the list is longer than {} MiB", most / (1024 * 1024))
            }
            ListingLimit::Circle => {
                formatter.write_str("the list begins again (a cursor came twice)")
            }
        }
    }
}

/// How a server is doing. Text in it comes from the server and is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It starts when it is first needed, and it was not needed yet.
    Idle,
    /// It was started for the first time and has not listed its tools yet.
    Connecting,
    /// It was started for the first time, by a command that downloads what it runs, or waits for other
    /// such servers to be started before it.
    Installing {
        /// When that began.
        since: Instant,
    },
    /// It is no server but the local tools, which need none.
    Local {
        /// How many there are.
        tools: usize,
    },
    /// Its tools can be called.
    Ready {
        /// What it calls itself.
        server_name: String,
        /// Which version of itself it claims to be.
        server_version: String,
        /// The protocol revision it speaks.
        protocol: String,
        /// How many tools it has.
        tools: usize,
        /// From its start to its list of tools.
        took: Duration,
    },
    /// It did not get ready, or has ended since.
    Failed {
        /// What happened.
        reason: String,
        /// What it wrote to its stderr last, to be put behind the reason. For people
        /// only: servers write things there that no program is to read.
        last_words: String,
        /// What kind of trouble that is.
        trouble: Trouble,
        /// When it gets another chance.
        next_start: NextStart,
    },
}

/// What kind of trouble a server is in, for those who know what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such command.
    NoCommand,
    /// Its command is there but may not be executed.
    NotExecutable,
    /// Its working directory is not there.
    NoDirectory,
    /// It did not get ready in time.
    TooSlow,
    /// It has ended by itself.
    Ended,
    /// Somebody has to log in.
    LoggedOut,
    /// It does not accept who we say we are.
    Unauthorized,
    /// Nobody could be reached at its address.
    Unreachable,
    /// Its entry refers to variables that are not set.
    Unresolved,
    /// Whatever the reason says.
    Other,
}

/// When a server that is not running is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStart {
    /// Then.
    At(Instant),
    /// It is being started.
    Now,
    /// When somebody has logged in; the reason says how.
    AfterLogin,
    /// When its entry can be used, after the configuration is read again.
    AfterReload,
    /// Not at all: it was stopped.
    Never,
}
