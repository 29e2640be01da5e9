//! Assigns callable names to tools. The result depends on the set of tools and not on their order,
//! and the names are unique.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use onecall_core::{CallableName, DigestBuilder, ServerName, ToolName};

/// The number of digits in the first suffix of a colliding name.
const SHORTEST_SUFFIX: usize = 6;

/// Assigns a name to each tool, in the given order. No tool may be given twice.
///
/// A tool whose natural name is unique keeps it. If several tools have the same natural name, each
/// gets `_` and the first digits of its digest, and the number of digits is doubled as long as the
/// name still collides. Doubling limits the rounds against a server that lists the suffixed names
/// as its own tools: to force one more round, it has to send a name twice as long.
#[must_use]
pub fn callable_names(tools: &[(ServerName, ToolName)]) -> Vec<CallableName> {
    let natural: Vec<String> = tools.iter().map(|(s, t)| natural_name(s, t)).collect();
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for name in &natural {
        *owners.entry(name).or_default() += 1;
    }

    let mut names = natural.clone();
    let mut colliding: Vec<CollidingTool<'_>> = tools
        .iter()
        .zip(&natural)
        .enumerate()
        .filter(|(_, (_, name))| owners.get(name.as_str()).is_some_and(|count| *count > 1))
        .map(|(position, ((server, tool), natural))| {
            CollidingTool::new(position, server, tool, natural)
        })
        .collect();

    loop {
        let mut seen = HashSet::new();
        let clashing: HashSet<String> = colliding
            .iter()
            .map(CollidingTool::name)
            .filter(|name| owners.contains_key(name.as_str()) || !seen.insert(name.clone()))
            .collect();
        if clashing.is_empty() {
            break;
        }
        for tool in colliding.iter_mut().filter(|tool| clashing.contains(&tool.name())) {
            tool.digits *= 2;
        }
    }

    for tool in &colliding {
        if let Some(name) = names.get_mut(tool.position) {
            *name = tool.name();
        }
    }
    names.into_iter().map(CallableName::new).collect()
}

/// The prefix of the callable names of this server's tools. Another server may have the same
/// prefix.
#[must_use]
pub fn name_prefix(server: &ServerName) -> String {
    let mut name = String::from("mcp__");
    name.extend(server.as_str().chars().map(identifier_char));
    name.push_str("__");
    name
}

/// The callable name of a tool if no other tool has the same one.
#[must_use]
pub fn natural_name(server: &ServerName, tool: &ToolName) -> String {
    let mut name = name_prefix(server);
    name.extend(tool.as_str().chars().map(identifier_char));
    name
}

fn identifier_char(raw: char) -> char {
    if raw.is_ascii_alphanumeric() { raw } else { '_' }
}

/// The digits of the suffix that makes a name unique.
pub(crate) fn short_digest(server: &str, tool: &str, digits: usize) -> String {
    hex_digest(&ServerName::new(server), &ToolName::new(tool), digits)
}

/// A tool that shares its natural name with another one.
struct CollidingTool<'a> {
    position: usize,
    server: &'a ServerName,
    tool: &'a ToolName,
    natural: &'a str,
    digits: usize,
}

impl<'a> CollidingTool<'a> {
    fn new(position: usize, server: &'a ServerName, tool: &'a ToolName, natural: &'a str) -> Self {
        Self { position, server, tool, natural, digits: SHORTEST_SUFFIX }
    }

    fn name(&self) -> String {
        format!("{}_{}", self.natural, hex_digest(self.server, self.tool, self.digits))
    }
}

