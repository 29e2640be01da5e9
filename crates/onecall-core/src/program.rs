//! A program as it arrives, and what it may use.

use std::time::Duration;

/// Source code to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The source text.
    pub code: String,
}

impl Program {
    /// A program with this source.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into() }
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
