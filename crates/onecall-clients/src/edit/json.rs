//! Edits JSON with comments and trailing commas.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Ast};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use super::splice::{indentation, line_end, splice};
use super::{CommentHandling, EditError, EntryContent, InsertionTrace, not_editable};
use crate::section::ServerSection;

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    Ok(parse(text)?.as_ref().map_or(Value::Object(Map::new()), value))
}

pub(super) fn insert(
    text: &str,
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
) -> Result<(String, InsertionTrace), EditError> {
    if text.trim().is_empty() {
        let (edited, _) = insert(&format!("{{}}{}", line_end(text)), section, name, content)?;
        return Ok((
            edited,
            InsertionTrace {
                known_keys: 0,
                empty: Some(text.to_owned()),
                ..InsertionTrace::default()
            },
        ));
    }
    let parsed = parse(text)?;
    if parsed.is_none() {
        // The text contains only comments.
        let lead = if text.ends_with('\n') { "" } else { line_end(text) };
        let (edited, _) = insert(&format!("{text}{lead}{{}}"), section, name, content)?;
        let trace =
            InsertionTrace { known_keys: 0, empty: Some(String::new()), lead: lead.to_owned() };
        return Ok((edited, trace));
    }
    let (parent, known_keys) = descend(parsed.as_ref(), &section.keys)?;
    let missing = section.keys.get(known_keys..).unwrap_or_default();
    let layout = JsonLayout::of(text, parsed.as_ref());
    let trace = InsertionTrace {
        known_keys,
        empty: parent.properties.is_empty().then(|| slice(text, span_of(parent)).to_owned()),
        lead: String::new(),
    };
    let position = InsertPosition::find(text, parent, &layout);
    let written = match content {
        EntryContent::Verbatim(removed) if missing.is_empty() && !parent.properties.is_empty() => {
            return Ok((position.insert_into(text, removed), trace));
        }
        EntryContent::Verbatim(removed) => {
            nested(missing, removed.trim_start(), &position.indent, &layout)
        }
        EntryContent::Entry(entry, _) => {
            let mut indent = position.indent.clone();
            missing.iter().for_each(|_| indent.push_str(&layout.indent_unit));
            let value = layout.write(&Value::Object(entry.clone()), &indent, position.is_inline);
            let property = format!("{}: {value}", quoted(name));
            nested(missing, &property, &position.indent, &layout)
        }
    };
    let written = format!("{}{written}", position.separator);
    Ok((position.insert_into(text, &written), trace))
}

pub(super) fn remove(
    text: &str,
    section: &ServerSection,
    name: &str,
    trace: &InsertionTrace,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let (mut edited, removed) = remove_property(text, &section.keys, name, comments)?;
    // Objects that were created for the entry are removed with it, from the inside out.
    for depth in (trace.known_keys..section.keys.len()).rev() {
        let (outer, inner) = section.keys.split_at(depth);
        let (parsed, Some(key)) = (parse(&edited)?, inner.first()) else { break };
        let (parent, known) =
            descend(parsed.as_ref(), section.keys.get(..=depth).unwrap_or_default())?;
        if known != depth + 1 || !is_blank(&edited, parent) {
            return Ok((edited, removed));
        }
        edited = remove_property(&edited, outer, key, comments)?.0;
    }
    if let Some(empty) = &trace.empty {
        let keys = section.keys.get(..trace.known_keys).unwrap_or_default();
        let parsed = parse(&edited)?;
        let (parent, _) = descend(parsed.as_ref(), keys)?;
        let mut span = span_of(parent);
        let squeezed = |text: &str| text.replace(char::is_whitespace, "");
        let same_comments = squeezed(slice(&edited, span.clone())) == squeezed(empty);
        if is_blank(&edited, parent) || same_comments {
            // A file that was empty before becomes empty again, without braces.
            let whole = empty.trim().is_empty() && edited.trim() == slice(&edited, span.clone());
            if slice(&edited, 0..span.start).ends_with(&trace.lead) {
                span.start -= trace.lead.len();
            }
            edited = match whole {
                true => empty.clone(),
                false => splice(&edited, vec![(span, empty.clone())]),
            };
        }
    }
    Ok((edited, removed))
}

