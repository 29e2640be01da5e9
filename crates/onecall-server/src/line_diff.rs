//! Compares two texts line by line, for a person who has to decide about the difference. The texts
//! come from a server, which may try to hide something in them.

use std::time::{Duration, Instant};

use onecall_core::text::visible_line;
use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline};

/// The time limit for the comparison. After that, more lines than necessary count as changed.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// The lines of both texts, marked with `-`, `+` or a space; empty if they are equal.
#[must_use]
pub fn diff_lines(old: &str, new: &str) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let lines = |text: &str| -> Vec<String> {
        if text.is_empty() {
            Vec::new()
        } else {
            text.split('\n').map(|line| visible_line(line).into_owned()).collect()
        }
    };
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now() + DIFF_TIMEOUT;
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    let mark = |tag| match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    };
    let changes = changes.iter().flat_map(|change| change.iter_changes(&old, &new));
    changes.map(|change| format!("{} {}", mark(change.tag()), change.value())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_by_where_they_are() {
        assert_eq!(diff_lines("a\nb\nc", "a\nx\nc\nd"), ["  a", "- b", "+ x", "  c", "+ d"]);
        assert_eq!(diff_lines("", "a"), ["+ a"]);
        assert_eq!(diff_lines("a", ""), ["- a"]);
        assert_eq!(diff_lines("a", "a"), [""; 0]);
        let many = |word: &str| [word; 3_000].join("\n");
        assert_eq!(diff_lines(&many("a"), &many("b")).len(), 6_000);
    }
}
