//! Answers a program's use of the `cache` object. None of it counts as a tool call.

use onecall_core::{CallableName, ToolError, ToolPattern};
use serde_json::Value;

use super::{CacheLayer, pattern_of_names_containing};

const CACHE_OFF: &str = "the cache is off; `cache: {}` in the configuration turns it on";

/// The functions of the `cache` object, with the cache if there is one.
pub(crate) struct CacheFunctions<'a> {
    layer: Option<&'a CacheLayer>,
}

impl<'a> CacheFunctions<'a> {
    /// Creates the functions for this cache.
    pub(crate) fn new(layer: Option<&'a CacheLayer>) -> Self {
        Self { layer }
    }

    /// Removes the cached answers of tools whose names match a pattern, and returns their number.
    pub(crate) async fn clear(&self, pattern: &str) -> Result<Value, ToolError> {
        let layer = self.layer("cache.clear")?;
        let pattern = ToolPattern::parse(pattern).map_err(|error| {
            failed("cache.clear", format!("{pattern:?} is not a pattern: {error}"))
        })?;
        Ok(layer.clear(&pattern).await.into())
    }

    /// Removes the cached answers of tools whose names contain a text, and returns their number,
    /// which is zero without a cache.
    pub(crate) async fn clear_containing(&self, text: &str) -> Result<Value, ToolError> {
        let pattern = pattern_of_names_containing(text)
            .map_err(|error| failed("clearCache", error.to_string()))?;
        match self.layer {
            Some(layer) => Ok(layer.clear(&pattern).await.into()),
            None => Ok(0.into()),
        }
    }

    /// The size of the cache and its hits and misses.
    pub(crate) async fn stats(&self) -> Result<Value, ToolError> {
        let stats = self.layer("cache.stats")?.stats().await;
        serde_json::to_value(stats).map_err(|error| failed("cache.stats", error.to_string()))
    }

    /// The cache, or an error for a function of the `cache` object that needs one.
    fn layer(&self, function: &str) -> Result<&'a CacheLayer, ToolError> {
        self.layer.ok_or_else(|| failed(function, CACHE_OFF))
    }
}

fn failed(function: &str, message: impl Into<String>) -> ToolError {
    ToolError::failed(&CallableName::new(function), message)
}
