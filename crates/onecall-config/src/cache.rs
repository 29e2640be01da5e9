//! Reads the section `cache`: which tool answers may be reused, and for how long.

use onecall_core::{CacheScope, CacheSettings, ToolPattern};

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::parse::{MEBIBYTE, read_patterns};
use crate::reader::{self, Section};
use crate::schema::CACHE;

pub(crate) fn read_cache(node: &Node, report: &mut Report) -> Option<CacheSettings> {
    let section = Section::open(node, "cache", CACHE, report)?;
    let mut cache = CacheSettings::default();
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
