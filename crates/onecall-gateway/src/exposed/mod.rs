//! What clients may use directly, without a program: tools (`tools`), resources (`resources`) and
//! prompts (`prompts`) of bridged servers, under names that are chosen in `names`. Each use is a run of
//! one call and passes the same layers as the calls of programs.

mod function_call;
mod lists;
mod names;
mod prompts;
mod resources;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use onecall_catalog::name_prefix;
use onecall_config::{Config, ExposedNames};
use onecall_core::{ServerName, ToolPattern, ToolSpec};

pub(crate) use lists::ListCache;
pub use prompts::ExposedPrompt;
pub use resources::{ExposedList, ResourceSubscription};
pub use tools::ExposedTool;

/// How long listing waits for servers that are connecting. What comes later is announced by a
/// notification, which not every client handles.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// What the configuration exposes to clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposure {
    tools: Arc<[ToolPattern]>,
    resources: Arc<[ToolPattern]>,
    prompts: Arc<[ToolPattern]>,
    names: ExposedNames,
}

impl Exposure {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            tools: config.expose_tools.as_slice().into(),
            resources: config.expose_resources.as_slice().into(),
            prompts: config.expose_prompts.as_slice().into(),
            names: config.expose_names,
        }
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty()
    }

    pub(crate) fn has_prompts(&self) -> bool {
        !self.prompts.is_empty()
    }

    pub(crate) fn covers(&self, spec: &ToolSpec) -> bool {
        self.matches_name(spec.callable.as_str())
    }

    pub(crate) fn has_resources_of(&self, server: &ServerName) -> bool {
        matches_server(&self.resources, server)
    }

    pub(crate) fn has_prompts_of(&self, server: &ServerName) -> bool {
        matches_server(&self.prompts, server)
    }

    /// Whether clients may use anything of a server directly.
    fn has_any_of(&self, server: &ServerName) -> bool {
        self.has_resources_of(server)
            || self.has_prompts_of(server)
            || self.may_cover(&name_prefix(server))
    }

    fn matches_name(&self, name: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a tool whose name begins with `prefix` could be exposed.
    fn may_cover(&self, prefix: &str) -> bool {
        self.tools.iter().any(|pattern| match pattern.as_str().split_once('*') {
            Some((certain, _)) => certain.starts_with(prefix) || prefix.starts_with(certain),
            None => pattern.as_str().starts_with(prefix),
        })
    }
}

/// Whether one of the patterns matches the name of a server, as callable names spell it.
fn matches_server(patterns: &[ToolPattern], server: &ServerName) -> bool {
    let prefix = name_prefix(server);
    let spelled = prefix.strip_prefix("mcp__").and_then(|name| name.strip_suffix("__"));
    spelled.is_some_and(|name| patterns.iter().any(|pattern| pattern.matches(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(patterns: &[&str]) -> Arc<[ToolPattern]> {
        patterns.iter().filter_map(|it| ToolPattern::parse(it).ok()).collect()
    }

    #[test]
    fn a_server_is_needed_if_a_pattern_could_name_its_tools() {
        for (patterns, expected) in [
            (&["mcp__files__read_*"][..], true),
            (&["mcp__files__read"], true),
            (&["mcp__*"], true),
            (&["*read"], true),
            (&["mcp__fi*"], true),
            (&["mcp__other__*", "mcp__files"], false),
            (&[], false),
        ] {
            let exposure = Exposure { tools: parsed(patterns), ..Exposure::default() };
            assert_eq!(exposure.may_cover("mcp__files__"), expected, "{patterns:?}");
        }
    }

    #[test]
    fn a_server_is_meant_by_its_name_as_callable_names_spell_it() {
        for (patterns, expected) in [
            (&["my_files"][..], true),
            (&["my_*"], true),
            (&["*"], true),
            (&["files", "my"], false),
            (&[], false),
        ] {
            let server = ServerName::new("my-files");
            assert_eq!(matches_server(&parsed(patterns), &server), expected, "{patterns:?}");
        }
    }
}
