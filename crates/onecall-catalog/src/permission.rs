//! Applies allow and block lists and the rules of approvals to tools, under all names that a tool can
//! have.
//!
//! If the names of two tools collide, each gets a suffix, and a server can cause that at any time
//! by listing one more tool. A list entry for the plain name still applies then.

use onecall_core::{AskPolicy, AskRule, ToolPattern, ToolPolicy, ToolSpec};

use crate::{aliases, name_prefix, natural_name};

/// Whether programs may call this tool.
#[must_use]
pub fn permits(policy: &ToolPolicy, spec: &ToolSpec) -> bool {
    policy.permits_any_name(spec.callable.as_str(), || other_names(spec))
}

/// Whether a pattern matches any name of this tool. For lists that exclude tools.
#[must_use]
pub fn matches_any_name(pattern: &ToolPattern, spec: &ToolSpec) -> bool {
    pattern.matches(spec.callable.as_str())
        || other_names(spec).iter().any(|name| pattern.matches(name))
}

/// The rule by which calls of this tool need an approval. A pattern applies to any name of the tool,
/// so that a server cannot avoid the question by adding another tool of the same name.
#[must_use]
pub fn ask_rule(policy: &AskPolicy, spec: &ToolSpec) -> Option<AskRule> {
    policy.rule_where(|pattern| matches_any_name(pattern, spec), &spec.annotations)
}

/// The other names of a tool: the name it would have without a collision, with and without its
/// server, the name on its server, and the Unicode spellings.
fn other_names(spec: &ToolSpec) -> Vec<String> {
    let plain = natural_name(&spec.server, &spec.tool);
    let without_server =
        plain.get(name_prefix(&spec.server).len()..).unwrap_or_default().to_owned();
    let mut names = aliases(spec);
    names.extend([plain, without_server, spec.tool.as_str().to_owned()]);
    names
}

#[cfg(test)]
mod tests {
    use onecall_config::{ConfigOrigin, Environment, FoundConfigFile};
    use onecall_core::{ServerName, ToolAnnotations, ToolName};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Catalog, ToolDefinition};

    fn catalog(names: &[String]) -> Catalog {
        let define = |name: &String| ToolDefinition {
            tool: ToolName::new(name.as_str()),
            description: None,
            input_schema: json!({}).into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        Catalog::build([(ServerName::new("s"), names.iter().map(define).collect())])
    }

    fn pattern(text: &str) -> ToolPattern {
        ToolPattern::parse(text).unwrap()
    }

    /// The policy of a configuration of ptc-mcp that blocks this name.
    fn blocked_by_ptc_mcp(name: &str) -> ToolPolicy {
        let (path, origin) = ("config.yaml".into(), ConfigOrigin::Named("PTC_MCP_CONFIG"));
        let bytes = json!({ "servers": [], "tools": { "block": [name] } }).to_string().into_bytes();
        FoundConfigFile { path, bytes, origin }
            .parse(&Environment::new(&|_| None))
            .unwrap()
            .config
            .tools
    }

    proptest! {
        #[test]
        fn ptc_mcp_blocks_a_tool_by_each_way_to_write_its_name(
            names in prop::collection::vec(r"[abä][-_. *?\[\]!/ab]{0,5}", 1..5),
            chosen: prop::sample::Index,
        ) {
            let name = chosen.get(&names);
            let plain = natural_name(&ServerName::new("s"), &ToolName::new(name.as_str()));
            let half = format!("mcp__s__{}", name.replace('-', "_"));
            let catalog = catalog(&names);
            for written in [format!("mcp__s__{name}"), plain.clone(), half, name.clone()] {
                let policy = blocked_by_ptc_mcp(&written);
                for spec in catalog.tools().filter(|spec| spec.tool.as_str() == name) {
                    prop_assert!(!permits(&policy, spec), "{written:?} on {:?}", spec.callable);
                }
            }
        }

        #[test]
        fn what_a_server_adds_unblocks_nothing_and_opens_nothing(
            names in prop::collection::vec("[ab][-_.ab]{0,4}", 1..6),
            more in prop::collection::vec("[ab][-_.ab]{0,4}", 0..6),
            chosen: prop::sample::Index,
        ) {
            let plain = natural_name(&ServerName::new("s"), &ToolName::new(chosen.get(&names).as_str()));
            let block = ToolPolicy::Block(vec![pattern(&plain)]);
            let allow = ToolPolicy::Allow(vec![pattern(&plain)]);
            let ask = AskPolicy { patterns: vec![pattern(&plain)], hints: Vec::new() };
            let later = catalog(&[names, more].concat());
            for spec in later.tools() {
                let is_it = natural_name(&spec.server, &spec.tool) == plain;
                prop_assert_eq!(permits(&block, spec), !is_it, "{:?}", spec.tool);
                prop_assert_eq!(ask_rule(&ask, spec).is_some(), is_it, "{:?}", spec.tool);
                let is_called_so = spec.callable.as_str() == plain;
                prop_assert_eq!(permits(&allow, spec), is_called_so, "{:?}", spec.tool);
            }
        }
    }
}
