//! Sets or removes one field of a YAML mapping. JSON is edited as YAML in brackets.

use onecall_config::document::{Node, Scalar, ScalarKind, Value as Yaml};
use serde_json::{Map, Value};

use super::brackets::{closing_bracket_end, colon_after, remove_from_brackets};
use super::lines::{Lines, entry_line_range, entry_starts};
use super::writer::{Quoting, field_lines, flow_value, inline_field};
use super::{is_flow, parse, scalar_text};
use crate::edit::splice::{line_end, separator_before_block, splice};
use crate::edit::{EditError, PathStep, not_editable};

/// Sets the field `key` of the mapping at `path`; missing mappings on the path are created.
pub(in crate::edit) fn set(
    text: &str,
    path: &[PathStep<'_>],
    key: &str,
    value: &Value,
) -> Result<String, EditError> {
    let document = parse(text)?;
    let writer = FieldWriter { text, lines: Lines::of(text), is_json: is_json(text) };
    let mut parent = &document;
    for (index, step) in path.iter().enumerate() {
        match step.find(parent)? {
            Some((_, next)) if is_mapping_or_list(next) => parent = next,
            found => {
                let PathStep::Key(missing) = step else { return Err(step.not_found_error()) };
                let inner = nested(path.get(index + 1..).unwrap_or_default(), key, value)?;
                return writer.set_or_add(parent, found, missing, &inner);
            }
        }
    }
    writer.set_or_add(parent, PathStep::Key(key).find(parent)?, key, value)
}

/// Removes the field `key` of the mapping at `path`.
pub(in crate::edit) fn unset(
    text: &str,
    path: &[PathStep<'_>],
    key: &str,
) -> Result<String, EditError> {
    let document = parse(text)?;
    let lines = Lines::of(text);
    let mut parent = &document;
    for step in path {
        parent = step.find(parent)?.ok_or_else(|| step.not_found_error())?.1;
    }
    let Some((name, value)) = PathStep::Key(key).find(parent)? else { return Ok(text.to_owned()) };
    let Some(name) = name else { return Err(not_editable("it is not a mapping")) };
    if is_flow(&lines, parent) {
        let (open, entry) = (lines.offset(parent.at), lines.offset(name.at));
        let is_only = entry_starts(&lines, parent).len() == 1;
        return Ok(remove_from_brackets(text, open, entry, is_only)?.0);
    }
    let line = lines.range(name.at.line - 1);
    let head = text.get(line.start..lines.offset(name.at)).unwrap_or_default();
    if !head.trim().is_empty() || value.at.line != name.at.line {
        return Err(not_editable(&format!("'{key}' is not on a line of its own")));
    }
    Ok(splice(text, vec![(line, String::new())]))
}

/// A document into which fields are inserted.
struct FieldWriter<'t> {
    text: &'t str,
    lines: Lines<'t>,
    is_json: bool,
}

/// A key with its value; an item of a list has no key.
type Pair<'n> = (Option<&'n Node>, &'n Node);

impl FieldWriter<'_> {
    /// Replaces the value that was found for `key`, or adds the field to `parent`.
    fn set_or_add(
        &self,
        parent: &Node,
        found: Option<Pair<'_>>,
        key: &str,
        value: &Value,
    ) -> Result<String, EditError> {
        match found {
            Some((Some(name), old)) => self.replace(name, old, is_flow(&self.lines, parent), value),
            Some((None, _)) => Err(not_editable("it is not a mapping")),
            None => self.add(parent, key, value),
        }
    }

    fn replace(
        &self,
        key: &Node,
        old: &Node,
        is_between_brackets: bool,
        value: &Value,
    ) -> Result<String, EditError> {
        let written = flow_value(value, self.quotes());
        let Yaml::Scalar(scalar) = &old.value else {
            return Err(not_editable("its value is a list or a mapping"));
        };
        if scalar.text.is_empty() && scalar.kind == ScalarKind::Null {
            let line = self.lines.range(key.at.line - 1);
            let colon = colon_after(self.lines.text(key.at.line - 1), key.at.column - 1)?;
            let position = line.start + colon + 1;
            return Ok(splice(self.text, vec![(position..position, format!(" {written}"))]));
        }
        let start = self.lines.offset(old.at);
        let end = self.lines.range(old.at.line - 1).end;
        let rest = self.text.get(start..end).unwrap_or_default();
        let length = scalar_length(rest, is_between_brackets)
            .ok_or_else(|| not_editable("its value goes over several lines"))?;
        Ok(splice(self.text, vec![(start..start + length, written)]))
    }

    fn add(&self, parent: &Node, key: &str, value: &Value) -> Result<String, EditError> {
        let (text, lines) = (self.text, &self.lines);
        let end = line_end(text);
        let starts = match &parent.value {
            Yaml::Mapping(_) => entry_starts(lines, parent),
            Yaml::Scalar(Scalar { kind: ScalarKind::Null, .. }) => {
                let lines = field_lines(key, value, "", end);
                return Ok(format!("{text}{}{lines}", separator_before_block(text, end)));
            }
            _ => return Err(not_editable("it is not a mapping")),
        };
        if is_flow(lines, parent) {
            let open = lines.offset(parent.at);
            let close = closing_bracket_end(text, open)? - 1;
            let field = inline_field(key, value, self.quotes());
            let Some(last) = starts.last() else {
                return Ok(splice(text, vec![(open + 1..close, format!(" {field} "))]));
            };
            let body = text.get(..close).unwrap_or_default().trim_end();
            let comma = if body.ends_with(',') { "" } else { "," };
            let indent = lines.text(last.line).get(..last.column);
            let gap = match indent.filter(|head| head.trim().is_empty()) {
                Some(indent) => format!("{end}{indent}"),
                None => " ".to_owned(),
            };
            return Ok(splice(
                text,
                vec![(body.len()..body.len(), format!("{comma}{gap}{field}"))],
            ));
        }
        let Some(last) = starts.last() else { return Err(not_editable("it is empty")) };
        let after = lines.range(entry_line_range(lines, last).end - 1).end;
        let field = field_lines(key, value, &" ".repeat(last.column), end);
        let field = match text.get(..after).is_some_and(|before| before.ends_with('\n')) {
            true => field,
            // The last line has no line break, and that stays so.
            false => format!("{end}{}", field.strip_suffix(end).unwrap_or(&field)),
        };
        Ok(splice(text, vec![(after..after, field)]))
    }

    fn quotes(&self) -> Quoting {
        if self.is_json { Quoting::Always } else { Quoting::WhenNeeded }
    }
}

