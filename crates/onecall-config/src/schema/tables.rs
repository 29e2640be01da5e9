//! Writes the configuration keys as Markdown tables, for people.

use std::fmt::Write;

use super::{CONFIGURATION, Key, Kind};

/// All keys as Markdown tables, one for each section.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    write_section("The file", CONFIGURATION, &mut text);
    text
}

fn write_section(title: &str, keys: &[Key], text: &mut String) {
    _ = writeln!(text, "## {title}\n\n| key | value | if left out | meaning |\n|---|---|---|---|");
    for key in keys {
        let (kind, default) = (described(&key.kind), default(key));
        _ = writeln!(text, "| `{}` | {kind} | {default} | {} |", key.name, key.about);
    }
    let mut told: Vec<&[Key]> = Vec::new();
    for key in keys {
        let Some(keys) = inner(&key.kind) else { continue };
        // The keys of a server appear under two names.
        if told.iter().any(|other| std::ptr::eq(*other, keys)) {
            continue;
        }
        told.push(keys);
        text.push('\n');
        write_section(&heading(key), keys, text);
    }
}

fn heading(key: &Key) -> String {
    match key.kind {
        Kind::Entries(_) | Kind::Named(_) => format!("Each of `{}`", key.name),
        _ => format!("`{}`", key.name),
    }
}

fn inner(kind: &Kind) -> Option<&'static [Key]> {
    match kind {
        Kind::Section(keys) | Kind::Entries(keys) | Kind::Named(keys) => Some(keys),
        _ => None,
    }
}

fn default(key: &Key) -> String {
    match key.default.strip_prefix('(').and_then(|words| words.strip_suffix(')')) {
        Some(words) => words.to_owned(),
        None => format!("`{}`", key.default),
    }
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Written => "text or number".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Whole { least, most } => format!("{least} to {most}"),
        Kind::Seconds => "seconds".to_owned(),
        Kind::Choice(names) => {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Patterns => "list of patterns".to_owned(),
        Kind::List(item) => format!("list of {}", described(item)),
        Kind::Mapping(value) => format!("mapping of names to {}", described(value)),
        Kind::ByPattern(value) => format!("mapping of patterns to {}", described(value)),
        Kind::Section(_) => "section".to_owned(),
        Kind::Entries(_) => "list or mapping of entries".to_owned(),
        Kind::Named(_) => "mapping of entries".to_owned(),
        Kind::Schema => "JSON Schema".to_owned(),
    }
}