fn remove_property(
    text: &str,
    keys: &[String],
    name: &str,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let parsed = parse(text)?;
    let (parent, _) = descend(parsed.as_ref(), keys)?;
    let properties = &parent.properties;
    let Some(index) = properties.iter().position(|property| property.name.as_str() == name) else {
        return Err(EditError::NotFound { name: name.to_owned() });
    };
    let (start, end) = (parent.range.start, parent.range.end);
    let Some(property) = properties.get(index) else { return Err(not_editable("no entry")) };
    let previous = index.checked_sub(1).and_then(|index| properties.get(index));
    let next = properties.get(index + 1);
    let comma_before =
        previous.and_then(|previous| find_comma(text, previous.range.end..property.range.start));
    let from = comments_end(text, comma_before.map_or(start + 1, |comma| comma + 1));
    let from = from.min(property.range.start);
    let until = next.map_or(end.saturating_sub(1), |next| next.range.start);
    let own_comma = find_comma(text, property.range.end..until);
    let own_end = own_comma.map_or(property.range.end, |comma| comma + 1);
    let (from, to) = match comments {
        CommentHandling::Remove => (from, comments_end(text, own_end)),
        CommentHandling::Keep => {
            (after_comments(text, from..property.range.start, own_end), own_end)
        }
    };
    let mut changes = vec![(from..to.min(until), String::new())];
    if let (None, Some(comma), None) = (own_comma, comma_before, next) {
        changes.push((comma..comma + 1, String::new()));
    }
    let removed = with_comment_above(
        slice(text, from..property.range.start),
        slice(text, own_end..to.min(until)).trim(),
        slice(text, property.range.start..property.range.end),
    );
    let edited = splice(text, changes);
    if properties.len() > 1 {
        return Ok((edited, removed));
    }
    let parsed = parse(&edited)?;
    let (parent, _) = descend(parsed.as_ref(), keys)?;
    if is_blank(&edited, parent) {
        let span = span_of(parent);
        return Ok((splice(&edited, vec![(span, "{}".to_owned())]), removed));
    }
    Ok((edited, removed))
}

/// The position after the comments in `gap`, where the blanks before the property begin. A line
/// comment keeps its line break, unless the text after the property, at `end`, begins with one.
fn after_comments(text: &str, gap: Range<usize>, end: usize) -> usize {
    let kept = slice(text, gap.clone()).trim_end().len();
    let rest = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let ends_line = rest.starts_with(['\n', '\r']) || rest.starts_with("//");
    if kept == 0 || ends_line { gap.start + kept } else { gap.end }
}

/// A property with the text before it. A comment behind the property is moved above it, so that a
/// comma can follow the property wherever it is inserted.
fn with_comment_above(before: &str, comment: &str, property: &str) -> String {
    let own_line = before.rfind('\n').filter(|_| !comment.is_empty()).map(|at| {
        let at =
            if before.get(..at).is_some_and(|head| head.ends_with('\r')) { at - 1 } else { at };
        before.get(at..).unwrap_or_default()
    });
    match own_line {
        Some(own_line) => format!("{before}{comment}{own_line}{property}"),
        None => format!("{before}{property}"),
    }
}

/// Writes a value on one line.
pub(super) fn inline(value: &Value) -> String {
    JsonLayout { indent_unit: String::new(), line_end: "\n" }.write(value, "", true)
}

/// The position at which the next property of an object is inserted.
struct InsertPosition {
    at: usize,
    /// The end of the last property, if it has no comma yet.
    comma_at: Option<usize>,
    separator: String,
    indent: String,
    is_inline: bool,
    /// The text after the property.
    closing: String,
    /// The number of blanks in an empty object that are replaced.
    blanks: usize,
}

impl InsertPosition {
    fn find(text: &str, parent: &Object<'_>, layout: &JsonLayout) -> Self {
        let (start, end) = (parent.range.start, parent.range.end.saturating_sub(1));
        let Some(last) = parent.properties.last() else {
            let at = comments_end(text, start + 1);
            let outer = indentation(text, start);
            let indent = format!("{outer}{}", layout.indent_unit);
            let separator = format!("{}{indent}", layout.line_end);
            let rest = slice(text, at..end);
            let (closing, blanks) = match rest.contains('\n') {
                true => (String::new(), 0),
                false => {
                    (format!("{}{outer}", layout.line_end), rest.len() - rest.trim_start().len())
                }
            };
            return Self {
                at,
                comma_at: None,
                separator,
                indent,
                is_inline: false,
                closing,
                blanks,
            };
        };
        let before =
            parent.properties.len().checked_sub(2).and_then(|at| parent.properties.get(at));
        let before = before.map_or(start + 1, |property| property.range.end);
        let comma = find_comma(text, last.range.end..end);
        let at = comments_end(text, comma.map_or(last.range.end, |comma| comma + 1)).min(end);
        let trailing = slice(text, last.range.end..at);
        let is_multiline = slice(text, before..last.range.start).contains('\n');
        // A line comment would include everything that follows on its line.
        let is_inline = !is_multiline && !trailing.contains("//");
        let indent = indentation(text, last.range.start).to_owned();
        let separator =
            if is_inline { " ".to_owned() } else { format!("{}{indent}", layout.line_end) };
        Self {
            at,
            comma_at: comma.is_none().then_some(last.range.end),
            separator,
            indent,
            is_inline,
            closing: if comma.is_some() { ",".to_owned() } else { String::new() },
            blanks: 0,
        }
    }

    fn insert_into(&self, text: &str, written: &str) -> String {
        let property = format!("{written}{}", self.closing);
        let mut changes = vec![(self.at..self.at + self.blanks, property)];
        if let Some(comma_at) = self.comma_at {
            changes.insert(0, (comma_at..comma_at, ",".to_owned()));
        }
        splice(text, changes)
    }
}