impl PathStep<'_> {
    /// The value that this step leads to.
    fn find<'n>(&self, parent: &'n Node) -> Result<Option<Pair<'n>>, EditError> {
        match (&parent.value, self) {
            (Yaml::Mapping(pairs), Self::Key(wanted)) => Ok(pairs
                .iter()
                .find(|(key, _)| scalar_text(key) == Some(wanted))
                .map(|(key, value)| (Some(key), value))),
            (Yaml::List(items), Self::Named(wanted)) => {
                let found = items.iter().find(|item| super::item_name(item) == Some(wanted));
                Ok(found.map(|item| (None, item)))
            }
            (Yaml::Scalar(Scalar { kind: ScalarKind::Null, .. }), _) => Ok(None),
            _ => Err(not_editable("it is not a mapping")),
        }
    }

    fn not_found_error(&self) -> EditError {
        let (Self::Key(name) | Self::Named(name)) = self;
        EditError::NotFound { name: (*name).to_owned() }
    }
}

/// Wraps a value in new mappings, one for each step.
fn nested(path: &[PathStep<'_>], key: &str, value: &Value) -> Result<Value, EditError> {
    let keys = path.iter().map(|step| match step {
        PathStep::Key(key) => Ok(*key),
        PathStep::Named(_) => Err(step.not_found_error()),
    });
    let mut keys = keys.collect::<Result<Vec<_>, _>>()?;
    keys.push(key);
    let wrapped = |inner: Value, key: &&str| Map::from_iter([((*key).to_owned(), inner)]).into();
    Ok(keys.iter().rev().fold(value.clone(), wrapped))
}

fn is_mapping_or_list(node: &Node) -> bool {
    !matches!(node.value, Yaml::Scalar(_))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The length of the scalar at the beginning of `rest`, the rest of its line; `None` if the scalar
/// continues on the next line.
fn scalar_length(rest: &str, is_between_brackets: bool) -> Option<usize> {
    match rest.chars().next()? {
        '"' => {
            let mut is_escaped = false;
            let quote = rest.char_indices().skip(1).find(|(_, character)| {
                let is_end = *character == '"' && !is_escaped;
                is_escaped = *character == '\\' && !is_escaped;
                is_end
            });
            quote.map(|(at, _)| at + 1)
        }
        '\'' => {
            let mut at = 1;
            loop {
                at += rest.get(at..)?.find('\'')? + 1;
                if !rest.get(at..)?.starts_with('\'') {
                    return Some(at);
                }
                at += 1;
            }
        }
        '|' | '>' | '&' | '*' | '!' => None,
        _ => {
            let ends: &[char] = if is_between_brackets { &[',', ']', '}'] } else { &[] };
            let end = rest.find(ends).unwrap_or(rest.len());
            let end = rest.find(" #").map_or(end, |comment| comment.min(end));
            Some(rest.get(..end)?.trim_end().len())
        }
    }
}
