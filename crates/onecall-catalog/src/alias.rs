//! Aliases: the Unicode spellings of tools whose own names have letters beyond ASCII.
//!
//! A tool `größe` of the server `s` is listed as `mcp__s__gr__e`, and a program may also call it
//! `mcp__s__größe`. Such an alias is only used for lookups: calls, lists, patterns and records
//! contain the plain name. A listed name always refers to the tool that it is listed for.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_core::{CallableName, ServerName, ToolSpec};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::catalog::LONGEST_NAME;
use crate::naming::{name_prefix, natural_name};

/// The result of looking up a Unicode spelling.
#[derive(Debug)]
pub enum AliasMatch<'a> {
    /// No tool has this spelling.
    Unknown,
    /// Exactly one tool has this spelling.
    One(&'a Arc<ToolSpec>),
    /// Several tools have this spelling, so none of them is chosen.
    Ambiguous(Vec<CallableName>),
}

/// Finds tools by their Unicode spellings.
#[derive(Debug, Default)]
pub(crate) struct AliasIndex {
    /// The positions of tools by `mcp__server__tool`.
    by_callable_name: HashMap<String, Vec<usize>>,
    /// The positions of tools by their own names alone.
    by_tool_name: HashMap<String, Vec<usize>>,
}

impl AliasIndex {
    pub(crate) fn build(tools: &[Arc<ToolSpec>]) -> Self {
        let mut index = Self::default();
        for (position, spec) in tools.iter().enumerate() {
            for alias in aliases(spec) {
                index.by_callable_name.entry(alias).or_default().push(position);
            }
            if !spec.tool.as_str().is_ascii() {
                let own = unicode_identifier(spec.tool.as_str());
                index.by_tool_name.entry(own).or_default().push(position);
            }
        }
        // The normal form of a letter may be ASCII, so an alias can equal the plain name of another
        // tool.
        if index.by_callable_name.keys().any(|alias| alias.is_ascii()) {
            for (position, spec) in tools.iter().enumerate() {
                let plain = natural_name(&spec.server, &spec.tool);
                if let Some(sharing) = index.by_callable_name.get_mut(&plain) {
                    sharing.push(position);
                }
            }
        }
        index
    }

    pub(crate) fn by_callable_name(&self, name: &str) -> &[usize] {
        find(&self.by_callable_name, name)
    }

    pub(crate) fn by_tool_name(&self, name: &str) -> &[usize] {
        find(&self.by_tool_name, name)
    }
}

fn find<'a>(index: &'a HashMap<String, Vec<usize>>, name: &str) -> &'a [usize] {
    if index.is_empty() {
        return &[];
    }
    index.get(&name.nfkc().collect::<String>()).map_or(&[], Vec::as_slice)
}

/// The Unicode spellings of a tool's callable name; empty if its own name and its server's name are
/// ASCII.
#[must_use]
pub fn aliases(spec: &ToolSpec) -> Vec<String> {
    let (server, tool) = (spec.server.as_str(), spec.tool.as_str());
    if server.is_ascii() && tool.is_ascii() {
        return Vec::new();
    }
    let plain = natural_name(&spec.server, &spec.tool);
    let prefix = name_prefix(&spec.server);
    let plain_tool = plain.get(prefix.len()..).unwrap_or_default().to_owned();
    let unicode_prefix = alias_prefix(server);
    let unicode_tool = unicode_identifier(tool);
    let mut names = vec![
        format!("{prefix}{unicode_tool}"),
        format!("{unicode_prefix}{unicode_tool}"),
        format!("{unicode_prefix}{plain_tool}"),
    ];
    names.sort_unstable();
    names.dedup();
    names.retain(|name| *name != plain);
    names
}

/// Whether a name may refer to a tool of this server, in any spelling: it begins with the prefix of
/// the server's callable names, or with the server's name and a dot.
#[must_use]
pub fn may_be_tool_of(name: &str, server: &ServerName) -> bool {
    let plain = name_prefix(server);
    let after_server = name.strip_prefix(server.as_str());
    if name.starts_with(&plain) || after_server.is_some_and(|rest| rest.starts_with('.')) {
        return true;
    }
    let is_plain = server.as_str().is_ascii() && name.is_ascii();
    if name.len() > LONGEST_NAME || is_plain {
        return false;
    }
    let normal: String = name.nfkc().collect();
    normal.starts_with(&plain) || normal.starts_with(&alias_prefix(server.as_str()))
}

