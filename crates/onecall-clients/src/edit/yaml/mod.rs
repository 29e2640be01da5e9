//! Edits YAML line by line: an entry extends from its first line to the end of its indentation.
//! Lists and mappings in brackets are edited in place.

mod brackets;
pub(super) mod field;
mod lines;
mod writer;

use onecall_config::Problem;
use onecall_config::document::{self, Node, Scalar, ScalarKind, Value as Yaml};
use serde_json::{Map, Value, json as value_of};

use super::splice::{line_end, separator_before_block, splice};
use super::{CommentHandling, EditError, EntryContent, InsertionTrace, not_editable};
use crate::section::{SectionShape, ServerSection};

use brackets::{closing_bracket_end, colon_after, remove_from_brackets};
use lines::{Lines, comments_above, entry_line_range, entry_starts};
use writer::{Quoting, entry_block, entry_in_brackets};

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    let document = document::read_expanded(text, false).map_err(syntax_error)?;
    let value = value(&document);
    Ok(if value.is_null() { value_of!({}) } else { value })
}

pub(super) fn insert(
    text: &str,
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
) -> Result<(String, InsertionTrace), EditError> {
    let end = line_end(text);
    let document = parse(text)?;
    let lines = Lines::of(text);
    let Some((key, parent)) = find(&document, section)? else {
        let lead = separator_before_block(text, end);
        let lines = entry_block(section, name, content, "  ", end);
        let edited = format!("{text}{lead}{}:{end}{lines}", section_key(section));
        return Ok((edited, InsertionTrace { known_keys: 0, empty: None, lead }));
    };
    let starts = entry_starts(&lines, parent);
    let is_flow = is_flow(&lines, parent);
    let mut trace = InsertionTrace { known_keys: 1, ..InsertionTrace::default() };
    let is_json = text.trim_start().starts_with('{');
    let Some(last) = starts.last() else {
        if is_json && is_flow {
            let open = lines.offset(parent.at);
            let close = closing_bracket_end(text, open)?;
            let written = entry_in_brackets(section, name, content, Quoting::Always);
            let brackets = text.get(open..close).unwrap_or_default().to_owned();
            let filled = match section.shape {
                SectionShape::List => format!("[{written}]"),
                SectionShape::Mapping => format!("{{{written}}}"),
            };
            trace.empty = Some(brackets);
            return Ok((splice(text, vec![(open..close, filled)]), trace));
        }
        // The value is empty or empty brackets: the entries are inserted below the key.
        let key_line = key.at.line - 1;
        let written = lines.text(key_line);
        let bare = if is_flow || is_explicit_null(parent) {
            let position = lines.offset(parent.at);
            let close = if is_flow {
                closing_bracket_end(text, position)?
            } else {
                position + explicit_null_length(parent)
            };
            if parent.at.line != key.at.line || lines.line_of(close) != key_line {
                return Err(not_editable("empty brackets that go over several lines"));
            }
            let line = lines.range(key_line);
            let head = text.get(line.start..position).unwrap_or_default().trim_end();
            format!("{head}{}", text.get(close..line.end).unwrap_or_default())
        } else {
            written.to_owned()
        };
        trace.empty = Some(written.to_owned());
        let bare = if bare.ends_with('\n') { bare } else { format!("{bare}{end}") };
        let indent = format!("{}  ", " ".repeat(key.at.column - 1));
        let block = entry_block(section, name, content, &indent, end);
        let edited = splice(text, vec![(lines.range(key_line), format!("{bare}{block}"))]);
        return Ok((edited, trace));
    };
    if is_flow {
        let close = closing_bracket_end(text, lines.offset(parent.at))? - 1;
        let body = text.get(..close).unwrap_or_default().trim_end();
        let quotes = if is_json { Quoting::Always } else { Quoting::WhenNeeded };
        let written = entry_in_brackets(section, name, content, quotes);
        let comma = if body.ends_with(',') { "" } else { "," };
        let line = lines.text(last.at.line - 1);
        let indent = line.get(..last.at.column - 1).filter(|head| head.trim().is_empty());
        let gap = indent.map_or_else(|| " ".to_owned(), |indent| format!("{end}{indent}"));
        let position = body.len()..body.len();
        return Ok((splice(text, vec![(position, format!("{comma}{gap}{written}"))]), trace));
    }
    let column = last.column;
    let indent = lines.text(last.line).get(..column).unwrap_or_default().to_owned();
    if !indent.trim().is_empty() {
        return Err(not_editable("an entry that begins in the middle of a line"));
    }
    let after = lines.range(entry_line_range(&lines, last).end - 1).end;
    let mut block = entry_block(section, name, content, &indent, end);
    if !text.get(..after).is_some_and(|before| before.ends_with('\n')) {
        // The last line has no line break, and that stays so.
        trace.lead = end.to_owned();
        block = format!("{end}{}", block.strip_suffix(end).unwrap_or(&block));
    }
    Ok((splice(text, vec![(after..after, block)]), trace))
}

