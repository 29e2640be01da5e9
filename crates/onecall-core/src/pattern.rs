//! Patterns over callable names, and the tool policy that is made of them. Matching takes linear
//! time, so a pattern from a configuration file cannot make it slow.

use thiserror::Error;

/// Which tools programs may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolPolicy {
    /// Every tool of every server.
    #[default]
    AllowAll,
    /// Only tools that match one of these patterns.
    Allow(Vec<ToolPattern>),
    /// Every tool that matches none of these patterns.
    Block(Vec<ToolPattern>),
}

/// A callable name in which `*` stands for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(String);

/// Why a text is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The text is empty.
    #[error("a tool pattern must not be empty")]
    Empty,
    /// The text has a character that no callable name can contain.
    #[error("a tool pattern may hold only letters, digits, '_' and '*'")]
    InvalidCharacter,
}

impl ToolPattern {
    /// Parses a pattern such as `mcp__internal_apis__delete_*`.
    ///
    /// # Errors
    /// If it is empty or holds characters that no callable name has.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'*');
        match pattern {
            "" => Err(PatternError::Empty),
            _ if pattern.bytes().all(is_valid) => Ok(Self(pattern.to_owned())),
            _ => Err(PatternError::InvalidCharacter),
        }
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether all of `name` matches. The parts between stars are searched from left to right
    /// without backtracking, so no pattern can make this slow.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(inner) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else {
            return false;
        };
        let mut parts = middle.split('*');
        parts.try_fold(inner, |rest, part| rest.split_once(part).map(|(_, after)| after)).is_some()
    }
}

impl ToolPolicy {
    /// Whether programs may call a tool that has only this name.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        self.permits_any_name(name, Vec::new)
    }

    /// Whether programs may call a tool that has other names besides its callable one: the name it
    /// would have without a name conflict, and the name its server gives it. A block list applies
    /// to any of the names, so that a server cannot unblock a tool by adding another one; an allow
    /// list applies to the callable name only.
    #[must_use]
    pub fn permits_any_name(
        &self,
        callable: &str,
        other_names: impl FnOnce() -> Vec<String>,
    ) -> bool {
        let any = |patterns: &[ToolPattern], name: &str| {
            patterns.iter().any(|pattern| pattern.matches(name))
        };
        match self {
            Self::AllowAll => true,
            Self::Allow(patterns) => any(patterns, callable),
            Self::Block(patterns) if patterns.is_empty() => true,
            Self::Block(patterns) => {
                !any(patterns, callable) && !other_names().iter().any(|name| any(patterns, name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> ToolPattern {
        ToolPattern::parse(text).unwrap()
    }

    #[test]
    fn matching() {
        let rows = [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("abc", "ab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("**", "x", true),
            ("a*", "a", true),
            ("a*", "ba", false),
            ("*c", "abc", true),
            ("*c", "cb", false),
            ("a*c", "abc", true),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a*b*c", "a__b__c", true),
            ("a*b*c", "a__c__b", false),
            ("*b*b*", "b", false),
            ("*b*b*", "bb", true),
            ("*_x_*_x_*", "_x_x_", false),
            ("mcp__internal_apis__delete_*", "mcp__internal_apis__delete_user", true),
            ("mcp__internal_apis__delete_*", "mcp__internal_apis__get_user", false),
            ("MCP__*", "mcp__a__b", false),
        ];
        for (text, name, expected) in rows {
            assert_eq!(pattern(text).matches(name), expected, "{text} on {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_any_other() {
        let hostile = pattern(&format!("{}b", "a*".repeat(20_000)));
        assert!(!hostile.matches(&"a".repeat(40_000)));
    }

    #[test]
    fn invalid_patterns() {
        assert_eq!(ToolPattern::parse(""), Err(PatternError::Empty));
        for text in ["a b", "a.b", "a-b", "ä", "a?", "[a]"] {
            assert_eq!(ToolPattern::parse(text), Err(PatternError::InvalidCharacter), "{text}");
        }
    }

    #[test]
    fn policies() {
        let patterns = || vec![pattern("mcp__a__*"), pattern("mcp__b__read")];
        let names = ["mcp__a__x", "mcp__b__read", "mcp__b__write"];
        let permitted = |policy: ToolPolicy| names.map(|name| policy.permits(name));
        assert_eq!(permitted(ToolPolicy::AllowAll), [true, true, true]);
        assert_eq!(permitted(ToolPolicy::Allow(patterns())), [true, true, false]);
        assert_eq!(permitted(ToolPolicy::Block(patterns())), [false, false, true]);
        assert_eq!(permitted(ToolPolicy::Allow(vec![])), [false, false, false]);
        assert_eq!(permitted(ToolPolicy::Block(vec![])), [true, true, true]);
    }

    #[test]
    fn a_tool_is_blocked_by_any_of_its_names_and_allowed_by_one() {
        let (callable, others) =
            ("mcp__a__x_12ab34", || ["mcp__a__x", "x"].map(str::to_owned).to_vec());
        let permits = |policy: ToolPolicy| policy.permits_any_name(callable, others);
        for text in ["mcp__a__x_12ab34", "mcp__a__x", "x", "mcp__*__x"] {
            assert!(!permits(ToolPolicy::Block(vec![pattern(text)])), "{text}");
        }
        for text in ["mcp__a__x", "x", "mcp__*__x"] {
            assert!(!permits(ToolPolicy::Allow(vec![pattern(text)])), "{text}");
        }
        assert!(permits(ToolPolicy::Allow(vec![pattern("mcp__a__x_12ab34")])));
        assert!(permits(ToolPolicy::Block(vec![pattern("mcp__a__y")])));
    }
}
