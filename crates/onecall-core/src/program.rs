//! A program as a client submits it, and the limits that it runs under.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{ClientId, EngineChoice, GatewayId, Language};

/// Source code to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The source text.
    pub code: String,
    /// The language that it is written in.
    pub language: Language,
    /// The engine to use, among those that run the language. If absent, the configuration decides.
    pub engine: Option<EngineChoice>,
    /// The time limit; if absent, that of the configuration applies.
    pub timeout: Option<Duration>,
    /// The session that keeps its variables, if there is one.
    pub session: Option<SessionRequest>,
    /// How much of the outcome is wanted.
    pub detail: OutcomeDetail,
    /// The content of `sys.argv`: a name for the program, then its arguments. If empty, the default
    /// name is used. In TypeScript's `process.argv`, the name of the executable comes before it.
    pub argv: Vec<String>,
}

impl Program {
    /// A Python program with this source and default options.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            language: Language::default(),
            engine: None,
            timeout: None,
            session: None,
            detail: OutcomeDetail::default(),
            argv: Vec::new(),
        }
    }
}

/// Asks for a session: a namespace that outlives a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// The session that the program runs in.
    pub session: SessionKey,
    /// Whether the session is reset before the program runs.
    pub reset: bool,
}

impl SessionRequest {
    /// Asks for the session of `client` with this name.
    #[must_use]
    pub fn named(client: ClientId, name: impl Into<String>, reset: bool) -> Self {
        Self { session: SessionKey::Named { client, name: name.into() }, reset }
    }
}

/// Identifies the session that a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKey {
    /// A session by the name that a client chose. It begins with the first program that names it;
    /// the same name of two clients means two sessions.
    Named {
        /// The client that owns the session.
        client: ClientId,
        /// The name of the session.
        name: String,
    },
    /// A session that begins now, for a client that cannot be distinguished from others: only the
    /// handle in the program's outcome continues it.
    New {
        /// The name that the client gave the session.
        name: String,
    },
    /// The session that this handle was given for; an unknown handle is refused.
    Handle(SessionHandle),
}

impl SessionKey {
    /// The name that the client gave with this program. A handle is not a name, and is kept secret.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named { name, .. } | Self::New { name } => Some(name),
            Self::Handle(_) => None,
        }
    }
}

/// A secret token that continues one session. Knowing the handle is all it takes to use the
/// session, so the handle is random and is left out of debug output.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionHandle(String);

impl SessionHandle {
    /// The prefix of every handle. Any text with this prefix is read as a handle, so a mistyped
    /// handle never starts a session.
    pub const PREFIX: &'static str = "oc_session_";

    /// A handle made of these random bits.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{bits:032x}", Self::PREFIX))
    }

    /// The same handle, which also names the gateway that holds the session.
    #[must_use]
    pub fn at(self, gateway: &GatewayId) -> Self {
        Self(gateway.name_in(&self.0))
    }

    /// Parses the handle that a client has sent; `None` if the text is a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.starts_with(Self::PREFIX).then(|| Self(text.to_owned()))
    }

    /// The handle as clients see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionHandle(…)")
    }
}

/// The limits on sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The number of sessions at once.
    pub max: usize,
    /// A session that was not used for this long ends.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { max: 8, idle: Duration::from_secs(30 * 60) }
    }
}

/// How much of an outcome is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeDetail {
    /// The parts that a model reads.
    #[default]
    Brief,
    /// In addition, the value of the last expression, and the calls with all arguments and answers.
    Whole,
}

/// The directory that programs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The absolute path.
    pub path: PathBuf,
    /// Whether programs may write.
    pub access: WorkspaceAccess,
}

/// Whether programs may write to their directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Programs can read only.
    ReadOnly,
    /// Programs can read and write.
    ReadWrite {
        /// The quota for all files together.
        max_bytes: u64,
    },
}

/// The limits of all programs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalLimits {
    /// Programs that run at once; further ones wait.
    pub max_programs: usize,
    /// Memory for all running programs and idle sessions. Each of them counts with its full limit.
    /// If absent, it is derived from the memory of the machine.
    pub memory_bytes: Option<u64>,
}

impl Default for TotalLimits {
    fn default() -> Self {
        Self { max_programs: 256, memory_bytes: None }
    }
}

/// The limits of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The wall-clock time it may run.
    pub timeout: Duration,
    /// The bytes of output that are kept, for stdout and stderr each.
    pub max_output_bytes: usize,
    /// The memory of its process, on top of the bare interpreter.
    pub memory_bytes: u64,
    /// The total number of tool calls.
    pub max_tool_calls: u64,
    /// The number of concurrent tool calls; further ones wait.
    pub max_parallel_calls: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_output_bytes: 65_536,
            memory_bytes: 512 * 1024 * 1024,
            max_tool_calls: 1_000,
            max_parallel_calls: 64,
        }
    }
}
