//! What is known about a server at one moment, for people to read.

use std::time::{Duration, Instant};

use onecall_core::ServerName;

use crate::pins::Quarantined;

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
}

/// How a server is doing. Text in it comes from the server and is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is lazy, and nobody has needed it yet.
    Idle,
    /// It was started for the first time and has not listed its tools yet.
    Connecting,
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
    /// Not at all: it was stopped.
    Never,
}
