//! Reads the section `tools` of a ptc-mcp configuration: the tools that programs may call. As for
//! ptc-mcp, an empty list restricts nothing. Names may be in the form of the servers; if a name is
//! ambiguous, `block` applies to both meanings and `allow` to neither.

use onecall_core::{ToolPattern, ToolPolicy};

use super::mapping::{KnownKeys, entries};
use crate::document::{Node, Position, Value};
use crate::error::{Problem, Report};

const KEYS: [&str; 2] = ["allow", "block"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum PolicyList {
    Allow,
    Block,
}

impl PolicyList {
    fn name(self) -> &'static str {
        match self {
            Self::Allow => "'allow' in tools",
            Self::Block => "'block' in tools",
        }
    }
}

/// Reads the section `tools`.
pub(super) fn read(section: Node, warnings: &mut Report, report: &mut Report) -> ToolPolicy {
    let consequence = ", so it keeps no tool from programs";
    let known = KnownKeys { what: "tools", keys: &KEYS, consequence };
    let (mut allow, mut block): (Option<PatternList>, Option<PatternList>) = (None, None);
    for (key, value) in entries(section, &known, warnings, report) {
        match key.as_written() {
            Some("allow") => {
                allow = Some(PatternList::read(PolicyList::Allow, &value, warnings, report))
            }
            _ => block = Some(PatternList::read(PolicyList::Block, &value, warnings, report)),
        }
    }
    let is_empty = allow.as_ref().is_some_and(|allow| allow.entries == 0);
    let at = allow.as_ref().map(|allow| allow.at);
    let [allow, block] = [allow, block].map(|list| list.filter(|list| list.entries > 0));
    match (allow, block) {
        (Some(allow), Some(block)) => {
            let message = format!(
                "tools has both 'allow' (line {}) and 'block' (line {})",
                allow.at.line, block.at.line
            );
            report.add(Problem::new(allow.at.max(block.at), message).with_help("keep one of them"));
            ToolPolicy::Block(ToolPattern::parse("*").into_iter().collect())
        }
        (Some(allow), None) => ToolPolicy::Allow(allow.patterns),
        (None, Some(block)) => ToolPolicy::Block(block.patterns),
        (None, None) => {
            if let Some(at) = at.filter(|_| is_empty) {
                let message = "'allow' in tools is empty, which restricts nothing: programs may \
                               call every tool";
                let help = "write `block: [\"*\"]` to keep all of them from programs";
                warnings.add(Problem::new(at, message).with_help(help));
            }
            ToolPolicy::AllowAll
        }
    }
}

/// One of the two lists.
struct PatternList {
    at: Position,
    /// The number of entries, including invalid ones: a list of invalid entries is not empty.
    entries: usize,
    patterns: Vec<ToolPattern>,
}

impl PatternList {
    fn read(list: PolicyList, node: &Node, warnings: &mut Report, report: &mut Report) -> Self {
        let at = node.at;
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            Value::Scalar(scalar) if scalar.text.is_empty() => &[],
            Value::Scalar(_) => std::slice::from_ref(node),
            Value::Mapping(_) => {
                let message = format!("{} must be a list, not a mapping", list.name());
                report.add(Problem::new(at, message));
                &[]
            }
        };
        let mut written = Self { at, entries: items.len(), patterns: Vec::new() };
        for item in items {
            let Some(name) = item.as_written().filter(|name| !name.trim().is_empty()) else {
                let message = format!("an entry of {} names no tool and is ignored", list.name());
                warnings.add(Problem::new(item.at, message));
                continue;
            };
            written.patterns.extend(pattern(list, name, item.at, warnings));
            // A space may be part of the name or a typing error.
            if list == PolicyList::Block && name.trim() != name {
                written.patterns.extend(pattern(list, name.trim(), item.at, warnings));
            }
        }
        written
    }
}

/// The pattern for a name, which is a callable name or a name on the server.
fn pattern(
    list: PolicyList,
    name: &str,
    at: Position,
    warnings: &mut Report,
) -> Option<ToolPattern> {
    let callable = |name: &str| -> String {
        let kept = |it: char| it.is_ascii_alphanumeric() || it == '*';
        name.chars().map(|it| if kept(it) { it } else { '_' }).collect()
    };
    if !name.contains(AMBIGUOUS_CHARACTERS) {
        return ToolPattern::parse(&callable(name)).ok();
    }
    let help = "name each tool, or use *";
    if list == PolicyList::Allow {
        let message =
            format!("'{name}' of {} allows nothing: it can mean several tools", list.name());
        warnings.add(Problem::new(at, message).with_help(help));
        return None;
    }
    let pattern = callable(&widen_wildcards(name));
    let message = format!("'{name}' of {} is read as '{pattern}'", list.name());
    warnings.add(Problem::new(at, message).with_help(help));
    ToolPattern::parse(&pattern).ok()
}

/// Characters that are wildcards in some pattern languages but can also be part of a name.
const AMBIGUOUS_CHARACTERS: [char; 3] = ['?', '[', ']'];

/// The name with `*` in place of everything that may be a wildcard.
fn widen_wildcards(name: &str) -> String {
    let mut wide = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once(AMBIGUOUS_CHARACTERS) {
        wide.push_str(before);
        wide.push('*');
        let is_set = rest.get(before.len()..).is_some_and(|found| found.starts_with('['));
        rest = after.split_once(']').filter(|_| is_set).map_or(after, |(_, behind)| behind);
    }
    wide.push_str(rest);
    wide
}
