//! Edits TOML: a new entry is a separate table at the end, or an addition to an inline table.

use std::ops::Range;

use serde_json::{Map, Number, Value, json};
use toml_edit::{Document, Item, Table, TableLike, Value as Toml};

use super::splice::{line_end, separator_before_block, splice};
use super::{CommentHandling, EditError, EntryContent, InsertionTrace, not_editable};
use crate::section::ServerSection;

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    Ok(table_value(parse(text)?.as_table()))
}

pub(super) fn insert(
    text: &str,
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
) -> Result<(String, InsertionTrace), EditError> {
    let document = parse(text)?;
    let parent = find(document.as_table(), &section.keys);
    let known_keys = if parent.is_some() { section.keys.len() } else { 0 };
    if let Some(Item::Value(Toml::InlineTable(inline))) = parent {
        let Some(span) = inline.span() else { return Err(not_editable("a table has no place")) };
        let written = match content {
            EntryContent::Entry(entry, _) => format!("{} = {}", key(name), inline_table(entry)),
            EntryContent::Verbatim(removed) => removed.trim().to_owned(),
        };
        let inner = text.get(span.start + 1..span.end.saturating_sub(1)).unwrap_or_default();
        let body = inner.trim_end();
        let at = span.start + 1 + body.len();
        let written = match inline.is_empty() {
            true => format!(" {written} "),
            false => format!("{} {written}", if body.ends_with(',') { "" } else { "," }),
        };
        let empty =
            inline.is_empty().then(|| text.get(span.clone()).unwrap_or_default().to_owned());
        let range = if inline.is_empty() { span.start + 1..span.end - 1 } else { at..at };
        let trace = InsertionTrace { known_keys, empty, lead: String::new() };
        return Ok((splice(text, vec![(range, written)]), trace));
    }
    let end = line_end(text);
    let lead = separator_before_block(text, end);
    let block = match content {
        EntryContent::Verbatim(removed) => removed.clone(),
        EntryContent::Entry(entry, _) => block(section, name, entry, end),
    };
    let trace = InsertionTrace { known_keys, empty: None, lead: lead.clone() };
    Ok((format!("{text}{lead}{block}"), trace))
}

pub(super) fn remove(
    text: &str,
    section: &ServerSection,
    name: &str,
    trace: &InsertionTrace,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let document = parse(text)?;
    let Some(parent) = find(document.as_table(), &section.keys) else {
        return Err(EditError::NotFound { name: name.to_owned() });
    };
    let Some(table_like) = parent.as_table_like() else { return Err(not_editable("not a table")) };
    let Some((entry_key, item)) = table_like.get_key_value(name) else {
        return Err(EditError::NotFound { name: name.to_owned() });
    };
    if let Item::Value(Toml::InlineTable(outer)) = parent {
        let (Some(key), Some(value), Some(span)) = (entry_key.span(), item.span(), outer.span())
        else {
            return Err(not_editable("an entry has no place"));
        };
        return remove_inline(text, key.start..value.end, &span, outer.len(), trace);
    }
    match item {
        Item::Table(table) => {
            let path: Vec<&str> = section.keys.iter().map(String::as_str).chain([name]).collect();
            remove_tables(text, document.as_table(), table, &path, trace, comments)
        }
        Item::Value(value) => {
            let (Some(key), Some(value)) = (entry_key.span(), value.span()) else {
                return Err(not_editable("it is written with dotted keys"));
            };
            let from = text.get(..key.start).unwrap_or_default().rfind('\n').map_or(0, |at| at + 1);
            let rest = text.get(value.end..).unwrap_or_default();
            let to = rest.find('\n').map_or(text.len(), |at| value.end + at + 1);
            let removed = text.get(from..to).unwrap_or_default().to_owned();
            Ok((splice(text, vec![(from..to, String::new())]), removed))
        }
        _ => Err(not_editable("it is not a table")),
    }
}

fn remove_inline(
    text: &str,
    entry: Range<usize>,
    span: &Range<usize>,
    count: usize,
    trace: &InsertionTrace,
) -> Result<(String, String), EditError> {
    let removed = text.get(entry.clone()).unwrap_or_default().to_owned();
    if count == 1 {
        let empty = trace.empty.clone().unwrap_or_else(|| "{}".to_owned());
        return Ok((splice(text, vec![(span.clone(), empty)]), removed));
    }
    let before = text.get(span.start + 1..entry.start).unwrap_or_default();
    let range = match before.rfind(',') {
        Some(comma) if before.get(comma + 1..).is_some_and(|gap| gap.trim().is_empty()) => {
            span.start + 1 + comma..entry.end
        }
        _ => {
            let after = text.get(entry.end..span.end).unwrap_or_default();
            let comma = after.find(',').map_or(0, |comma| comma + 1);
            entry.start..entry.end + comma
        }
    };
    Ok((splice(text, vec![(range, String::new())]), removed))
}

