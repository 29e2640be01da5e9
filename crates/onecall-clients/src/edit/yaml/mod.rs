//! Edits YAML line by line: an entry extends from its first line to the end of its indentation.
//! Lists and mappings in brackets are edited in place.

mod brackets;
pub(super) mod field;
mod lines;
mod writing;

use onecall_config::Problem;
use onecall_config::document::{self, Node, Scalar, ScalarKind, Value as Yaml};
use serde_json::{Map, Value, json as value_of};

use super::splice::{lead, line_end, splice};
use super::{Comments, Content, EditError, Trace, unusual};
use crate::spot::{Shape, Spot};

use brackets::{closing, colon_after, remove_flow};
use lines::{Lines, comments_above, extent, starts};
use writing::{Quotes, between_brackets, entry_block};

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    let document = document::read_expanded(text, false).map_err(syntax_error)?;
    let value = value(&document);
    Ok(if value.is_null() { value_of!({}) } else { value })
}

pub(super) fn insert(
    text: &str,
    spot: &Spot,
    name: &str,
    content: &Content,
) -> Result<(String, Trace), EditError> {
    let end = line_end(text);
    let document = parse(text)?;
    let lines = Lines::of(text);
    let Some((key, holder)) = find(&document, spot)? else {
        let lead = lead(text, end);
        let lines = entry_block(spot, name, content, "  ", end);
        let edited = format!("{text}{lead}{}:{end}{lines}", only_key(spot));
        return Ok((edited, Trace { known_keys: 0, empty: None, lead }));
    };
    let starts = starts(&lines, holder);
    let is_flow = is_flow(&lines, holder);
    let mut trace = Trace { known_keys: 1, ..Trace::default() };
    let is_json = text.trim_start().starts_with('{');
    let Some(last) = starts.last() else {
        if is_json && is_flow {
            let open = lines.offset(holder.at);
            let close = closing(text, open)?;
            let written = between_brackets(spot, name, content, Quotes::All);
            let brackets = text.get(open..close).unwrap_or_default().to_owned();
            let filled = match spot.shape {
                Shape::List => format!("[{written}]"),
                Shape::Mapping => format!("{{{written}}}"),
            };
            trace.empty = Some(brackets);
            return Ok((splice(text, vec![(open..close, filled)]), trace));
        }
        // The value is empty or empty brackets: the entries are inserted below the key.
        let key_line = key.at.line - 1;
        let written = lines.text(key_line);
        let bare = if is_flow || is_word(holder) {
            let place = lines.offset(holder.at);
            let close = if is_flow { closing(text, place)? } else { place + word_length(holder) };
            if holder.at.line != key.at.line || lines.line_of(close) != key_line {
                return Err(unusual("empty brackets that go over several lines"));
            }
            let line = lines.range(key_line);
            let head = text.get(line.start..place).unwrap_or_default().trim_end();
            format!("{head}{}", text.get(close..line.end).unwrap_or_default())
        } else {
            written.to_owned()
        };
        trace.empty = Some(written.to_owned());
        let bare = if bare.ends_with('\n') { bare } else { format!("{bare}{end}") };
        let indent = format!("{}  ", " ".repeat(key.at.column - 1));
        let block = entry_block(spot, name, content, &indent, end);
        let edited = splice(text, vec![(lines.range(key_line), format!("{bare}{block}"))]);
        return Ok((edited, trace));
    };
    if is_flow {
        let close = closing(text, lines.offset(holder.at))? - 1;
        let body = text.get(..close).unwrap_or_default().trim_end();
        let quotes = if is_json { Quotes::All } else { Quotes::Needed };
        let written = between_brackets(spot, name, content, quotes);
        let comma = if body.ends_with(',') { "" } else { "," };
        let line = lines.text(last.at.line - 1);
        let indent = line.get(..last.at.column - 1).filter(|head| head.trim().is_empty());
        let gap = indent.map_or_else(|| " ".to_owned(), |indent| format!("{end}{indent}"));
        let place = body.len()..body.len();
        return Ok((splice(text, vec![(place, format!("{comma}{gap}{written}"))]), trace));
    }
    let column = last.column;
    let indent = lines.text(last.line).get(..column).unwrap_or_default().to_owned();
    if !indent.trim().is_empty() {
        return Err(unusual("an entry that begins in the middle of a line"));
    }
    let after = lines.range(extent(&lines, last).end - 1).end;
    let mut block = entry_block(spot, name, content, &indent, end);
    if !text.get(..after).is_some_and(|before| before.ends_with('\n')) {
        // The last line has no line break, and that stays so.
        trace.lead = end.to_owned();
        block = format!("{end}{}", block.strip_suffix(end).unwrap_or(&block));
    }
    Ok((splice(text, vec![(after..after, block)]), trace))
}

