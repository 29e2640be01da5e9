//! Formats stack traces: positions refer to the author's source, and frames of the prelude are left
//! out.

use super::positions::{Position, PositionMap};
use super::strip::PROGRAM;

/// The file name of the program with this number, from 1, of a session. The only program of a worker
/// is the first one.
pub(super) fn file_name(number: usize) -> String {
    match PROGRAM.strip_suffix('>') {
        Some(name) if number > 1 => format!("{name} {number}>"),
        _ => PROGRAM.to_owned(),
    }
}

/// A place in one of the programs of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the program, from 1.
    pub(super) program: usize,
    pub(super) position: Position,
}

/// Rewrites the lines `at name (file:line:column)` of QuickJS. `maps` has the position map of each
/// program.
pub(super) fn readable(raw: &str, maps: &[PositionMap]) -> String {
    let mut shown = String::new();
    for line in raw.lines() {
        let Some((function, place)) = frame(line) else { continue };
        let Some(Place { program, position }) = original(place, maps) else { continue };
        let (file, Position { line, column }) = (file_name(program), position);
        if !shown.is_empty() {
            shown.push('\n');
        }
        match function {
            "" | "<anonymous>" | "<eval>" => {
                shown.push_str(&format!("    at {file}:{line}:{column}"));
            }
            name => shown.push_str(&format!("    at {name} ({file}:{line}:{column})")),
        }
    }
    shown
}

/// The place in the author's source; `None` for code around it.
fn original(place: Place, maps: &[PositionMap]) -> Option<Place> {
    let Some(map) = place.program.checked_sub(1).and_then(|index| maps.get(index)) else {
        return Some(place);
    };
    let position = map.original(place.position);
    map.contains(position).then_some(Place { position, ..place })
}

/// The position in the author's source of the first frame that is in a program.
pub(super) fn original_position(raw: &str, maps: &[PositionMap]) -> Option<Position> {
    let places = raw.lines().filter_map(frame);
    places.filter_map(|(_, place)| original(place, maps)).map(|place| place.position).next()
}

/// The function and the place of a line that is about a program.
fn frame(line: &str) -> Option<(&str, Place)> {
    let line = line.trim_start().strip_prefix("at ")?;
    let (function, rest) = match line.rsplit_once(" (") {
        Some((function, position)) => (function, position.split_once(')')?.0),
        None => ("", line),
    };
    let (number, position) = rest.strip_prefix(PROGRAM.strip_suffix('>')?)?.split_once(">:")?;
    let program = match number.trim_start() {
        "" => 1,
        number => number.parse().ok()?,
    };
    Some((function, Place { program, position: parse_position(position)? }))
}

fn parse_position(text: &str) -> Option<Position> {
    let (line, column) = text.split_once(':')?;
    // The properties of an error may follow its last frame.
    let column = column.split(' ').next()?;
    Some(Position { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// The first place in a program that a formatted stack trace contains.
pub(super) fn first_place(text: &str) -> Option<Place> {
    let frames = text.lines().filter(|line| line.trim_start().starts_with("at "));
    frames.filter_map(frame).map(|(_, place)| place).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_program_are_shown() {
        let raw = "    at load (<program>:3:9)\n    at map (native)\n    at <anonymous> \
                   (<program 2>:5:1)\n    at invoke (<onecall>/tools.js:9:9)\n";
        assert_eq!(readable(raw, &[]), "    at load (<program>:3:9)\n    at <program 2>:5:1");
        let first = Place { program: 1, position: Position { line: 3, column: 9 } };
        assert_eq!(first_place(&readable(raw, &[])), Some(first));
        assert_eq!(original_position(raw, &[]), Some(Position { line: 3, column: 9 }));
        let second = Place { program: 2, position: Position { line: 5, column: 1 } };
        assert_eq!(first_place("    at f (<program 2>:5:1) {\n  code: 1"), Some(second));
    }
}
