//! Makes text that a server chose safe to show to a model or on a terminal. Every such text of a
//! server goes through here; values that programs receive do not.
//!
//! Two rules hold: a character that is invisible, or that changes how others are displayed, is
//! written as its code (see [`chars_with_visibility`]), and a text that is too long is cut with a
//! note of how much is missing (see [`cut`]).

mod invisible;
mod length;
mod one_line;

use std::borrow::Cow;
use std::fmt::Write;

pub use invisible::{CharsWithVisibility, chars_with_visibility};
pub use length::{cut, tokens, tokens_of_size, with_thousands_separators};
pub use one_line::one_line;

/// Writes every invisible character of a text as `\u{…}`. Line breaks and tabs are kept, and a
/// carriage return before a line break is removed.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    escape_characters(text, |character| character == '\n', push_code)
}

/// Writes every invisible character of a text as `\u{…}`, including line breaks, so that the result
/// is one line.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escape_characters(text, |_| false, push_code)
}

/// Formats a text as one word of a shell command, quoted where necessary.
#[must_use]
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Writes every invisible character of a JSON text as a JSON escape, so that nothing in it is
/// hidden and a parser still reads the same values.
#[must_use]
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let escape = |shown: &mut String, character: char| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            _ = write!(shown, "\\u{unit:04x}");
        }
    };
    escape_characters(json, |character| character == '\n', escape)
}

/// Makes a text safe to read: it has no invisible characters and at most `max_tokens` tokens.
#[must_use]
pub fn readable(text: &str, max_tokens: usize) -> String {
    cut(&visible(text), max_tokens).into_owned()
}

/// Appends a character as its code: `\u{202e}`.
pub fn push_code(text: &mut String, character: char) {
    // Writing to a String cannot fail.
    _ = write!(text, "\\u{{{:x}}}", u32::from(character));
}

fn escape_characters(
    text: &str,
    is_kept: impl Fn(char) -> bool,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = chars_with_visibility(text).peekable();
    while let Some((character, is_visible)) = characters.next() {
        let mut ends_line =
            || is_kept('\n') && characters.peek().is_some_and(|(it, _)| *it == '\n');
        match character {
            '\r' if ends_line() => {}
            _ if is_visible || character == '\t' || is_kept(character) => shown.push(character),
            _ => escape(&mut shown, character),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_invisible_is_written_as_its_code() {
        let text = "a\u{1b}[8m\r\n\tb\r\u{200b}\u{2028}\u{9b}\u{e0041}";
        assert_eq!(visible(text), "a\\u{1b}[8m\n\tb\\u{d}\\u{200b}\\u{2028}\\u{9b}\\u{e0041}");
        assert_eq!(visible_line("a\r\nb\tc"), "a\\u{d}\\u{a}b\tc");
        let json = serde_json::json!({ "k\u{202e}": "\u{e0041}\u{7f}\n" }).to_string();
        let shown = visible_json(&json);
        assert_eq!(shown, r#"{"k\u202e":"\udb40\udc41\u007f\n"}"#);
        let values = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
        assert_eq!(values(&shown), values(&json));
    }

    #[test]
    fn a_text_is_shown_before_it_is_cut() {
        let hidden = "\u{e0041}".repeat(10_000);
        let shown = readable(&hidden, 100);
        assert!(shown.starts_with("\\u{e0041}") && tokens(&shown) <= 100, "{shown}");
    }
}
