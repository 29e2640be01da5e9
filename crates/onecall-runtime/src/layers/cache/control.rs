//! Answers what a program says to its `cache`, before anything is counted as a call.

use onecall_core::{CallableName, ToolCall, ToolError, ToolPattern, ToolValue};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Cached, names_containing};

const CLEAR: &str = "onecall__cache_clear";
const FORGET: &str = "onecall__cache_forget";
const STATS: &str = "onecall__cache_stats";

const OFF: &str = "the cache is off; `cache: {}` in the configuration turns it on";

/// Knows the cache, if there is one.
pub(crate) struct CacheControl<'a> {
    cached: Option<&'a Cached>,
}

#[derive(Deserialize)]
struct Chosen {
    pattern: String,
}

/// A part of the names of tools.
#[derive(Deserialize)]
struct Part {
    text: String,
}

impl<'a> CacheControl<'a> {
    /// Speaks for `cached`.
    pub(crate) fn new(cached: Option<&'a Cached>) -> Self {
        Self { cached }
    }

    async fn clear(&self, arguments: &RawValue) -> Result<Box<RawValue>, String> {
        let cached = self.cached.ok_or(OFF)?;
        let chosen: Chosen = serde_json::from_str(arguments.get())
            .map_err(|_| "it takes a pattern, such as 'mcp__sales__*'".to_owned())?;
        let pattern = ToolPattern::parse(&chosen.pattern)
            .map_err(|error| format!("{:?} is no pattern: {error}", chosen.pattern))?;
        to_raw_value(&cached.clear(&pattern).await).map_err(|error| error.to_string())
    }

    /// Forgets the answers of tools whose names contain a text. Where none are kept, none
    /// are forgotten, which is no mistake.
    async fn forget(&self, arguments: &RawValue) -> Result<Box<RawValue>, String> {
        let Part { text } = serde_json::from_str(arguments.get())
            .map_err(|_| "it takes a part of a tool's name".to_owned())?;
        let pattern = names_containing(&text).map_err(|error| error.to_string())?;
        let forgotten = match self.cached {
            Some(cached) => cached.clear(&pattern).await,
            None => 0,
        };
        to_raw_value(&forgotten).map_err(|error| error.to_string())
    }

    async fn stats(&self) -> Result<Box<RawValue>, String> {
        let cached = self.cached.ok_or(OFF)?;
        to_raw_value(&cached.stats().await).map_err(|error| error.to_string())
    }
}

impl CacheControl<'_> {
    /// The answer to a call of `cache`; nothing if this is a call of something else.
    pub(crate) async fn answer(&self, call: &ToolCall) -> Option<Result<ToolValue, ToolError>> {
        let (name, answer) = match call.name.as_str() {
            CLEAR => ("cache.clear", self.clear(&call.arguments).await),
            FORGET => ("clearCache", self.forget(&call.arguments).await),
            STATS => ("cache.stats", self.stats().await),
            _ => return None,
        };
        let failed = |message| ToolError::failed(&CallableName::new(name), message);
        Some(answer.map(ToolValue::Json).map_err(failed))
    }
}
