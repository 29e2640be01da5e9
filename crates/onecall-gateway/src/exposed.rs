//! Exposed tools: tools that clients may call directly, without a program. They are meant for
//! single calls, where a program would cost more than it saves.

use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::ToolDisplayMetadata;
use onecall_core::{
    AnswerForm, CallableName, Freshness, RunKind, ToolError, ToolPattern, ToolSpec, ToolValue,
};
use onecall_runtime::{Observer, RunOptions, SingleCall, stack};
use serde_json::value::RawValue;

use crate::Gateway;

/// How long listing these tools waits for servers that are connecting. Tools that come later are
/// announced by a notification, which not every client handles.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The patterns of exposed tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposure(Arc<[ToolPattern]>);

impl Exposure {
    pub(crate) fn new(patterns: &[ToolPattern]) -> Self {
        Self(patterns.into())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn covers(&self, spec: &ToolSpec) -> bool {
        self.matches_name(spec.callable.as_str())
    }

    fn matches_name(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a tool whose name begins with `prefix` could be exposed.
    fn may_cover(&self, prefix: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.as_str().split_once('*') {
            Some((certain, _)) => certain.starts_with(prefix) || prefix.starts_with(certain),
            None => pattern.as_str().starts_with(prefix),
        })
    }
}

/// A tool that clients may call directly.
#[derive(Clone, Debug)]
pub struct ExposedTool {
    /// The tool as programs see it.
    pub spec: Arc<ToolSpec>,
    /// The other fields of the tool's definition on its server, such as its title.
    pub display_metadata: ToolDisplayMetadata,
}

impl Gateway {
    /// The tools that clients may call directly, sorted by name. Waits a short time for servers
    /// that are still connecting, and starts lazy ones that may have such a tool.
    pub async fn exposed_tools(&self) -> Vec<ExposedTool> {
        if self.exposure.is_empty() {
            return Vec::new();
        }
        self.bridge.start_by_prefix(|prefix| self.exposure.may_cover(prefix));
        let catalog = self.bridge.known_catalog_within(MAX_WAIT).await;
        let rules = self.rules();
        let is_shown =
            |spec: &&Arc<ToolSpec>| self.exposure.covers(spec) && rules.directory.permits(spec);
        let shown = catalog.tools().filter(is_shown).cloned();
        shown
            .map(|spec| ExposedTool { display_metadata: self.bridge.display_metadata(&spec), spec })
            .collect()
    }

    /// Whether clients may call a tool of this name directly, if it exists.
    #[must_use]
    pub fn is_exposed(&self, name: &str) -> bool {
        self.exposure.matches_name(name) && self.rules().permission.permits_name(name)
    }

    /// Calls a tool for a client and returns the answer of its server unchanged. Dropping the
    /// future cancels the call.
    pub async fn call_exposed(
        &self,
        name: &str,
        arguments: Box<RawValue>,
        observer: &dyn Observer,
    ) -> Result<Box<RawValue>, ToolError> {
        self.call_exposed_with(name, arguments, &RunOptions::default(), observer).await
    }

    /// Calls a tool like [`Self::call_exposed`], with options.
    pub(crate) async fn call_exposed_with(
        &self,
        name: &str,
        arguments: Box<RawValue>,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<Box<RawValue>, ToolError> {
        let rules = self.rules();
        let name = CallableName::new(name);
        let layers = stack::exposed_layers(self.bridge.clone());
        let call = SingleCall {
            kind: RunKind::ExposedTool,
            name: &name,
            arguments,
            form: AnswerForm::Untouched,
            // The call must reach the server, so that its changes invalidate cached answers for
            // programs.
            freshness: Freshness::New,
        };
        let resolver = &rules.exposed_resolver;
        match rules.runtime.run_call_with(call, resolver, &layers, options, observer).await?.value {
            ToolValue::Json(answer) => Ok(answer),
            _ => Err(ToolError::failed(&name, "its answer is not a result")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_needed_if_a_pattern_could_name_its_tools() {
        let exposure = |patterns: &[&str]| {
            let parsed: Vec<_> =
                patterns.iter().filter_map(|it| ToolPattern::parse(it).ok()).collect();
            Exposure::new(&parsed)
        };
        for (patterns, expected) in [
            (&["mcp__files__read_*"][..], true),
            (&["mcp__files__read"], true),
            (&["mcp__*"], true),
            (&["*read"], true),
            (&["mcp__fi*"], true),
            (&["mcp__other__*", "mcp__files"], false),
            (&[], false),
        ] {
            assert_eq!(exposure(patterns).may_cover("mcp__files__"), expected, "{patterns:?}");
        }
    }
}
