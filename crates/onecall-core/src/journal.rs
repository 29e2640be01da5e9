//! The journal of a run: the events that are needed to continue the run in another process, or to
//! replay it after it has ended.
//!
//! A program is executed again from its start, and the journal answers the calls that have ended.
//! The program behaves as before because it sees the same values in the same order: besides the
//! calls, the journal keeps what its worker observed (the order in which answers and timers arrived,
//! and the clock).

use serde::{Deserialize, Serialize};

use crate::{CallableName, Digest, RunEngine, ToolError, ToolValue};

/// The place in a program at which a call is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSite {
    /// The task that makes the call. Tasks are numbered in the order in which their parent starts
    /// them: `0` is the program itself, `0.2` the second task that it starts.
    pub task: String,
    /// The line in the program, from 1; 0 if it is unknown.
    pub line: u32,
    /// The column in the line, from 1; 0 if it is unknown.
    pub column: u32,
}

/// One event of a run. The order of events in a journal is the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEvent {
    /// The program began on this engine. It is the first event of a run that has a program.
    Engine(RunEngine),
    /// The program made a call.
    Called(JournalCall),
    /// The call is about to be sent to its server and may have effects from now on.
    Sent {
        /// The id of the call.
        call: u64,
    },
    /// The call ended with this result.
    Ended {
        /// The id of the call.
        call: u64,
        /// The result as the program gets it.
        result: Result<ToolValue, ToolError>,
    },
    /// The program cancelled the call.
    Cancelled {
        /// The id of the call.
        call: u64,
    },
    /// What the worker of the program observed, in the worker's own format.
    Observed {
        /// The observations.
        bytes: Vec<u8>,
    },
}

impl JournalEvent {
    /// The approximate size of the event in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        const EVENT_BYTES: usize = 64;
        let content = match self {
            Self::Called(call) => call.arguments.len() + call.name.as_str().len(),
            Self::Ended { result: Ok(value), .. } => value.size(),
            Self::Ended { result: Err(error), .. } => error.to_string().len(),
            Self::Observed { bytes } => bytes.len(),
            Self::Engine(_) | Self::Sent { .. } | Self::Cancelled { .. } => 0,
        };
        EVENT_BYTES + content
    }
}

/// A call as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalCall {
    /// Distinguishes the calls and questions of one run. A run that is continued uses the same ids.
    pub id: u64,
    /// The tool as the program named it. For a question of the program it is the question's name.
    pub name: CallableName,
    /// The place in the program, if the call comes from a program.
    pub site: Option<CallSite>,
    /// The arguments, a JSON object.
    pub arguments: String,
    /// The digest of the tool's definition; `None` if the name did not stand for a tool, or if the
    /// tool's server was not connected yet when the call was made.
    pub definition: Option<Digest>,
}

/// Why a run can be continued only by the process that holds its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InPlaceReason {
    /// Threads of the program call tools or wake its event loop.
    Threads,
    /// The program wrote to the workspace.
    Workspace,
    /// The program has no sandbox, and changed files, started a process or used the network.
    Unconfined,
    /// The program belongs to a session.
    Session,
    /// The program read the clock too often between two calls.
    Clock,
    /// The run has no journal: it was not expected to ask.
    NoJournal,
    /// The journal of the run has become too large.
    JournalSize,
}

impl InPlaceReason {
    /// The reason as a part of a sentence: "this run can only be continued while … runs, because".
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Threads => "threads of the program call tools",
            Self::Workspace => "the program wrote to the workspace",
            Self::Unconfined => {
                "the program has no sandbox and changed files, started a process or used the network"
            }
            Self::Session => "the program belongs to a session",
            Self::Clock => "the program reads the clock too often",
            Self::NoJournal => "the run has no journal",
            Self::JournalSize => "the journal of the run is too large",
        }
    }
}
