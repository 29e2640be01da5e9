//! Splits a text into lines, and finds the lines that belong to an entry.

use std::ops::Range;

use onecall_config::document::{Node, Position, Value as Yaml};

/// A text split into lines, each with its line break.
pub(super) struct Lines<'t> {
    source: &'t str,
    ranges: Vec<Range<usize>>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(source: &'t str) -> Self {
        let mut at = 0;
        let ranges = source.split_inclusive('\n').map(|line| {
            let start = at;
            at += line.len();
            start..at
        });
        Self { source, ranges: ranges.collect() }
    }

    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn range(&self, index: usize) -> Range<usize> {
        let end = self.source.len();
        self.ranges.get(index).cloned().unwrap_or(end..end)
    }

    pub(super) fn text(&self, index: usize) -> &'t str {
        self.source.get(self.range(index)).unwrap_or_default()
    }

    pub(super) fn offset(&self, at: Position) -> usize {
        let line = self.text(at.line - 1);
        let column = line.char_indices().nth(at.column - 1).map_or(line.len(), |(at, _)| at);
        self.range(at.line - 1).start + column
    }

    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.ranges.iter().position(|range| offset <= range.end).unwrap_or_default()
    }

    pub(super) fn character(&self, at: Position) -> Option<char> {
        self.source.get(self.offset(at)..)?.chars().next()
    }

    /// The line and column of the dash in front of a list item.
    pub(super) fn dash(&self, at: Position) -> Option<(usize, usize)> {
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

/// The start of an entry: its dash or its key.
pub(super) struct EntryStart {
    pub(super) line: usize,
    pub(super) column: usize,
    /// The position of its value or its key.
    pub(super) at: Position,
}

pub(super) fn entry_starts(lines: &Lines<'_>, parent: &Node) -> Vec<EntryStart> {
    let start = |at: Position, dash: Option<(usize, usize)>| {
        // In brackets there are no dashes.
        let (line, column) = dash.unwrap_or((at.line - 1, at.column - 1));
        EntryStart { line, column, at }
    };
    match &parent.value {
        Yaml::Scalar(_) => Vec::new(),
        Yaml::Mapping(pairs) => pairs.iter().map(|(key, _)| start(key.at, None)).collect(),
        Yaml::List(items) => items.iter().map(|item| start(item.at, lines.dash(item.at))).collect(),
    }
}

/// The lines of an entry: the first one and those with more indentation, without blank lines and
/// comments at the end.
pub(super) fn entry_line_range(lines: &Lines<'_>, start: &EntryStart) -> Range<usize> {
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

/// The first of the comment lines directly above an entry, at the same indentation.
pub(super) fn comments_above(lines: &Lines<'_>, start: &EntryStart, key_line: usize) -> usize {
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
