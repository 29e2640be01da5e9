//! Writes new entries as YAML.

use onecall_config::document::{Scalar, ScalarKind};
use serde_json::{Map, Value, json as value_of};

use crate::edit::{EntryContent, json};
use crate::section::{SectionShape, ServerSection};

/// Writes lines as YAML comments.
fn comment_lines(lines: &[String], indent: &str, end: &str) -> String {
    lines.iter().map(|line| format!("{indent}# {line}{end}")).collect()
}

/// Writes an entry of a list of servers as lines that begin with `indent`.
fn entry_lines(name: &str, entry: &Map<String, Value>, indent: &str, end: &str) -> String {
    let mut lines = format!("{indent}- name: {}{end}", scalar(name));
    write_fields(entry, &format!("{indent}  "), end, &mut lines);
    lines
}

pub(super) fn entry_block(
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
    indent: &str,
    end: &str,
) -> String {
    match content {
        EntryContent::Verbatim(removed) if removed.ends_with('\n') => removed.clone(),
        EntryContent::Verbatim(removed) => format!("{removed}{end}"),
        EntryContent::Entry(entry, comments) => {
            let mut block = comment_lines(comments, indent, end);
            match section.shape {
                SectionShape::List => block.push_str(&entry_lines(name, entry, indent, end)),
                SectionShape::Mapping => {
                    block.push_str(&format!("{indent}{}:{end}", scalar(name)));
                    write_fields(entry, &format!("{indent}  "), end, &mut block);
                }
            }
            block
        }
    }
}

fn write_fields(entry: &Map<String, Value>, indent: &str, end: &str, lines: &mut String) {
    for (key, value) in entry {
        lines.push_str(&format!("{indent}{}: ", scalar(key)));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                lines.truncate(lines.trim_end().len());
                lines.push_str(end);
                write_fields(inner, &format!("{indent}  "), end, lines);
            }
            value => {
                lines.push_str(&flow(value));
                lines.push_str(end);
            }
        }
    }
}

/// Whether every text is quoted, as in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    WhenNeeded,
    Always,
}

pub(super) fn entry_in_brackets(
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
    quotes: Quoting,
) -> String {
    let written = |value: Value| flow_value(&value, quotes);
    match (content, section.shape) {
        (EntryContent::Entry(entry, _), SectionShape::Mapping) => {
            format!("{}: {}", quoted(name), written(Value::Object(entry.clone())))
        }
        (EntryContent::Entry(entry, _), SectionShape::List) => {
            let mut named = Map::from_iter([("name".to_owned(), value_of!(name))]);
            named.extend(entry.clone());
            written(Value::Object(named))
        }
        (EntryContent::Verbatim(removed), shape) => {
            let removed = removed.trim();
            let item = removed.strip_prefix("- ").filter(|_| shape == SectionShape::List);
            item.unwrap_or(removed).to_owned()
        }
    }
}

/// Writes a field as lines that begin with `indent`.
pub(super) fn field_lines(key: &str, value: &Value, indent: &str, end: &str) -> String {
    let mut lines = String::new();
    write_fields(&Map::from_iter([(key.to_owned(), value.clone())]), indent, end, &mut lines);
    lines
}

/// Writes a field on one line, for use in brackets.
pub(super) fn inline_field(key: &str, value: &Value, quotes: Quoting) -> String {
    let key = if quotes == Quoting::Always { quoted(key) } else { scalar(key) };
    format!("{key}: {}", flow_value(value, quotes))
}

/// Writes a value on one line.
pub(super) fn flow_value(value: &Value, quotes: Quoting) -> String {
    match quotes {
        Quoting::WhenNeeded => flow(value),
        Quoting::Always => json::inline(value),
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(key), flow(value)))
                .collect();
            match entries.is_empty() {
                true => "{}".to_owned(),
                false => format!("{{ {} }}", entries.join(", ")),
            }
        }
        other => other.to_string(),
    }
}

/// Writes a text, with quotes unless it is unambiguous without them.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-@".contains(c);
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '.');
    let is_text = Scalar::plain(text).kind == ScalarKind::Text;
    // Other parsers interpret more words as booleans.
    let is_word =
        matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n");
    match begins_well && text.chars().all(is_plain) && is_text && !is_word {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// Quotes a text. JSON's quotes are valid in YAML as well; a few more characters must be escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for character in Value::from(text).to_string().chars() {
        match character {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            plain => quoted.push(plain),
        }
    }
    quoted
}
