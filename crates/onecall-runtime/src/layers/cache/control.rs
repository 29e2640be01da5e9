//! Answers a program's use of the `cache` object. None of it counts as a tool call.

use onecall_core::{CallableName, ToolError, ToolPattern};
use serde_json::Value;

use super::{Cached, names_containing};

const OFF: &str = "the cache is off; `cache: {}` in the configuration turns it on";

/// The functions of the `cache` object, with the cache if there is one.
pub(crate) struct CacheControl<'a> {
    cached: Option<&'a Cached>,
}

impl<'a> CacheControl<'a> {
    /// Creates the functions for this cache.
    pub(crate) fn new(cached: Option<&'a Cached>) -> Self {
        Self { cached }
    }

    /// Removes the cached answers of tools whose names match a pattern, and returns their number.
    pub(crate) async fn clear(&self, pattern: &str) -> Result<Value, ToolError> {
        let cached = self.cached("cache.clear")?;
        let pattern = ToolPattern::parse(pattern).map_err(|error| {
            failed("cache.clear", format!("{pattern:?} is no pattern: {error}"))
        })?;
        Ok(cached.clear(&pattern).await.into())
    }

    /// Removes the cached answers of tools whose names contain a text, and returns their number,
    /// which is zero without a cache.
    pub(crate) async fn forget(&self, text: &str) -> Result<Value, ToolError> {
        let pattern =
            names_containing(text).map_err(|error| failed("clearCache", error.to_string()))?;
        match self.cached {
            Some(cached) => Ok(cached.clear(&pattern).await.into()),
            None => Ok(0.into()),
        }
    }

    /// The size of the cache and its hits and misses.
    pub(crate) async fn stats(&self) -> Result<Value, ToolError> {
        let stats = self.cached("cache.stats")?.stats().await;
        serde_json::to_value(stats).map_err(|error| failed("cache.stats", error.to_string()))
    }

    /// The cache, or an error for a function of the `cache` object that needs one.
    fn cached(&self, function: &str) -> Result<&'a Cached, ToolError> {
        self.cached.ok_or_else(|| failed(function, OFF))
    }
}

fn failed(function: &str, message: impl Into<String>) -> ToolError {
    ToolError::failed(&CallableName::new(function), message)
}