/// Removes the table and its subtables, each from the comments above its header up to the comments
/// of the next one.
fn remove_tables(
    text: &str,
    root: &Table,
    table: &Table,
    path: &[&str],
    trace: &InsertionTrace,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let mut headers = Vec::new();
    collect_headers(root, &mut Vec::new(), &mut headers);
    headers.sort_by_key(|(start, _)| *start);
    if table.is_dotted() {
        return Err(not_editable("it is written with dotted keys"));
    }
    let mut changes = Vec::new();
    let mut removed = String::new();
    for (index, (start, header)) in headers.iter().enumerate() {
        let is_below = header.len() >= path.len() && header.iter().zip(path).all(|(a, b)| a == b);
        if !is_below {
            continue;
        }
        let next = headers.get(index + 1).map(|(next, _)| *next);
        let (from, to) = match comments {
            CommentHandling::Remove => (
                with_comments_above(text, *start),
                next.map_or(text.len(), |next| with_comments_above(text, next)),
            ),
            CommentHandling::Keep => {
                (*start, end_of_keys(text, *start, next.unwrap_or(text.len())))
            }
        };
        removed.push_str(text.get(from..to).unwrap_or_default());
        changes.push((from..to, String::new()));
    }
    if let Some((range, _)) = changes.first_mut() {
        let before = text.get(..range.start).unwrap_or_default();
        if before.ends_with(&trace.lead) {
            range.start -= trace.lead.len();
        }
    } else {
        return Err(not_editable("its table has no header of its own"));
    }
    Ok((splice(text, changes), removed))
}

fn collect_headers<'t>(
    table: &'t Table,
    path: &mut Vec<&'t str>,
    headers: &mut Vec<(usize, Vec<String>)>,
) {
    for (key, item) in table {
        path.push(key);
        match item {
            Item::Table(inner) => {
                if let (false, false, Some(span)) =
                    (inner.is_implicit(), inner.is_dotted(), inner.span())
                {
                    headers
                        .push((span.start, path.iter().map(|part| (*part).to_owned()).collect()));
                }
                collect_headers(inner, path, headers);
            }
            Item::ArrayOfTables(tables) => {
                for inner in tables {
                    if let Some(span) = inner.span() {
                        let path = path.iter().map(|part| (*part).to_owned()).collect();
                        headers.push((span.start, path));
                    }
                    collect_headers(inner, path, headers);
                }
            }
            Item::None | Item::Value(_) => {}
        }
        path.pop();
    }
}

/// The position after the last line of a table that is neither blank nor a comment.
fn end_of_keys(text: &str, start: usize, end: usize) -> usize {
    let mut at = start;
    let mut last = start;
    for line in text.get(start..end).unwrap_or_default().split_inclusive('\n') {
        at += line.len();
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') {
            last = at;
        }
    }
    last
}

fn with_comments_above(text: &str, header: usize) -> usize {
    let mut start = header;
    loop {
        let before = text.get(..start).unwrap_or_default();
        let Some(line) = before.lines().next_back() else { return start };
        if !before.ends_with('\n') || !line.trim_start().starts_with('#') {
            return start;
        }
        let without_end = before.strip_suffix('\n').unwrap_or(before);
        start = without_end.rfind('\n').map_or(0, |at| at + 1);
    }
}

fn block(section: &ServerSection, name: &str, entry: &Map<String, Value>, end: &str) -> String {
    let path: Vec<_> = section.keys.iter().map(|part| key(part)).chain([key(name)]).collect();
    let mut block = format!("[{}]{end}", path.join("."));
    for (name, value) in entry {
        block.push_str(&format!("{} = {}{end}", key(name), written(value)));
    }
    block
}

fn inline_table(entry: &Map<String, Value>) -> String {
    let pairs: Vec<_> =
        entry.iter().map(|(name, value)| format!("{} = {}", key(name), written(value))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn written(value: &Value) -> String {
    match value {
        Value::Object(entry) => inline_table(entry),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !text.is_empty() && text.chars().all(is_bare) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// Quotes a text. JSON's escapes are valid in TOML as well; one more character must be escaped.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start.min(text.len()));
        let before = text.get(..offset).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        EditError::Syntax {
            format: "TOML",
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            what: error.message().lines().next().unwrap_or_default().to_owned(),
        }
    })
}

fn find<'t>(table: &'t Table, keys: &[String]) -> Option<&'t Item> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(first)?, |item, key| item.as_table_like()?.get(key))
}

fn table_value(table: &dyn TableLike) -> Value {
    let pairs = table.iter().map(|(key, item)| (key.to_owned(), item_value(item)));
    Value::Object(pairs.collect())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => scalar_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn scalar_value(value: &Toml) -> Value {
    match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => Number::from_f64(*number.value())
            .map_or_else(|| json!(number.value().to_string()), Value::Number),
        Toml::Boolean(boolean) => json!(boolean.value()),
        Toml::Datetime(time) => json!(time.value().to_string()),
        Toml::Array(items) => items.iter().map(scalar_value).collect(),
        Toml::InlineTable(table) => table_value(table),
    }
}
