//! Edits YAML lists and mappings in brackets (flow style).

use super::not_editable;
use crate::edit::EditError;
use crate::edit::splice::splice;

pub(super) fn remove_from_brackets(
    text: &str,
    open: usize,
    entry: usize,
    is_only: bool,
) -> Result<(String, String), EditError> {
    let close = closing_bracket_end(text, open)? - 1;
    let end = entry_end(text, entry, close)?;
    let removed = text.get(entry..end).unwrap_or_default().trim_end().to_owned();
    let end_of_content = entry + removed.len();
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
    Ok((splice(text, vec![(range, String::new())]), removed))
}

/// The position after the bracket that closes the one at `open`.
pub(super) fn closing_bracket_end(text: &str, open: usize) -> Result<usize, EditError> {
    let mut depth = 0_usize;
    for (at, character) in outside_quotes(text, open) {
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' if depth <= 1 => return Ok(at + 1),
            ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    Err(not_editable("brackets that do not close"))
}

/// The end of an entry in brackets: its comma, or the closing bracket.
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
    Err(not_editable("an entry that does not end"))
}

/// The characters after a position that are neither in quotes nor in a comment.
fn outside_quotes(text: &str, from: usize) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut is_escaped = false;
    let mut is_comment = false;
    let mut previous = ' ';
    text.get(from..).unwrap_or_default().char_indices().filter_map(move |(at, character)| {
        let before = std::mem::replace(&mut previous, character);
        if is_comment {
            is_comment = !matches!(character, '\n' | '\r');
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

/// The position of the colon of a key that begins at `column`.
pub(super) fn colon_after(line: &str, column: usize) -> Result<usize, EditError> {
    let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    outside_quotes(line, offset)
        .find(|(_, character)| *character == ':')
        .map(|(at, _)| at)
        .ok_or_else(|| not_editable("a key without a colon on its line"))
}