/// Whether a text contains the prefix of this server's callable names, in the usual spellings.
#[must_use]
pub fn mentions_tools_of(text: &str, server: &ServerName) -> bool {
    text.contains(&name_prefix(server))
        || (!server.as_str().is_ascii() && text.contains(&alias_prefix(server.as_str())))
}

/// The prefix of the Unicode spellings of a server's tools.
fn alias_prefix(server: &str) -> String {
    format!("mcp__{}__", unicode_identifier(server))
}

/// A name in the normal form of Python identifiers, with `_` for invalid characters.
fn unicode_identifier(name: &str) -> String {
    let is_part = |it: char| it == '_' || it.is_alphanumeric() || is_combining_mark(it);
    name.nfkc().map(|it| if is_part(it) { it } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use onecall_core::{ServerName, ToolAnnotations, ToolName};
    use serde_json::json;

    use super::{may_be_tool_of, mentions_tools_of};
    use crate::{AliasMatch, Catalog, ToolDefinition};

    fn catalog(server: &str, tools: &[&str]) -> Catalog {
        let define = |name: &&str| ToolDefinition {
            tool: ToolName::new(*name),
            description: None,
            input_schema: json!({}).into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        Catalog::build([(ServerName::new(server), tools.iter().map(define).collect())])
    }

    fn meant(catalog: &Catalog, name: &str) -> Result<String, Vec<String>> {
        match catalog.find_alias(name) {
            AliasMatch::One(spec) => Ok(spec.tool.to_string()),
            AliasMatch::Unknown => Err(Vec::new()),
            AliasMatch::Ambiguous(names) => Err(names.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn a_name_is_found_in_its_unicode_spelling() {
        let tools = catalog("büro", &["größe 💰", "हिन्दी", "plain", "u\u{308}ber"]);
        let cases = [
            ("mcp__b_ro__größe__", "größe 💰"),
            ("mcp__büro__größe__", "größe 💰"),
            ("mcp__büro__gr__e__", "größe 💰"),
            ("mcp__bu\u{308}ro__gro\u{308}ße__", "größe 💰"),
            ("mcp__b_ro__हिन्दी", "हिन्दी"),
            ("mcp__büro__plain", "plain"),
            ("mcp__b_ro__\u{fc}ber", "u\u{308}ber"),
        ];
        for (name, tool) in cases {
            assert_eq!(meant(&tools, name), Ok(tool.to_owned()), "{name}");
        }
        for name in ["mcp__b_ro__größe", "größe__", "mcp__b_ro__plain", "mcp__b_ro__grösse__"]
        {
            assert_eq!(meant(&tools, name), Err(vec![]), "{name}");
        }
    }

    #[test]
    fn the_server_of_a_name_is_found_in_each_spelling() {
        let may_name = |name: &str, server: &str| may_be_tool_of(name, &ServerName::new(server));
        for (name, server) in [
            ("mcp__so_lazy__add", "so-lazy"),
            ("mcp__a__b__c", "a"),
            ("mcp__a__b__c", "a__b"),
            ("mcp__a__b__c", "a.-b"),
            ("mcp__s__größe", "s"),
            ("mcp__ｓ__größe", "s"),
            ("mcp__b_ro__x", "büro"),
            ("mcp__büro__x", "büro"),
            ("mcp__bu\u{308}ro__x", "büro"),
            ("mcp__file__x", "ﬁle"),
            ("so-lazy.add", "so-lazy"),
            ("a.b.c", "a.b"),
        ] {
            assert!(may_name(name, server), "{name} {server}");
        }
        for (name, server) in [
            ("mcp__a_b__c", "a"),
            ("mcp__a_b__c", "a__b"),
            ("add", "add"),
            ("xmcp__a__b", "a"),
            ("ab.c", "a"),
        ] {
            assert!(!may_name(name, server), "{name} {server}");
        }
        let is_named = |server: &str| {
            mentions_tools_of("f(mcp__a_b__c, mcp__bü__d)", &ServerName::new(server))
        };
        assert_eq!(["a", "a-b", "b_", "bü"].map(is_named), [false, true, false, true]);
    }

    #[test]
    fn a_spelling_that_several_share_means_none_of_them() {
        let two = catalog("s", &["\u{fc}", "u\u{308}"]);
        assert_eq!(
            meant(&two, "mcp__s__ü"),
            Err(vec!["mcp__s___".to_owned(), "mcp__s__u_".to_owned()])
        );
        // A ligature whose normal form is the name that two others would have.
        let met = catalog("s", &["ﬁ-x", "fi.x", "fi_x"]);
        let Err(names) = meant(&met, "mcp__s__fi_x") else { panic!("it means none") };
        assert_eq!(names.len(), 3, "{names:?}");
    }
}
