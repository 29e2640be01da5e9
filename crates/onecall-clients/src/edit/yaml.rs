//! YAML, by lines: an entry is the lines from its first one up to where the indentation
//! ends. Lists and mappings in brackets are edited between the brackets.

use std::ops::Range;

use onecall_config::document::{self, Node, Position, Scalar, ScalarKind, Value as Yaml};
use serde_json::{Map, Value, json as value_of};

use super::json;
use super::splice::{lead, line_end, splice};
use super::{Content, EditError, Trace};
use crate::spot::{Shape, Spot};

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    let value = value(&parse(text)?);
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
        // Nothing, or empty brackets: the entries go below the key.
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
        // The last line has no end, and keeps having none.
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
        // As it would stand outside of brackets.
        let dash = if spot.shape == Shape::List { "- " } else { "" };
        return Ok((edited, format!("  {dash}{taken}{end}")));
    }
    let body = extent(&lines, start);
    let above = comments_above(&lines, start, key.at.line);
    let range = lines.range(above).start..lines.range(body.end - 1).end;
    let taken = text.get(range.clone()).unwrap_or_default().to_owned();
    if starts.len() > 1 {
        let before = text.get(..range.start).unwrap_or_default();
        // What was put in after a last line without an end.
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

/// Lines as comments of YAML.
#[must_use]
pub fn commented(lines: &[String], indent: &str, end: &str) -> String {
    lines.iter().map(|line| format!("{indent}# {line}{end}")).collect()
}

/// An entry of a list of servers, as lines that begin with `indent`.
#[must_use]
pub fn entry_lines(name: &str, entry: &Map<String, Value>, indent: &str, end: &str) -> String {
    let mut lines = format!("{indent}- name: {}{end}", scalar(name));
    fields(entry, &format!("{indent}  "), end, &mut lines);
    lines
}

fn entry_block(spot: &Spot, name: &str, content: &Content, indent: &str, end: &str) -> String {
    match content {
        Content::Verbatim(taken) if taken.ends_with('\n') => taken.clone(),
        Content::Verbatim(taken) => format!("{taken}{end}"),
        Content::Entry(entry, comments) => {
            let mut block = commented(comments, indent, end);
            match spot.shape {
                Shape::List => block.push_str(&entry_lines(name, entry, indent, end)),
                Shape::Mapping => {
                    block.push_str(&format!("{indent}{}:{end}", scalar(name)));
                    fields(entry, &format!("{indent}  "), end, &mut block);
                }
            }
            block
        }
    }
}

fn fields(entry: &Map<String, Value>, indent: &str, end: &str, lines: &mut String) {
    for (key, value) in entry {
        lines.push_str(&format!("{indent}{}: ", scalar(key)));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                lines.truncate(lines.trim_end().len());
                lines.push_str(end);
                fields(inner, &format!("{indent}  "), end, lines);
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
enum Quotes {
    Needed,
    All,
}

fn between_brackets(spot: &Spot, name: &str, content: &Content, quotes: Quotes) -> String {
    let written = |value: Value| match quotes {
        Quotes::Needed => flow(&value),
        Quotes::All => json::inline(&value),
    };
    match (content, spot.shape) {
        (Content::Entry(entry, _), Shape::Mapping) => {
            format!("{}: {}", quoted(name), written(Value::Object(entry.clone())))
        }
        (Content::Entry(entry, _), Shape::List) => {
            let mut named = Map::from_iter([("name".to_owned(), value_of!(name))]);
            named.extend(entry.clone());
            written(Value::Object(named))
        }
        (Content::Verbatim(taken), shape) => {
            let taken = taken.trim();
            let item = taken.strip_prefix("- ").filter(|_| shape == Shape::List);
            item.unwrap_or(taken).to_owned()
        }
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

/// A text, quoted unless it can only be read as it is.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-@".contains(c);
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '.');
    let is_text = Scalar::plain(text).kind == ScalarKind::Text;
    // Other readers know more words than ours.
    let is_word =
        matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n");
    match begins_well && text.chars().all(is_plain) && is_text && !is_word {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// JSON's quotes are YAML's as well, except for a few characters.
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

/// Where an entry begins: its dash or its key.
struct Start {
    line: usize,
    column: usize,
    /// Where its value or its key is.
    at: Position,
}

fn starts(lines: &Lines<'_>, holder: &Node) -> Vec<Start> {
    let start = |at: Position, dash: Option<(usize, usize)>| {
        // Between brackets there are no dashes.
        let (line, column) = dash.unwrap_or((at.line - 1, at.column - 1));
        Start { line, column, at }
    };
    match &holder.value {
        Yaml::Scalar(_) => Vec::new(),
        Yaml::Mapping(pairs) => pairs.iter().map(|(key, _)| start(key.at, None)).collect(),
        Yaml::List(items) => items.iter().map(|item| start(item.at, lines.dash(item.at))).collect(),
    }
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

/// The lines of an entry: the first, and those that are indented more, but not the
/// blank ones and comments at the end.
fn extent(lines: &Lines<'_>, start: &Start) -> Range<usize> {
    let mut end = start.line + 1;
    for index in start.line + 1..lines.count() {
        let line = lines.text(index);
        let content = line.trim_start_matches(' ');
        if content.trim().is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        if indent <= start.column {
            break;
        }
        end = index + 1;
    }
    start.line..end
}

/// The first of the comment lines right above an entry, at its own indentation.
fn comments_above(lines: &Lines<'_>, start: &Start, key_line: usize) -> usize {
    let mut first = start.line;
    while let Some(above) = first.checked_sub(1).filter(|above| *above >= key_line) {
        let line = lines.text(above);
        let content = line.trim_start_matches(' ');
        if !content.starts_with('#') || line.len() - content.len() != start.column {
            break;
        }
        first = above;
    }
    first
}

fn remove_flow(
    text: &str,
    open: usize,
    entry: usize,
    is_only: bool,
) -> Result<(String, String), EditError> {
    let close = closing(text, open)? - 1;
    let end = entry_end(text, entry, close)?;
    let taken = text.get(entry..end).unwrap_or_default().trim_end().to_owned();
    let end_of_content = entry + taken.len();
    let range = if is_only {
        open + 1..close
    } else {
        let before = text.get(open + 1..entry).unwrap_or_default();
        match before.trim_end().ends_with(',') {
            true => open + before.trim_end().len()..end_of_content,
            false => {
                let rest = text.get(end..close).unwrap_or_default();
                let comma = usize::from(rest.starts_with(','));
                let gap = rest.get(comma..).unwrap_or_default();
                entry..end + comma + gap.len() - gap.trim_start().len()
            }
        }
    };
    Ok((splice(text, vec![(range, String::new())]), taken))
}

/// After the bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> Result<usize, EditError> {
    let mut depth = 0_usize;
    for (at, character) in outside_quotes(text, open) {
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' if depth <= 1 => return Ok(at + 1),
            ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    Err(unusual("brackets that do not close"))
}

/// Where an entry between brackets ends: at its comma, or at the bracket.
fn entry_end(text: &str, entry: usize, close: usize) -> Result<usize, EditError> {
    let mut depth = 0_usize;
    for (at, character) in outside_quotes(text, entry) {
        match character {
            ',' if depth == 0 => return Ok(at),
            _ if at >= close => return Ok(close),
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Err(unusual("an entry that does not end"))
}

/// The characters from a place on that are neither in quotes nor in a comment.
fn outside_quotes(text: &str, from: usize) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut is_escaped = false;
    let mut is_comment = false;
    let mut previous = ' ';
    text.get(from..).unwrap_or_default().char_indices().filter_map(move |(at, character)| {
        let before = std::mem::replace(&mut previous, character);
        if is_comment {
            is_comment = character != '\n';
            return None;
        }
        match quote {
            Some('"') if is_escaped => is_escaped = false,
            Some('"') if character == '\\' => is_escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '#' && before.is_whitespace() => is_comment = true,
            None if matches!(character, '"' | '\'')
                && (before.is_whitespace() || "[{,:".contains(before)) =>
            {
                quote = Some(character);
            }
            None => return Some((from + at, character)),
        }
        None
    })
}

/// Where the colon of a key is that begins at a column.
fn colon_after(line: &str, column: usize) -> Result<usize, EditError> {
    let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    outside_quotes(line, offset)
        .find(|(_, character)| *character == ':')
        .map(|(at, _)| at)
        .ok_or_else(|| unusual("a key without a colon on its line"))
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

/// The length of a null that is written out: `null` or `~`.
fn word_length(holder: &Node) -> usize {
    scalar_text(holder).map_or(0, str::len)
}

fn parse(text: &str) -> Result<Node, EditError> {
    document::read(text, false).map_err(|problem| {
        let what = problem.message;
        let what = what.strip_prefix("not valid YAML: ").map(str::to_owned).unwrap_or(what);
        EditError::Syntax { format: "YAML", line: problem.line, column: problem.column, what }
    })
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

/// A text by lines, each with its end.
struct Lines<'t> {
    source: &'t str,
    ranges: Vec<Range<usize>>,
}

impl<'t> Lines<'t> {
    fn of(source: &'t str) -> Self {
        let mut at = 0;
        let ranges = source.split_inclusive('\n').map(|line| {
            let start = at;
            at += line.len();
            start..at
        });
        Self { source, ranges: ranges.collect() }
    }

    fn count(&self) -> usize {
        self.ranges.len()
    }

    fn range(&self, index: usize) -> Range<usize> {
        let end = self.source.len();
        self.ranges.get(index).cloned().unwrap_or(end..end)
    }

    fn text(&self, index: usize) -> &'t str {
        self.source.get(self.range(index)).unwrap_or_default()
    }

    fn offset(&self, at: Position) -> usize {
        let line = self.text(at.line - 1);
        let column = line.char_indices().nth(at.column - 1).map_or(line.len(), |(at, _)| at);
        self.range(at.line - 1).start + column
    }

    fn line_of(&self, offset: usize) -> usize {
        self.ranges.iter().position(|range| offset <= range.end).unwrap_or_default()
    }

    fn character(&self, at: Position) -> Option<char> {
        self.source.get(self.offset(at)..)?.chars().next()
    }

    /// Line and column of the dash in front of an item.
    fn dash(&self, at: Position) -> Option<(usize, usize)> {
        let before = self.source.get(self.range(at.line - 1).start..self.offset(at))?;
        let head = before.trim_end();
        if head.ends_with('-') && head.trim_start() == "-" {
            return Some((at.line - 1, head.len() - 1));
        }
        if !head.is_empty() {
            return None;
        }
        let above = (0..at.line - 1).rev().find(|index| {
            let content = self.text(*index).trim();
            !content.is_empty() && !content.starts_with('#')
        })?;
        let content = self.text(above);
        let is_dash = content.trim_start().split('#').next().is_some_and(|head| head.trim() == "-");
        is_dash.then(|| (above, content.len() - content.trim_start().len()))
    }
}

fn unusual(why: &str) -> EditError {
    EditError::Unusual { why: why.to_owned() }
}
