//! Text from a server made safe for a person's terminal: nothing in it can move
//! the cursor, change colours or reorder what is read.

/// Copies at most `limit` characters of `text`. Colour sequences vanish, every
/// other control or bidirectional character becomes visible.
pub(crate) fn plain(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit));
    let mut kept = 0;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if kept == limit {
            safe.push('…');
            break;
        }
        kept += 1;
        if character == '\u{1b}' && rest.peek() == Some(&'[') {
            rest.next();
            // A control sequence: parameters, then one final character.
            while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {}
            rest.next_if(|next| matches!(next, '@'..='~'));
        } else if character != '\t' && (character.is_control() || reorders(character)) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Marks that make text read in another order than it is written, and line
/// separators that are not control characters.
fn reorders(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_vanish_and_other_controls_become_visible() {
        assert_eq!(plain("\u{1b}[1;32mok\u{1b}[0m\tdone", 100), "ok\tdone");
        assert_eq!(plain("a\u{1b}]0;title\u{7}b", 100), "a\\u{1b}]0;title\\u{7}b");
        assert_eq!(plain("a\rb\u{202e}c", 100), "a\\u{d}b\\u{202e}c");
    }

    #[test]
    fn long_text_is_cut_on_a_character() {
        assert_eq!(plain("äöü", 2), "äö…");
        assert_eq!(plain("äöü", 3), "äöü");
    }
}