pub(super) fn remove(
    text: &str,
    section: &ServerSection,
    name: &str,
    trace: &InsertionTrace,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let end = line_end(text);
    let document = parse(text)?;
    let lines = Lines::of(text);
    let absent = || EditError::NotFound { name: name.to_owned() };
    let (key, parent) = find(&document, section)?.ok_or_else(absent)?;
    let index =
        entry_names(parent).iter().position(|known| *known == Some(name)).ok_or_else(absent)?;
    let starts = entry_starts(&lines, parent);
    let start = starts.get(index).ok_or_else(absent)?;
    if is_flow(&lines, parent) {
        let position = lines.offset(parent.at);
        let is_only = starts.len() == 1;
        let (edited, removed) =
            remove_from_brackets(text, position, lines.offset(start.at), is_only)?;
        // The text in the form it has outside of brackets.
        let dash = if section.shape == SectionShape::List { "- " } else { "" };
        return Ok((edited, format!("  {dash}{removed}{end}")));
    }
    let body = entry_line_range(&lines, start);
    let above = match comments {
        CommentHandling::Remove => comments_above(&lines, start, key.at.line),
        CommentHandling::Keep => start.line,
    };
    let range = lines.range(above).start..lines.range(body.end - 1).end;
    let removed = text.get(range.clone()).unwrap_or_default().to_owned();
    if starts.len() > 1 {
        let before = text.get(..range.start).unwrap_or_default();
        // The line break that was inserted after a last line without one.
        let line_end =
            if range.end == text.len() && !removed.ends_with('\n') && !trace.lead.is_empty() {
                before.len() - before.strip_suffix(&trace.lead).unwrap_or(before).len()
            } else {
                0
            };
        return Ok((
            splice(text, vec![(range.start - line_end..range.end, String::new())]),
            removed,
        ));
    }
    let key_line = lines.range(key.at.line - 1);
    if trace.known_keys == 0 {
        let mut from = key_line.start;
        let before = text.get(..from).unwrap_or_default();
        from -= if before.ends_with(&trace.lead) { trace.lead.len() } else { 0 };
        let changes = vec![(from..key_line.end, String::new()), (range, String::new())];
        return Ok((splice(text, changes), removed));
    }
    let line = match &trace.empty {
        Some(line) => line.clone(),
        None => {
            let written = lines.text(key.at.line - 1);
            let brackets = if section.shape == SectionShape::List { "[]" } else { "{}" };
            let colon = colon_after(written, key.at.column - 1)?;
            let (head, tail) = written.split_at(colon + 1);
            format!("{head} {brackets}{tail}")
        }
    };
    let line = if range.end < text.len() && !line.ends_with('\n') { line + end } else { line };
    Ok((splice(text, vec![(key_line, line), (range, String::new())]), removed))
}

fn entry_names(parent: &Node) -> Vec<Option<&str>> {
    match &parent.value {
        Yaml::Scalar(_) => Vec::new(),
        Yaml::Mapping(pairs) => pairs.iter().map(|(key, _)| scalar_text(key)).collect(),
        Yaml::List(items) => items.iter().map(item_name).collect(),
    }
}

fn item_name(item: &Node) -> Option<&str> {
    let Yaml::Mapping(pairs) = &item.value else { return None };
    let (_, name) = pairs.iter().find(|(key, _)| scalar_text(key) == Some("name"))?;
    scalar_text(name)
}

fn scalar_text(node: &Node) -> Option<&str> {
    match &node.value {
        Yaml::Scalar(scalar) => Some(&scalar.text),
        _ => None,
    }
}

fn find<'n>(
    document: &'n Node,
    section: &ServerSection,
) -> Result<Option<(&'n Node, &'n Node)>, EditError> {
    match &document.value {
        Yaml::Mapping(pairs) => {
            let wanted = section_key(section);
            let found = pairs.iter().find(|(key, _)| scalar_text(key) == Some(wanted));
            Ok(found.map(|(key, value)| (key, value)))
        }
        Yaml::Scalar(Scalar { kind: ScalarKind::Null, .. }) => Ok(None),
        _ => Err(not_editable("the file is not a mapping")),
    }
}

fn section_key(section: &ServerSection) -> &str {
    section.keys.first().map_or("", String::as_str)
}

fn is_flow(lines: &Lines<'_>, parent: &Node) -> bool {
    !matches!(parent.value, Yaml::Scalar(_))
        && lines.character(parent.at).is_some_and(|c| matches!(c, '[' | '{'))
}

fn is_explicit_null(parent: &Node) -> bool {
    explicit_null_length(parent) > 0
}

/// The length of an explicit null: `null` or `~`.
fn explicit_null_length(parent: &Node) -> usize {
    scalar_text(parent).map_or(0, str::len)
}

/// Parses the text with positions. The expanded value of an alias has another position, so aliases
/// are not edited.
fn parse(text: &str) -> Result<Node, EditError> {
    document::read(text, false).map_err(syntax_error)
}

fn syntax_error(problem: Problem) -> EditError {
    let Problem { line, column, message: what, .. } = problem;
    let what = what.strip_prefix("not valid YAML: ").map(str::to_owned).unwrap_or(what);
    EditError::Syntax { format: "YAML", line, column, what }
}

fn value(node: &Node) -> Value {
    match &node.value {
        Yaml::Scalar(scalar) => match scalar.kind {
            ScalarKind::Null => Value::Null,
            ScalarKind::Boolean(value) => value_of!(value),
            ScalarKind::Integer(value) => value_of!(value),
            ScalarKind::Float(value) => value_of!(value),
            ScalarKind::Text => value_of!(scalar.text),
        },
        Yaml::List(items) => items.iter().map(value).collect(),
        Yaml::Mapping(pairs) => pairs
            .iter()
            .map(|(key, entry)| (scalar_text(key).unwrap_or_default().to_owned(), value(entry)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
