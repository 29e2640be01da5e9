//! Estimates how many tokens a text has, and cuts a text that is too long. Counting exactly would
//! take a tokenizer of forty megabytes. [`tokens`] reads the text and overestimates anything that
//! people write, so it can bound what a server may say; [`tokens_of_size`] uses only the number of
//! bytes and is right on average, which is enough for statistics.

use std::borrow::Cow;

/// The tokens reserved for the note about a cut.
const NOTE_TOKENS: usize = 24;

/// The weight of one token; characters weigh a fraction or a multiple of it.
const TOKEN_WEIGHT: usize = 12;

/// The weight of a character. Prose has about five letters to a token and JSON three
/// characters; other scripts have one or two tokens to a character.
fn weight(character: char) -> usize {
    match character {
        ' ' | 'a'..='z' => TOKEN_WEIGHT / 3,
        '\0'..='\u{7f}' => TOKEN_WEIGHT / 2,
        '\u{80}'..='\u{7ff}' => TOKEN_WEIGHT,
        '\u{800}'..='\u{ffff}' => TOKEN_WEIGHT * 3 / 2,
        _ => TOKEN_WEIGHT * 3,
    }
}

/// Bytes of text that make up one token, on average over programs, tool definitions and results.
const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a text of this many bytes.
#[must_use]
pub fn tokens_of_size(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Estimates the tokens of a text; rather too high than too low.
#[must_use]
pub fn tokens(text: &str) -> usize {
    text.chars().map(weight).sum::<usize>().div_ceil(TOKEN_WEIGHT)
}

/// Returns a text of at most `max` tokens unchanged. Of a longer text it returns the beginning,
/// with a note of how much is missing; `max` has to leave room for the note.
#[must_use]
pub fn cut(text: &str, max: usize) -> Cow<'_, str> {
    let all = tokens(text);
    if all <= max {
        return Cow::Borrowed(text);
    }
    let room = max.saturating_sub(NOTE_TOKENS);
    let head = text.get(..end_of_head(text, room)).unwrap_or_default().trim_end();
    Cow::Owned(format!("{head} {}", note(all.saturating_sub(tokens(head)), all)))
}

/// The note in place of the part that was cut.
fn note(missing: usize, all: usize) -> String {
    format!(
        "… (cut: about {} of {} tokens)",
        with_thousands_separators(missing),
        with_thousands_separators(all)
    )
}

/// Formats a number with a comma between thousands: `26,000`.
#[must_use]
pub fn with_thousands_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn end_of_head(text: &str, tokens: usize) -> usize {
    let mut left = tokens.saturating_mul(TOKEN_WEIGHT);
    for (index, character) in text.char_indices() {
        match left.checked_sub(weight(character)) {
            Some(rest) => left = rest,
            None => return index,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_long_is_cut() {
        assert_eq!(cut("short", 100), "short");
        let long = "word ".repeat(10_000);
        assert_eq!(cut(&long, 30), "word word word wor … (cut: about 16,661 of 16,667 tokens)");
        for text in [long, "漢".repeat(1_000), "👍".repeat(1_000), "\"{}[]:".repeat(1_000)] {
            for max in [30, 100, 999] {
                assert!(tokens(&cut(&text, max)) <= max);
            }
        }
    }
}
