//! The names that exposed tools and prompts have for clients.

use std::collections::HashMap;

use onecall_config::ExposedNames;
use onecall_core::CallableName;

/// The longest own name that is used, in bytes.
const MAX_OWN_NAME: usize = 128;

/// Begins callable names. An own name that begins like this could be confused with one.
pub(super) const CALLABLE_PREFIX: &str = "mcp__";

/// Something exposed, with the two names that it can have.
pub(super) struct NamedEntry<'a> {
    /// The name on its server.
    pub(super) own: &'a str,
    /// The name that contains the name of its server.
    pub(super) callable: &'a CallableName,
}

/// The names of all entries, in their order. An own name is used if no other entry has it, it is not
/// `reserved`, and every character `is_allowed`. The names do not depend on what a user may use, so
/// that a name means the same for all users.
pub(super) fn client_names(
    entries: &[NamedEntry<'_>],
    names: ExposedNames,
    reserved: &[&str],
    is_allowed: fn(char) -> bool,
) -> Vec<String> {
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        *owners.entry(entry.own).or_default() += 1;
    }
    let has_own = |own: &str| {
        names == ExposedNames::Own
            && owners.get(own) == Some(&1)
            && !own.is_empty()
            && own.len() <= MAX_OWN_NAME
            && own.chars().all(is_allowed)
            && !own.starts_with(CALLABLE_PREFIX)
            && !reserved.contains(&own)
    };
    let name = |entry: &NamedEntry<'_>| match has_own(entry.own) {
        true => entry.own.to_owned(),
        false => entry.callable.as_str().to_owned(),
    };
    entries.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_name_is_used_only_where_it_can_mean_nothing_else() {
        let all = [
            ("search", "mcp__a__search"),
            ("read", "mcp__a__read"),
            ("read", "mcp__b__read"),
            ("execute_program", "mcp__b__execute_program"),
            ("mcp__a__read", "mcp__b__mcp__a__read"),
            ("a b", "mcp__b__a_b"),
            ("", "mcp__b__"),
        ];
        let callable = all.map(|(_, callable)| CallableName::new(callable));
        let entries: Vec<NamedEntry<'_>> = all
            .iter()
            .zip(&callable)
            .map(|((own, _), callable)| NamedEntry { own, callable })
            .collect();
        let shown =
            |names| client_names(&entries, names, &["execute_program"], |it| it.is_ascii_graphic());
        let expected_own = [
            "search",
            "mcp__a__read",
            "mcp__b__read",
            "mcp__b__execute_program",
            "mcp__b__mcp__a__read",
            "mcp__b__a_b",
            "mcp__b__",
        ];
        assert_eq!(shown(ExposedNames::Own), expected_own);
        assert_eq!(shown(ExposedNames::Callable), all.map(|(_, callable)| callable));
    }
}
