//! Writes the configuration keys as Markdown tables, for people.

use std::fmt::Write;

use super::{CONFIGURATION, Key, ValueKind};

/// All keys as Markdown tables, one for each section.
#[must_use]
pub fn markdown_reference() -> String {
    let mut text = String::new();
    write_section("The file", CONFIGURATION, &mut text);
    text
}

fn write_section(title: &str, keys: &[Key], text: &mut String) {
    _ = writeln!(text, "## {title}\n\n| key | value | if left out | meaning |\n|---|---|---|---|");
    for key in keys {
        let (kind, default) = (describe_kind(&key.kind), default(key));
        _ = writeln!(text, "| `{}` | {kind} | {default} | {} |", key.name, key.description);
    }
    let mut written: Vec<&[Key]> = Vec::new();
    for key in keys {
        let Some(keys) = nested_keys(&key.kind) else { continue };
        // The keys of a server appear under two names.
        if written.iter().any(|other| std::ptr::eq(*other, keys)) {
            continue;
        }
        written.push(keys);
        text.push('\n');
        write_section(&heading(key), keys, text);
    }
}

fn heading(key: &Key) -> String {
    match key.kind {
        ValueKind::EntryListOrMapping(_) | ValueKind::EntryMapping(_) => {
            format!("Each of `{}`", key.name)
        }
        _ => format!("`{}`", key.name),
    }
}

fn nested_keys(kind: &ValueKind) -> Option<&'static [Key]> {
    match kind {
        ValueKind::Section(keys)
        | ValueKind::EntryListOrMapping(keys)
        | ValueKind::EntryMapping(keys) => Some(keys),
        _ => None,
    }
}

fn default(key: &Key) -> String {
    match key.default.strip_prefix('(').and_then(|words| words.strip_suffix(')')) {
        Some(words) => words.to_owned(),
        None => format!("`{}`", key.default),
    }
}

fn describe_kind(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::AnyScalar => "text or number".to_owned(),
        ValueKind::Path => "path".to_owned(),
        ValueKind::Boolean => "`true`, `false`".to_owned(),
        ValueKind::Integer { min, max } => format!("{min} to {max}"),
        ValueKind::Seconds => "seconds".to_owned(),
        ValueKind::Choice(names) => {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        ValueKind::Patterns => "list of patterns".to_owned(),
        ValueKind::List(item) => format!("list of {}", describe_kind(item)),
        ValueKind::Mapping(value) => format!("mapping of names to {}", describe_kind(value)),
        ValueKind::PatternMapping(value) => {
            format!("mapping of patterns to {}", describe_kind(value))
        }
        ValueKind::Section(_) => "section".to_owned(),
        ValueKind::EntryListOrMapping(_) => "list or mapping of entries".to_owned(),
        ValueKind::EntryMapping(_) => "mapping of entries".to_owned(),
        ValueKind::Schema => "JSON Schema".to_owned(),
    }
}
