//! Settings of the answer cache: which tool answers may be reused, for how long, and by which
//! programs. The cache itself is implemented in another crate.

use std::time::Duration;

use crate::ToolPattern;

/// Settings of the answer cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// The programs that share cached answers.
    pub scope: CacheScope,
    /// Tools whose answers are cached although their server does not declare them read-only.
    pub include: Vec<ToolPattern>,
    /// Tools whose answers are never cached.
    pub exclude: Vec<ToolPattern>,
    /// How long a cached answer may be reused.
    pub ttl: Duration,
    /// Lifetimes for single tools; the first matching pattern overrides `ttl`.
    pub ttls: Vec<(ToolPattern, Duration)>,
    /// The largest total size of all cached answers.
    pub max_bytes: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            scope: CacheScope::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            ttl: Duration::from_secs(300),
            ttls: Vec::new(),
            max_bytes: 64 * 1024 * 1024,
        }
    }
}

/// The programs that share cached answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// The calls of one program.
    Run,
    /// All programs of this process.
    #[default]
    Process,
    /// All processes of this user that have the same servers configured; answers go through the
    /// store.
    Shared,
}

impl CacheScope {
    /// Every scope with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("run", Self::Run), ("process", Self::Process), ("shared", Self::Shared)];
}