pub(super) fn remove(
    text: &str,
    spot: &Spot,
    name: &str,
    trace: &Trace,
    comments: Comments,
) -> Result<(String, String), EditError> {
    let end = line_end(text);
    let document = parse(text)?;
    let lines = Lines::of(text);
    let absent = || EditError::Absent { name: name.to_owned() };
    let (key, holder) = find(&document, spot)?.ok_or_else(absent)?;
    let index = names(holder).iter().position(|known| *known == Some(name)).ok_or_else(absent)?;
    let starts = starts(&lines, holder);
    let start = starts.get(index).ok_or_else(absent)?;
    if is_flow(&lines, holder) {
        let place = lines.offset(holder.at);
        let is_only = starts.len() == 1;
        let (edited, taken) = remove_flow(text, place, lines.offset(start.at), is_only)?;
        // The text in the form it has outside of brackets.
        let dash = if spot.shape == Shape::List { "- " } else { "" };
        return Ok((edited, format!("  {dash}{taken}{end}")));
    }
    let body = extent(&lines, start);
    let above = match comments {
        Comments::Take => comments_above(&lines, start, key.at.line),
        Comments::Leave => start.line,
    };
    let range = lines.range(above).start..lines.range(body.end - 1).end;
    let taken = text.get(range.clone()).unwrap_or_default().to_owned();
    if starts.len() > 1 {
        let before = text.get(..range.start).unwrap_or_default();
        // The line break that was inserted after a last line without one.
        let line_end =
            if range.end == text.len() && !taken.ends_with('\n') && !trace.lead.is_empty() {
                before.len() - before.strip_suffix(&trace.lead).unwrap_or(before).len()
            } else {
                0
            };
        return Ok((splice(text, vec![(range.start - line_end..range.end, String::new())]), taken));
    }
    let key_line = lines.range(key.at.line - 1);
    if trace.known_keys == 0 {
        let mut from = key_line.start;
        let before = text.get(..from).unwrap_or_default();
        from -= if before.ends_with(&trace.lead) { trace.lead.len() } else { 0 };
        let changes = vec![(from..key_line.end, String::new()), (range, String::new())];
        return Ok((splice(text, changes), taken));
    }
    let line = match &trace.empty {
        Some(line) => line.clone(),
        None => {
            let written = lines.text(key.at.line - 1);
            let brackets = if spot.shape == Shape::List { "[]" } else { "{}" };
            let colon = colon_after(written, key.at.column - 1)?;
            let (head, tail) = written.split_at(colon + 1);
            format!("{head} {brackets}{tail}")
        }
    };
    let line = if range.end < text.len() && !line.ends_with('\n') { line + end } else { line };
    Ok((splice(text, vec![(key_line, line), (range, String::new())]), taken))
}

fn names(holder: &Node) -> Vec<Option<&str>> {
    match &holder.value {
        Yaml::Scalar(_) => Vec::new(),
        Yaml::Mapping(pairs) => pairs.iter().map(|(key, _)| scalar_text(key)).collect(),
        Yaml::List(items) => items.iter().map(named).collect(),
    }
}

fn named(item: &Node) -> Option<&str> {
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

fn find<'n>(document: &'n Node, spot: &Spot) -> Result<Option<(&'n Node, &'n Node)>, EditError> {
    match &document.value {
        Yaml::Mapping(pairs) => {
            let wanted = only_key(spot);
            let found = pairs.iter().find(|(key, _)| scalar_text(key) == Some(wanted));
            Ok(found.map(|(key, value)| (key, value)))
        }
        Yaml::Scalar(Scalar { kind: ScalarKind::Null, .. }) => Ok(None),
        _ => Err(unusual("the file is not a mapping")),
    }
}

fn only_key(spot: &Spot) -> &str {
    spot.keys.first().map_or("", String::as_str)
}

fn is_flow(lines: &Lines<'_>, holder: &Node) -> bool {
    !matches!(holder.value, Yaml::Scalar(_))
        && lines.character(holder.at).is_some_and(|c| matches!(c, '[' | '{'))
}

fn is_word(holder: &Node) -> bool {
    word_length(holder) > 0
}

/// The length of an explicit null: `null` or `~`.
fn word_length(holder: &Node) -> usize {
    scalar_text(holder).map_or(0, str::len)
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
