//! Formats stack traces: positions refer to the author's source, and frames of the prelude are left
//! out.

use super::positions::{Position, PositionMap};
use super::strip::PROGRAM;

/// Rewrites the lines `at name (file:line:column)` of QuickJS.
pub(super) fn readable(raw: &str, position_map: Option<&PositionMap>) -> String {
    let mut shown = String::new();
    for line in raw.lines() {
        let Some((function, position)) = frame(line) else { continue };
        let position =
            position_map.map_or(position, |position_map| position_map.original(position));
        if position_map.is_some_and(|position_map| !position_map.contains(position)) {
            continue;
        }
        let Position { line, column } = position;
        if !shown.is_empty() {
            shown.push('\n');
        }
        match function {
            "" | "<anonymous>" | "<eval>" => {
                shown.push_str(&format!("    at {PROGRAM}:{line}:{column}"));
            }
            name => shown.push_str(&format!("    at {name} ({PROGRAM}:{line}:{column})")),
        }
    }
    shown
}

/// The position in the author's source of the first frame that is in the program.
pub(super) fn original_position(raw: &str, position_map: Option<&PositionMap>) -> Option<Position> {
    raw.lines().filter_map(frame).find_map(|(_, position)| match position_map {
        Some(map) => Some(map.original(position)).filter(|position| map.contains(*position)),
        None => Some(position),
    })
}

/// The function and the position of a line that is about the program.
fn frame(line: &str) -> Option<(&str, Position)> {
    let line = line.trim_start().strip_prefix("at ")?;
    let (function, rest) = match line.rsplit_once(" (") {
        Some((function, position)) => (function, position.strip_suffix(')')?),
        None => ("", line),
    };
    Some((function, parse_position(rest.strip_prefix(PROGRAM)?.strip_prefix(':')?)?))
}

fn parse_position(text: &str) -> Option<Position> {
    let (line, column) = text.split_once(':')?;
    // The properties of an error may follow its last frame.
    let column = column.split(' ').next()?;
    Some(Position { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// The first position in the program that a formatted stack trace contains.
pub(super) fn first_position(text: &str) -> Option<Position> {
    let frames = text.lines().filter(|line| line.trim_start().starts_with("at "));
    frames.filter_map(frame).map(|(_, position)| position).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_program_are_shown() {
        let raw = "    at load (<program>:3:9)\n    at map (native)\n    at <anonymous> \
                   (<program>:5:1)\n    at invoke (<onecall>/tools.js:9:9)\n";
        assert_eq!(readable(raw, None), "    at load (<program>:3:9)\n    at <program>:5:1");
        assert_eq!(first_position(&readable(raw, None)), Some(Position { line: 3, column: 9 }));
        assert_eq!(original_position(raw, None), Some(Position { line: 3, column: 9 }));
    }
}
