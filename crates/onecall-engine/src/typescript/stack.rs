//! Formats stack traces: positions refer to the author's source, and frames of the prelude are left
//! out.

use super::positions::{Place, Positions};
use super::strip::PROGRAM;

/// Rewrites the lines `at name (file:line:column)` of QuickJS.
pub(super) fn readable(raw: &str, positions: Option<&Positions>) -> String {
    let mut shown = String::new();
    for line in raw.lines() {
        let Some((function, place)) = frame(line) else { continue };
        let place = positions.map_or(place, |positions| positions.original(place));
        if positions.is_some_and(|positions| !positions.has(place)) {
            continue;
        }
        let Place { line, column } = place;
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

/// The function and the position of a line that is about the program.
fn frame(line: &str) -> Option<(&str, Place)> {
    let line = line.trim_start().strip_prefix("at ")?;
    let (function, rest) = match line.rsplit_once(" (") {
        Some((function, place)) => (function, place.strip_suffix(')')?),
        None => ("", line),
    };
    Some((function, place_in(rest.strip_prefix(PROGRAM)?.strip_prefix(':')?)?))
}

fn place_in(text: &str) -> Option<Place> {
    let (line, column) = text.split_once(':')?;
    Some(Place { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// The first position in the program that a formatted stack trace contains.
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
                   (<program>:5:1)\n    at invoke (<onecall>/tools.js:9:9)\n";
        assert_eq!(readable(raw, None), "    at load (<program>:3:9)\n    at <program>:5:1");
        assert_eq!(first_place(&readable(raw, None)), Some(Place { line: 3, column: 9 }));
    }
}