/// The first `digits` hex digits of the SHA-256 of `server`, NUL, `tool`.
///
/// The server is part of the hash because tools of the same name may be on servers whose names
/// become equal (`a-b` and `a.b`). After the 64 digits of one digest, further digests are appended;
/// they include the length of the server's name, so that names with a NUL in them become distinct
/// too.
fn hex_digest(server: &ServerName, tool: &ToolName, digits: usize) -> String {
    let mut hex = String::new();
    let mut block = 0_u64;
    while hex.len() < digits {
        let mut hasher = DigestBuilder::default();
        if block > 0 {
            hasher.add(block.to_be_bytes());
            hasher.add(server.as_str().len().to_string());
        }
        hasher.add(server.as_str());
        hasher.add([0]);
        hasher.add(tool.as_str());
        // Writing to a String cannot fail.
        let _ = write!(hex, "{}", hasher.finish());
        block += 1;
    }
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(server: &str, tool: &str) -> (ServerName, ToolName) {
        (ServerName::new(server), ToolName::new(tool))
    }

    fn named(tools: &[(ServerName, ToolName)]) -> Vec<String> {
        callable_names(tools).iter().map(|name| name.as_str().to_owned()).collect()
    }

    #[test]
    fn every_character_becomes_one_underscore() {
        let tools = [
            pair("financial-data", "get.quote"),
            pair("s", "größe 💰"),
            pair("s", ""),
            pair("s", "__init__"),
            pair("s", "class"),
        ];
        assert_eq!(
            named(&tools),
            [
                "mcp__financial_data__get_quote",
                "mcp__s__gr__e__",
                "mcp__s__",
                "mcp__s____init__",
                "mcp__s__class",
            ]
        );
    }

    #[test]
    fn tools_that_meet_all_get_a_suffix() {
        // printf 's\0a-b' | sha256sum
        let tools = [pair("s", "a-b"), pair("s", "a_b"), pair("s", "a.b"), pair("s", "other")];
        assert_eq!(
            named(&tools),
            ["mcp__s__a_b_ed3867", "mcp__s__a_b_8d47d4", "mcp__s__a_b_407e8e", "mcp__s__other"]
        );
    }

    #[test]
    fn tools_of_different_servers_meet_too() {
        for tools in [
            [pair("a", "b__c"), pair("a__b", "c")],
            [pair("x-y", "t"), pair("x.y", "t")],
            // Both hash the same bytes; only the digits past the first digest differ.
            [pair("a\0", "x"), pair("a", "\0x")],
        ] {
            let names = named(&tools);
            assert_ne!(names[0], names[1]);
        }
    }

    #[test]
    fn a_tool_alone_on_a_name_keeps_it_and_the_suffix_grows() {
        let taken = format!("a_b_{}", hex_digest(&ServerName::new("s"), &ToolName::new("a-b"), 6));
        let tools = [pair("s", "a-b"), pair("s", "a_b"), pair("s", &taken)];
        let names = named(&tools);
        assert_eq!(names[2], format!("mcp__s__{taken}"));
        let longer = hex_digest(&tools[0].0, &tools[0].1, 12);
        assert_eq!(names[0], format!("mcp__s__a_b_{longer}"));
    }

    #[test]
    fn equal_short_digests_grow_until_they_differ() {
        // All of these become one natural name, and by the birthday bound some of
        // them share their first six digits.
        let tools: Vec<_> = (0..8_000_u32)
            .map(|seed| {
                let tool = (0..13).map(|bit| if seed >> bit & 1 == 0 { '-' } else { '.' });
                pair("s", &tool.collect::<String>())
            })
            .collect();
        let names = named(&tools);
        assert!(names.iter().any(|name| name.len() > "mcp__s__".len() + 13 + 1 + SHORTEST_SUFFIX));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), tools.len());
    }

    #[test]
    fn any_order_gives_the_same_unique_identifiers() {
        let mut tools = vec![
            pair("a", "b__c"),
            pair("a__b", "c"),
            pair("a-b", "x"),
            pair("a.b", "x"),
            pair("a", "x-y"),
            pair("a", "x_y"),
            pair("a", "x.y"),
            pair("a", "ü"),
            pair("a", "\n"),
            pair("", ""),
        ];
        // Tools that sit on the names the colliding ones would get.
        for (server, tool) in tools.clone() {
            let suffix = hex_digest(&server, &tool, SHORTEST_SUFFIX);
            tools.push(pair(server.as_str(), &format!("{}_{suffix}", tool.as_str())));
        }
        let mapping = |tools: &[(ServerName, ToolName)]| -> HashMap<_, _> {
            tools.iter().cloned().zip(named(tools)).collect()
        };
        let expected = mapping(&tools);
        assert_eq!(expected.values().collect::<HashSet<_>>().len(), tools.len());
        for name in expected.values() {
            assert!(name.starts_with("mcp__"));
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        }

        let mut state = 1_u64;
        for _ in 0..2_000 {
            for at in (1..tools.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                tools.swap(at, (state >> 33) as usize % (at + 1));
            }
            assert_eq!(mapping(&tools), expected);
        }
    }
}
