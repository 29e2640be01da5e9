//! Formats a short text of a server as one line, for logs, messages and progress reports.

use super::{chars_with_visibility, push_code};

/// Copies at most `limit` characters of `text` as one line. Colour sequences are removed, and every
/// other invisible character is written as its code: see [`chars_with_visibility`].
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit));
    let mut kept = 0;
    let mut rest = chars_with_visibility(text).peekable();
    while let Some((character, is_visible)) = rest.next() {
        if kept == limit {
            safe.push('…');
            break;
        }
        kept += 1;
        if character == '\u{1b}' && rest.next_if(|(next, _)| *next == '[').is_some() {
            // A control sequence: parameters, then one final character.
            while rest.next_if(|(next, _)| matches!(next, ' '..='?')).is_some() {}
            rest.next_if(|(next, _)| matches!(next, '@'..='~'));
        } else if is_visible || character == '\t' {
            safe.push(character);
        } else {
            push_code(&mut safe, character);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn colours_vanish_and_other_controls_become_visible() {
        assert_eq!(one_line("\u{1b}[1;32mok\u{1b}[0m\tdone", 100), "ok\tdone");
        assert_eq!(one_line("a\u{1b}]0;title\u{7}b", 100), "a\\u{1b}]0;title\\u{7}b");
        assert_eq!(one_line("a\rb\u{202e}c\n", 100), "a\\u{d}b\\u{202e}c\\u{a}");
    }

    #[test]
    fn long_text_is_cut_on_a_character() {
        assert_eq!(one_line("äöü", 2), "äö…");
        assert_eq!(one_line("äöü", 3), "äöü");
    }
}
