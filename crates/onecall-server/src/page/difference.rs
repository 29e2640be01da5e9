//! What differs between two texts, line by line, as a part of a page. Where a line is shown in part, it is the
//! part that differs.

use std::ops::Range;

use maud::{Markup, html};

use super::room::excerpt;
use crate::line_diff::diff_lines;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 400;

/// How many lines around a change are shown.
const LINES_AROUND: usize = 3;

/// Lines up to this length are shown whole, in bytes. Of a longer one, what both texts have in common is left out,
/// except for some bytes beside the change.
const LONG_LINE: usize = 400;
const BYTES_AROUND: usize = 80;

/// How much a row of the table takes beside its text, in bytes.
const ROW_SIZE: usize = 100;

/// A difference as a part of a page.
pub(super) struct Difference {
    pub(super) markup: Markup,
    /// Whether something that differs is not shown.
    pub(super) is_cut: bool,
}

/// A line of the difference.
struct Line<'a> {
    /// `-`, `+` or a space.
    mark: char,
    text: &'a str,
    /// The part of the text that is shown.
    shown: Range<usize>,
}

/// All lines of two texts, with those that differ marked. They take at most about `most` bytes of a page.
pub(super) fn whole(one: &str, other: &str, most: usize) -> Difference {
    let lines = diff_lines(one, other);
    let lines = marked(&lines);
    rows(&lines.iter().enumerate().collect::<Vec<_>>(), most)
}

/// The lines that differ, with some lines around each; `None` if the texts are equal.
pub(super) fn around_changes(one: &str, other: &str, most: usize) -> Option<Difference> {
    let lines = diff_lines(one, other);
    let lines = marked(&lines);
    let is_near = |index: usize| {
        let mut near = lines.iter().skip(index.saturating_sub(LINES_AROUND));
        near.by_ref().take(2 * LINES_AROUND + 1).any(|line| line.mark != ' ')
    };
    let near: Vec<_> = lines.iter().enumerate().filter(|(index, _)| is_near(*index)).collect();
    (!near.is_empty()).then(|| rows(&near, most))
}

/// The lines with the parts of them that are shown.
fn marked(lines: &[String]) -> Vec<Line<'_>> {
    let mut marked: Vec<Line<'_>> = lines
        .iter()
        .map(|line| {
            let mark = line.chars().next().unwrap_or(' ');
            let text = line.get(2..).unwrap_or_default();
            let end = if mark == ' ' { text.floor_char_boundary(LONG_LINE) } else { text.len() };
            Line { mark, text, shown: 0..end }
        })
        .collect();
    // Each removed line is compared with the added one that stands in its place.
    for block in marked
        .chunk_by_mut(|one, other| one.mark == other.mark || other.mark == '+' && one.mark == '-')
    {
        let removed = block.iter().take_while(|line| line.mark == '-').count();
        let (removed, added) = block.split_at_mut(removed);
        for (one, other) in removed.iter_mut().zip(added.iter_mut().filter(|it| it.mark == '+')) {
            show_change(one, other);
        }
    }
    marked
}

/// Leaves out what two long lines have in common at their beginning and their end.
fn show_change<'a>(one: &mut Line<'a>, other: &mut Line<'a>) {
    if one.text.len().max(other.text.len()) <= LONG_LINE {
        return;
    }
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
    };
    let before = same(&mut one.text.chars().zip(other.text.chars()));
    let rest = |line: &Line<'_>| line.text.get(before..).unwrap_or_default().to_owned();
    let (rest_of_one, rest_of_other) = (rest(one), rest(other));
    let after = same(&mut rest_of_one.chars().rev().zip(rest_of_other.chars().rev()));
    for line in [one, other] {
        let first = line.text.floor_char_boundary(before.saturating_sub(BYTES_AROUND));
        let end = line.text.len().saturating_sub(after).saturating_add(BYTES_AROUND);
        line.shown = first..line.text.ceil_char_boundary(end.min(line.text.len()));
    }
}

