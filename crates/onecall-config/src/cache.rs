//! Which answers of tools are used again, and for how long.

use std::time::Duration;

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::model::ToolPattern;
use crate::parse::{MEBIBYTE, read_patterns};
use crate::reader::{self, Section};
use crate::schema::CACHE;

/// How answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
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

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            scope: CacheScope::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            ttl: Duration::from_secs(300),
            ttls: Vec::new(),
            max_bytes: 64 * MEBIBYTE,
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

pub(crate) fn read_cache(node: &Node, report: &mut Report) -> Option<CacheConfig> {
    let section = Section::open(node, "cache", CACHE, report)?;
    let mut cache = CacheConfig::default();
    if let Some(node) = section.get("scope") {
        let what = "'scope' in cache";
        cache.scope = reader::choice(node, what, "a scope", &CacheScope::NAMES, report)?;
    }
    if let Some(node) = section.get("include") {
        cache.include = read_patterns(node, "'include' in cache", report)?;
    }
    if let Some(node) = section.get("exclude") {
        cache.exclude = read_patterns(node, "'exclude' in cache", report)?;
    }
    if let Some(node) = section.get("ttl_seconds") {
        cache.ttl = reader::seconds(node, "'ttl_seconds' in cache", report)?;
    }
    if let Some(node) = section.get("ttls") {
        for entry in reader::entries(node, "'ttls' in cache", report)? {
            let what = format!("'{}' of 'ttls' in cache", entry.key);
            match ToolPattern::parse(entry.key) {
                Ok(pattern) => {
                    let ttl = reader::seconds(entry.value, &what, report);
                    cache.ttls.extend(ttl.map(|ttl| (pattern, ttl)));
                }
                Err(error) => report.add(Problem::new(entry.at, format!("{error}: {what}"))),
            }
        }
    }
    if let Some(node) = section.get("max_mb") {
        let what = "'max_mb' in cache";
        cache.max_bytes = reader::whole_number(node, what, 1..=65_536, report)? * MEBIBYTE;
    }
    Some(cache)
}
