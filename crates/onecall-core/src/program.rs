//! A program as it arrives, and what it may use.

use std::path::PathBuf;
use std::time::Duration;

/// Source code to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The source text.
    pub code: String,
    /// What is to run it, if whoever asks for it wants something else than the
    /// configuration says.
    pub engine: Option<EngineChoice>,
}

impl Program {
    /// A program with this source, for the configured engine.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), engine: None }
    }
}

/// Which interpreter runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The embedded one, unless the program imports what only the system's has.
    #[default]
    Auto,
    /// The embedded one.
    Python,
    /// The system's, with the packages it has.
    CPython,
}

impl EngineChoice {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("auto", Self::Auto), ("python", Self::Python), ("cpython", Self::CPython)];
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