/// The rows of some lines, which are given with their positions.
fn rows(lines: &[(usize, &Line<'_>)], most: usize) -> Difference {
    let needed: usize = lines.iter().map(|(_, line)| line.shown.len() + ROW_SIZE).sum();
    // If there is not enough room for all, one long line does not take that of the others.
    let most_of_line = if needed <= most { most } else { most / 4 };
    let (mut rows, mut left, mut is_cut, mut last) = (Vec::new(), most, false, None);
    for (index, line) in lines.iter().take(MAX_LINES) {
        if left < 2 * ROW_SIZE {
            break;
        }
        let text = line.text.get(line.shown.clone()).unwrap_or_default();
        let shown = excerpt(text, most_of_line.min(left - ROW_SIZE));
        is_cut |= shown.is_cut && line.mark != ' ';
        let is_gap = last.is_some_and(|last: usize| last + 1 < *index);
        let goes_on = !shown.is_cut && line.shown.end < line.text.len();
        let row = html! {
            @if is_gap { tr.gap { td { "…" } td {} } }
            @let class = match line.mark { '+' => "added", '-' => "removed", _ => "" };
            tr class=(class) {
                td.ln { (line.mark) }
                td.code { code { @if line.shown.start > 0 { "…" } (shown.text) @if goes_on { "…" } } }
            }
        };
        left = left.saturating_sub(row.0.len());
        rows.push(row);
        last = Some(*index);
    }
    let further = lines.len() - rows.len();
    let markup = html! {
        div.source tabindex="0" role="group" aria-label="Differences" { table.diff { tbody { @for row in &rows { (row) } } } }
        @if further > 0 { p.muted { "and " (further) " more lines" } }
    };
    Difference { markup, is_cut: is_cut || further > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the rows, with their marks.
    fn shown(difference: &Difference) -> Vec<String> {
        let rows = difference.markup.0.split("<td class=\"ln\">").skip(1);
        let texts = rows.map(|row| {
            let text = row.split("</code>").next().unwrap();
            text.replace("</td><td class=\"code\"><code>", "")
        });
        texts.collect()
    }

    #[test]
    fn a_change_far_in_a_long_line_is_shown() {
        let line = |word: &str| format!("{}{word}{}", "a".repeat(5_000), "b".repeat(5_000));
        let difference = whole(&line("read"), &line("list"), 18_000);
        let (before, after) = ("a".repeat(BYTES_AROUND), "b".repeat(BYTES_AROUND));
        let expected = |mark: char, word: &str| format!("{mark}…{before}{word}{after}…");
        assert_eq!(shown(&difference), [expected('-', "read"), expected('+', "list")]);
        assert!(!difference.is_cut);
        // What is added at the end of a long line, too.
        let difference = whole(&"ä".repeat(600), &format!("{} and more", "ä".repeat(600)), 18_000);
        assert!(shown(&difference)[1].ends_with("ä and more") && !difference.is_cut);
    }

    #[test]
    fn long_lines_are_whole_as_long_as_there_is_room() {
        let added = "x".repeat(9_000);
        let difference = whole("", &added, 18_000);
        assert_eq!((shown(&difference), difference.is_cut), (vec![format!("+{added}")], false));
        let difference = whole("", &"x".repeat(20_000), 18_000);
        assert!(difference.is_cut && difference.markup.0.len() < 18_000);
        // A line that stays the same may be cut.
        let same = "y".repeat(50_000);
        let difference = whole(&format!("{same}\na"), &format!("{same}\nb"), 18_000);
        assert_eq!(shown(&difference)[1..], ["-a", "+b"]);
        assert!(!difference.is_cut);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let many = |word: &str| vec![word; 300].join("\n");
        let difference = whole(&many("a"), &many("b"), 18_000);
        assert!(difference.is_cut && difference.markup.0.len() < 19_000);
        assert!(difference.markup.0.contains(" more lines"));
        assert!(around_changes("a", "a", 18_000).is_none());
        let far = format!("{}\nend", many("a"));
        let near = around_changes(&far, &far.replace("end", "END"), 18_000).unwrap();
        assert_eq!(shown(&near), [" a", " a", " a", "-end", "+END"]);
    }
}
