//! Answers what a program says to its `cache`, before anything is counted as a call.

use onecall_config::ToolPattern;
use onecall_core::{BoxFuture, CallableName, Resolving, ToolCall, ToolError, ToolHost, ToolValue};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Cached;

const CLEAR: &str = "onecall__cache_clear";
const STATS: &str = "onecall__cache_stats";

const OFF: &str = "the cache is off; `cache: {}` in the configuration turns it on";

/// Knows the cache, if there is one.
pub(crate) struct CacheControl<'a> {
    inner: &'a dyn ToolHost,
    cached: Option<&'a Cached>,
}

#[derive(Deserialize)]
struct Chosen {
    pattern: String,
}

impl<'a> CacheControl<'a> {
    /// Speaks for `cached`; everything else goes to `inner`.
    pub(crate) fn new(inner: &'a dyn ToolHost, cached: Option<&'a Cached>) -> Self {
        Self { inner, cached }
    }

    async fn clear(&self, arguments: &RawValue) -> Result<Box<RawValue>, String> {
        let cached = self.cached.ok_or(OFF)?;
        let chosen: Chosen = serde_json::from_str(arguments.get())
            .map_err(|_| "it takes a pattern, such as 'mcp__sales__*'".to_owned())?;
        let pattern = ToolPattern::parse(&chosen.pattern)
            .map_err(|error| format!("{:?} is no pattern: {error}", chosen.pattern))?;
        to_raw_value(&cached.clear(&pattern).await).map_err(|error| error.to_string())
    }

    async fn stats(&self) -> Result<Box<RawValue>, String> {
        let cached = self.cached.ok_or(OFF)?;
        to_raw_value(&cached.stats().await).map_err(|error| error.to_string())
    }
}

impl ToolHost for CacheControl<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let is_clear = match call.name.as_str() {
            CLEAR => true,
            STATS => false,
            _ => return self.inner.call(call),
        };
        Box::pin(async move {
            let (name, answer) = if is_clear {
                ("cache.clear", self.clear(&call.arguments).await)
            } else {
                ("cache.stats", self.stats().await)
            };
            let failed = |message| ToolError::failed(&CallableName::new(name), message);
            answer.map(ToolValue::Json).map_err(failed)
        })
    }
}
