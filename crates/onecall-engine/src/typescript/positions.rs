//! Maps positions in the code that runs to positions in the author's source.

use oxc_sourcemap::SourceMap;

/// A line and a column, both counted from one; columns count UTF-16 units, as in JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The author's source, and the mapping back to it.
#[derive(Debug)]
pub(super) struct PositionMap {
    lines: Vec<String>,
    /// Positions in the code that runs and the corresponding ones in the source, in order; `None`
    /// if they are equal.
    map: Option<Vec<(Position, Position)>>,
    /// A position after which the rest of its line is shifted to the right by so many columns.
    shift: Option<(Position, u32)>,
}

impl PositionMap {
    /// The mapping for code that is the author's source.
    pub(super) fn unchanged(source: &str) -> Self {
        Self { lines: source.lines().map(str::to_owned).collect(), map: None, shift: None }
    }

    /// The mapping for code that was generated from the source.
    pub(super) fn mapped(source: &str, map: Option<&SourceMap<'_>>) -> Self {
        let mut position_map = Self::unchanged(source);
        position_map.map = map.map(|map| {
            let position = |line: u32, column: u32| Position { line: line + 1, column: column + 1 };
            map.get_tokens()
                .map(|token| {
                    (
                        position(token.get_dst_line(), token.get_dst_col()),
                        position(token.get_src_line(), token.get_src_col()),
                    )
                })
                .collect()
        });
        position_map
    }

    /// Adds a shift: text was inserted before `position`, which moves the rest of that line by
    /// `shift`.
    pub(super) fn shifted(self, source: &str, position: Position, shift: u32) -> Self {
        Self { map: self.map, shift: Some((position, shift)), ..Self::unchanged(source) }
    }

    /// The position in the source for a position in the code that runs.
    pub(super) fn original(&self, position: Position) -> Position {
        let position = self.unmapped(position);
        match self.shift {
            Some((from, shift)) if from.line == position.line && from <= position => {
                Position { column: position.column.saturating_sub(shift), ..position }
            }
            _ => position,
        }
    }

    /// Whether the source has the line of this position; code around the program is outside of it.
    pub(super) fn contains(&self, position: Position) -> bool {
        usize::try_from(position.line).is_ok_and(|line| line <= self.lines.len())
    }

    fn unmapped(&self, position: Position) -> Position {
        let Some(map) = &self.map else { return position };
        let after = map.partition_point(|(generated, _)| *generated <= position);
        match after.checked_sub(1).and_then(|index| map.get(index)) {
            Some((generated, original)) if generated.line == position.line => *original,
            // Generated code without an original position; the one that follows is close.
            _ => map.get(after).map_or(position, |(_, original)| *original),
        }
    }

    /// The line of a position, with a mark below its column.
    pub(super) fn excerpt(&self, position: Position) -> Option<String> {
        /// A longer line is generated, and only the part around the position is shown.
        const MAX_WIDTH: usize = 160;
        let index = usize::try_from(position.line).ok()?.checked_sub(1)?;
        let line: Vec<char> = self.lines.get(index)?.chars().collect();
        let mut units = 1;
        let before = line.iter().take_while(|character| {
            let is_before = units < position.column;
            units += if u32::from(**character) > 0xffff { 2 } else { 1 };
            is_before
        });
        let column = before.count();
        let from = column.saturating_sub(MAX_WIDTH / 2);
        let shown: String = line.iter().skip(from).take(MAX_WIDTH).collect();
        let mark: String = line
            .iter()
            .skip(from)
            .take(column - from)
            .map(|character| if *character == '\t' { '\t' } else { ' ' })
            .collect();
        Some(format!("{}\n{mark}^", shown.trim_end()))
    }
}

/// The position of the byte at `offset`.
pub(super) fn position_of(source: &str, offset: u32) -> Position {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(source.len());
    let before = source.get(..source.floor_char_boundary(offset)).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(start..).unwrap_or_default().encode_utf16().count();
    let counted = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    Position { line: counted(line), column: counted(column) }
}
