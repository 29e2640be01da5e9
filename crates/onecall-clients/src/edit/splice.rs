//! Replaces ranges of a text, and detects its line breaks and indentation.

/// Replaces ranges of a text; `changes` must not overlap.
pub(super) fn splice(text: &str, mut changes: Vec<(std::ops::Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let mut spliced = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in changes {
        spliced.push_str(text.get(at..range.start).unwrap_or_default());
        spliced.push_str(&new);
        at = range.end;
    }
    spliced.push_str(text.get(at..).unwrap_or_default());
    spliced
}

/// The line break that the text uses.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// The indentation of the line that contains `at`.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default();
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blank).unwrap_or_default()
}

/// The blank lines needed between `text` and a new block at its end.
pub(super) fn separator_before_block(text: &str, line_end: &str) -> String {
    let blank_line = format!("{line_end}{line_end}");
    let is_at_start = text.is_empty() || text.trim().is_empty() && text.ends_with('\n');
    if is_at_start || text.ends_with(&blank_line) {
        String::new()
    } else if text.ends_with('\n') {
        line_end.to_owned()
    } else {
        blank_line
    }
}