/// The layout of a text.
struct JsonLayout {
    indent_unit: String,
    line_end: &'static str,
}

impl JsonLayout {
    fn of(text: &str, root: Option<&Ast<'_>>) -> Self {
        let first = root.and_then(Ast::as_object).and_then(|root| root.properties.first());
        let indent_unit = first.map_or("", |first| indentation(text, first.range.start));
        Self {
            indent_unit: if indent_unit.is_empty() { "  " } else { indent_unit }.to_owned(),
            line_end: line_end(text),
        }
    }

    fn write(&self, value: &Value, indent: &str, is_inline: bool) -> String {
        match value {
            Value::Object(entries) if !entries.is_empty() && !is_inline => {
                let inner = format!("{indent}{}", self.indent_unit);
                let entry = |(key, value): (&String, &Value)| {
                    format!("{inner}{}: {}", quoted(key), self.write(value, &inner, false))
                };
                let entries: Vec<_> = entries.iter().map(entry).collect();
                let between = format!(",{}", self.line_end);
                let end = self.line_end;
                format!("{{{end}{}{end}{indent}}}", entries.join(&between))
            }
            Value::Object(entries) if !entries.is_empty() => {
                let entry = |(key, value): (&String, &Value)| {
                    format!("{}: {}", quoted(key), self.write(value, indent, true))
                };
                let entries: Vec<_> = entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            Value::Array(items) => {
                let items: Vec<_> =
                    items.iter().map(|item| self.write(item, indent, true)).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        }
    }
}

/// Wraps a property in new objects, one for each key.
fn nested(keys: &[String], property: &str, indent: &str, layout: &JsonLayout) -> String {
    let Some((key, rest)) = keys.split_first() else { return property.to_owned() };
    let inner = format!("{indent}{}", layout.indent_unit);
    let nested = nested(rest, property, &inner, layout);
    let end = layout.line_end;
    format!("{}: {{{end}{inner}{nested}{end}{indent}}}", quoted(key))
}

fn parse(text: &str) -> Result<Option<Ast<'_>>, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    parsed.map(|parsed| parsed.value).map_err(|error| EditError::Syntax {
        format: "JSON",
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string().to_lowercase(),
    })
}

/// Follows the keys through nested objects. Returns the last object and how many keys led there.
fn descend<'a, 't>(
    root: Option<&'a Ast<'t>>,
    keys: &[String],
) -> Result<(&'a Object<'t>, usize), EditError> {
    let Some(mut parent) = root.and_then(Ast::as_object) else {
        return Err(not_editable("the file is not an object"));
    };
    for (depth, key) in keys.iter().enumerate() {
        let mut found = parent.properties.iter().filter(|property| property.name.as_str() == key);
        let Some(property) = found.next() else { return Ok((parent, depth)) };
        if found.next().is_some() {
            return Err(not_editable(&format!("'{key}' is given twice")));
        }
        let ObjectProp { value: Ast::Object(object), .. } = property else {
            return Err(not_editable(&format!("'{key}' is not an object")));
        };
        parent = object;
    }
    Ok((parent, keys.len()))
}

/// The position of the first comma outside of comments.
fn find_comma(text: &str, range: Range<usize>) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        let rest = slice(text, at..range.end);
        at += match rest.as_bytes().first() {
            Some(b',') => return Some(at),
            Some(b'/') => comment_length(rest),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// The position after the comments on the same line.
fn comments_end(text: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let comment = rest.trim_start_matches([' ', '\t']);
        if !comment.starts_with("//") && !comment.starts_with("/*") {
            return end;
        }
        let length = comment_length(comment);
        if comment.get(..length).is_none_or(|comment| comment.contains('\n')) {
            return end;
        }
        end += rest.len() - comment.len() + length;
    }
}

fn comment_length(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find(['\n', '\r']).unwrap_or(text.len());
    }
    match text.strip_prefix("/*") {
        Some(inner) => inner.find("*/").map_or(text.len(), |end| end + 4),
        None => 1,
    }
}

/// Whether the object contains nothing, not even a comment.
fn is_blank(text: &str, parent: &Object<'_>) -> bool {
    let span = span_of(parent);
    slice(text, span.start + 1..span.end.saturating_sub(1)).trim().is_empty()
}

fn value(ast: &Ast<'_>) -> Value {
    match ast {
        Ast::StringLit(text) => Value::String(text.value.to_string()),
        Ast::NumberLit(number) => number
            .value
            .parse::<Number>()
            .map_or_else(|_| Value::String(number.value.to_owned()), Value::Number),
        Ast::BooleanLit(boolean) => Value::Bool(boolean.value),
        Ast::NullKeyword(_) => Value::Null,
        Ast::Array(array) => Value::Array(array.elements.iter().map(value).collect()),
        Ast::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), value(&property.value)))
                .collect(),
        ),
    }
}

fn span_of(parent: &Object<'_>) -> Range<usize> {
    parent.range.start..parent.range.end
}

fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
