//! Shortens a tool's description to one line.

use onecall_core::text::visible_line;

/// The first sentence of a description, cut to `width` characters if it is longer.
#[must_use]
pub fn summary(description: &str, width: usize) -> String {
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let sentence = line.split_inclusive(". ").next().unwrap_or_default();
    let sentence = visible_line(sentence.trim_end()).into_owned();
    if sentence.chars().count() <= width {
        return sentence;
    }
    let cut: String = sentence.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence_in_one_line() {
        for (description, expected) in [
            ("", ""),
            ("\n  Adds numbers. Slowly.\nMore.", "Adds numbers."),
            ("Version 1.5 of it. Rest", "Version 1.5 of it."),
            ("a\u{1b}[3mb\u{202e}c", r"a\u{1b}[3mb\u{202e}c"),
            ("a rather long sentence without end", "a rather long senten…"),
            ("cut before a space here", "cut before a space h…"),
        ] {
            assert_eq!(summary(description, 21), expected);
        }
    }
}
