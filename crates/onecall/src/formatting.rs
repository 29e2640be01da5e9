//! Formats numbers, times and bars for a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use dialoguer::console::Term;

/// The width if there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// The eighths of a bar's last character.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The width of a line: `COLUMNS` if it is set, otherwise that of the terminal.
pub(crate) fn terminal_width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || {
        let size = io::stdout().is_terminal().then(|| Term::stdout().size_checked()).flatten();
        size.map(|(_, columns)| usize::from(columns))
    };
    set.or_else(asked).unwrap_or(DEFAULT_WIDTH).clamp(40, 400)
}

/// A duration as `480µs`, `12ms`, `1.52s` or `3m20s`.
pub(crate) fn duration(span: Duration) -> String {
    let microseconds = span.as_micros();
    match microseconds {
        0..1_000 => format!("{microseconds}µs"),
        1_000..10_000 => format!("{:.1}ms", span.as_secs_f64() * 1e3),
        10_000..1_000_000 => format!("{}ms", microseconds / 1_000),
        1_000_000..10_000_000 => format!("{:.2}s", span.as_secs_f64()),
        10_000_000..60_000_000 => format!("{:.1}s", span.as_secs_f64()),
        _ => format!("{}m{:02}s", span.as_secs() / 60, span.as_secs() % 60),
    }
}

/// An age as `now`, `3m ago` or `2d ago`.
pub(crate) fn age(span: Duration) -> String {
    match span.as_secs() {
        0..2 => "now".to_owned(),
        seconds @ 2..60 => format!("{seconds}s ago"),
        seconds @ 60..3_600 => format!("{}m ago", seconds / 60),
        seconds @ 3_600..172_800 => format!("{}h ago", seconds / 3_600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// A number as `6`, `1.2k` or `3.4M`, with a sign if it is negative.
pub(crate) fn short_number(number: i64) -> String {
    let size = number.unsigned_abs();
    let sign = if number < 0 { "-" } else { "" };
    let short = |unit: u64, letter: char| {
        let (units, tenths) = (size / unit, size % unit * 10 / unit);
        match units {
            0..100 => format!("{sign}{units}.{tenths}{letter}"),
            _ => format!("{sign}{units}{letter}"),
        }
    };
    match size {
        0..1_000 => format!("{sign}{size}"),
        1_000..1_000_000 => short(1_000, 'k'),
        1_000_000..1_000_000_000 => short(1_000_000, 'M'),
        _ => short(1_000_000_000, 'G'),
    }
}

/// A share in whole percent; `-` if `all` is zero.
pub(crate) fn percent(part: u64, all: u64) -> String {
    match part.saturating_mul(100).checked_div(all) {
        Some(share) => format!("{share}%"),
        None => "-".to_owned(),
    }
}

/// A bar that is `width` characters long for the value `most`.
pub(crate) fn bar(value: u64, most: u64, width: usize) -> String {
    let full = u64::try_from(width).unwrap_or(0).saturating_mul(8);
    let eighths = value.min(most).saturating_mul(full).checked_div(most).unwrap_or(0);
    // A value above zero is never shown as an empty bar.
    let eighths = usize::try_from(if value > 0 { eighths.max(1) } else { 0 }).unwrap_or(0);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(EIGHTHS.get(eighths % 8).filter(|part| **part != ' '));
    bar
}

/// As much of a text as fits, on one line.
pub(crate) fn truncate_line(text: &str, width: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain((width > 0).then_some('…')).collect()
}

/// A text in lines of at most `width` characters; a longer word is cut.
pub(crate) fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + length(word) < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(truncate_line(word, width)),
        }
    }
    lines
}

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

/// A table with headings, whose columns are as wide as necessary. The last column is cut if the
/// table is too wide.
pub(crate) fn table(headings: &[(&str, Alignment)], rows: &[Vec<String>], width: usize) -> String {
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, (heading, _))| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
            cells.chain([length(heading)]).max().unwrap_or_default()
        })
        .collect();
    let taken: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
    let room = width.saturating_sub(taken);
    let line = |cells: &[&str]| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let (side, width) = (headings.get(column).map(|it| it.1), widths.get(column));
            let is_last = column + 1 == headings.len();
            let cell = if is_last { truncate_line(cell, room) } else { (*cell).to_owned() };
            let gap = width.copied().unwrap_or_default().saturating_sub(length(&cell));
            let gap = " ".repeat(if is_last { 0 } else { gap });
            match side {
                Some(Alignment::Right) => line.push_str(&format!("{gap}{cell}")),
                _ => line.push_str(&format!("{cell}{gap}")),
            }
            line.push_str(if is_last { "" } else { "  " });
        }
        line.trim_end().to_owned() + "\n"
    };
    let titles: Vec<_> = headings.iter().map(|(heading, _)| *heading).collect();
    let body = rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    std::iter::once(line(&titles)).chain(body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let spans = [0, 480, 1_520, 12_345, 1_523_000, 12_345_000, 200_000_000];
        let shown = spans.map(|microseconds| duration(Duration::from_micros(microseconds)));
        assert_eq!(shown, ["0µs", "480µs", "1.5ms", "12ms", "1.52s", "12.3s", "3m20s"]);
        let amounts = [0, 999, 1_234, -1_234, 123_456, 3_450_000, i64::MIN].map(short_number);
        assert_eq!(amounts, ["0", "999", "1.2k", "-1.2k", "123k", "3.4M", "-9223372036G"]);
        let ages = [0, 59, 61, 7_200, 200_000].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(ages, ["now", "59s ago", "1m ago", "2h ago", "2d ago"]);
        assert_eq!([percent(1, 3), percent(0, 0)], ["33%", "-"]);
    }

    #[test]
    fn bars_are_in_proportion() {
        let bars = [(0, 8), (1, 1_000), (8, 8), (9, 8), (3, 8), (0, 0)].map(|(a, b)| bar(a, b, 4));
        assert_eq!(bars, ["", "▏", "████", "████", "█▌", ""]);
    }

    #[test]
    fn a_text_is_wrapped() {
        assert_eq!(wrap_lines("one two  three fourteen\n", 8), ["one two", "three", "fourteen"]);
        assert_eq!(wrap_lines("enormous", 4), ["eno…"]);
        assert_eq!(wrap_lines("", 4), [""; 0]);
    }

    #[test]
    fn a_table_fits() {
        let rows = [vec!["a".to_owned(), "12".to_owned(), "a long story\nin lines".to_owned()]];
        let headings =
            [("NAME", Alignment::Left), ("N", Alignment::Right), ("WHAT", Alignment::Left)];
        assert_eq!(table(&headings, &rows, 18), "NAME   N  WHAT\na     12  a long …\n");
        assert_eq!(table(&headings, &rows, 5), "NAME   N\na     12\n");
    }
}
