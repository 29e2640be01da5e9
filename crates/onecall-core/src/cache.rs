//! Which answers of tools are used again, and for how long.

use std::time::Duration;

use crate::ToolPattern;

/// How answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Who shares them.
    pub scope: CacheScope,
    /// Tools whose answers are kept although their server does not call them read-only.
    pub include: Vec<ToolPattern>,
    /// Tools whose answers are never kept.
    pub exclude: Vec<ToolPattern>,
    /// How long an answer is used again.
    pub ttl: Duration,
    /// Other times for some tools; the first pattern that fits counts.
    pub ttls: Vec<(ToolPattern, Duration)>,
    /// What all answers together may take.
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

/// Who shares the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// The calls of one program.
    Run,
    /// Every program of this process.
    #[default]
    Process,
    /// Every process of this user with the same servers, through the store.
    Shared,
}

impl CacheScope {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("run", Self::Run), ("process", Self::Process), ("shared", Self::Shared)];
}
