//! Selects cached answers by a part of a tool's name, for `clearCache` and similar functions of
//! programs that were written for other caches.

use onecall_core::{PatternError, ToolPattern};

/// Where the name ends in a cache key such as `list_orders:{"region":"EU"}`.
const END_OF_NAME: [char; 3] = [':', '{', '"'];

/// The prefix of callable names, with single underscores.
const CLIENT_PREFIX: &str = "mcp_";

/// The pattern of all names that contain `text`, in which `*` stands for any characters. What
/// follows the name in a cache key is ignored: clearing too many answers is safe, clearing too few
/// is not.
pub(super) fn pattern_of_names_containing(text: &str) -> Result<ToolPattern, PatternError> {
    let name = text.split(END_OF_NAME).next().unwrap_or_default();
    let plain = |it: char| if it.is_ascii_alphanumeric() || it == '*' { it } else { '_' };
    let mut name: String = name.chars().map(plain).collect();
    if name.starts_with(CLIENT_PREFIX) {
        name = name.replace('_', "_*");
    }
    ToolPattern::parse(&format!("*{name}*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_names_and_of_keys() {
        let tool = "mcp__aiknow_sys__query_sessions";
        let cases = [
            ("", true),
            ("query_sessions", true),
            ("query-sessions", true),
            ("sessions", true),
            ("query_sessions:{\"topic\"", true),
            ("{\"topic\"", true),
            ("mcp__aiknow_sys__query", true),
            ("mcp_aiknow_sys_query_sessions", true),
            ("query_plans", false),
            ("*", true),
            ("mcp__aiknow_sys__*", true),
            ("mcp__other__*", false),
            ("mcp_other_query_sessions", false),
        ];
        for (text, expected) in cases {
            let pattern = pattern_of_names_containing(text).map(|pattern| pattern.matches(tool));
            assert_eq!(pattern, Ok(expected), "{text}");
        }
    }
}
