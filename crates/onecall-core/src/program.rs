//! A program as it arrives, and what it may use.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{ClientId, EngineChoice, Language};

/// Source code to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The source text.
    pub code: String,
    /// The language that it is written in.
    pub language: Language,
    /// The engine that runs it, of those that run its language. If absent, the configuration
    /// chooses.
    pub engine: Option<EngineChoice>,
    /// How long it may take, if that is not what the configuration says.
    pub timeout: Option<Duration>,
    /// Where its variables live on, if they are to.
    pub session: Option<SessionRequest>,
    /// How much is wanted of its outcome.
    pub detail: Detail,
    /// What a Python program finds in `sys.argv`: a name for itself, then its arguments. Empty for
    /// the name that every program has.
    pub argv: Vec<String>,
}

impl Program {
    /// A Python program with this source and nothing special about it.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            language: Language::default(),
            engine: None,
            timeout: None,
            session: None,
            detail: Detail::default(),
            argv: Vec::new(),
        }
    }
}

/// A namespace that outlives a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// The session that the program runs in.
    pub session: SessionKey,
    /// Whether it is to begin anew.
    pub reset: bool,
}

impl SessionRequest {
    /// Asks for the session that `client` calls `name`.
    #[must_use]
    pub fn named(client: ClientId, name: impl Into<String>, reset: bool) -> Self {
        Self { session: SessionKey::Named { client, name: name.into() }, reset }
    }
}

/// Which session a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKey {
    /// The session that a client calls by this name. It begins with the first program that
    /// names it; the same name of two clients means two sessions.
    Named {
        /// Whose session it is.
        client: ClientId,
        /// Its name.
        name: String,
    },
    /// A session that begins now, for a client that cannot be told apart from others: only
    /// the handle in the program's outcome continues it.
    New {
        /// What the client calls it.
        name: String,
    },
    /// The session that this handle was given for; an unknown handle is refused.
    Handle(SessionHandle),
}

impl SessionKey {
    /// The name that the client gave with this program. A handle is none, and is kept
    /// secret.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named { name, .. } | Self::New { name } => Some(name),
            Self::Handle(_) => None,
        }
    }
}

/// Continues one session. To know a handle is to be allowed to use its session, so it is
/// made of random bits and is not part of debug output.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionHandle(String);

impl SessionHandle {
    /// Every handle begins with this, and every text that begins with this is read as a
    /// handle: a mistyped one never begins a session.
    pub const PREFIX: &'static str = "oc_session_";

    /// A handle made of these random bits.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{bits:032x}", Self::PREFIX))
    }

    /// The handle that a client has sent; `None` if the text is a name.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
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

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// At once.
    pub max: usize,
    /// One that was not used for this long has ended.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { max: 8, idle: Duration::from_secs(30 * 60) }
    }
}

/// How much of an outcome is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What a model is told.
    #[default]
    Brief,
    /// The value of the last expression, and the calls with all arguments and answers, too.
    Whole,
}

/// The one directory that programs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Absolute.
    pub path: PathBuf,
    /// What they may do there.
    pub access: WorkspaceAccess,
}

/// What programs may do with their directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Read.
    ReadOnly,
    /// Read and write.
    ReadWrite {
        /// The most that everything in it may come to.
        max_bytes: u64,
    },
}

/// What all programs together may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalLimits {
    /// Programs that run at once; further ones wait.
    pub max_programs: usize,
    /// Memory of the programs that run and of the sessions that wait for their next one. Each
    /// counts with its whole limit. If absent, it follows from the memory of the machine.
    pub memory_bytes: Option<u64>,
}

impl Default for TotalLimits {
    fn default() -> Self {
        Self { max_programs: 256, memory_bytes: None }
    }
}

/// What one program may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub timeout: Duration,
    /// Bytes of its output that are kept, for stdout and stderr each.
    pub max_output_bytes: usize,
    /// Memory of its process, on top of the bare interpreter.
    pub memory_bytes: u64,
    /// Tool calls in all.
    pub max_tool_calls: u64,
    /// Tool calls under way at once; further ones wait.
    pub max_parallel_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_output_bytes: 65_536,
            memory_bytes: 512 * 1024 * 1024,
            max_tool_calls: 1_000,
            max_parallel_calls: 32,
        }
    }
}
