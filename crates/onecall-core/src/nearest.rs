//! Suggests the known word that was probably meant by an unknown one. Only letters and digits are
//! compared: people and models get separators and capitals wrong more often than letters.

use strsim::osa_distance;

/// The least similarity at which a known word is suggested.
const MIN_SIMILARITY: f64 = 0.6;

/// The shortest part of a known word that can stand for the whole word: a shorter one is part of
/// too many words by chance.
const MIN_PART_LENGTH: usize = 4;

/// The similarity of a word and a part of it. It ranks just below a word with one or two typing
/// errors.
const PART_SIMILARITY: f64 = 0.75;

/// Bytes of the longest words that are compared. Comparing costs the product of the lengths, and
/// words from outside can be megabytes long.
const MAX_WORD_BYTES: usize = 200;

/// How many known words one word is compared with.
const MAX_COMPARISONS: usize = 2_000;

/// The known word that was probably meant.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest_words(word, known, 1).pop()
}

/// The known words that may have been meant, at most `limit`, best first.
pub fn nearest_words<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    limit: usize,
) -> Vec<&'k str> {
    if word.len() > MAX_WORD_BYTES {
        return Vec::new();
    }
    let letters = letters_and_digits(word);
    let score = |known: &'k str| {
        let other = letters_and_digits(known);
        let similarity = letter_similarity(&letters, &other);
        let is_part = letters.len() >= MIN_PART_LENGTH && other.contains(&letters)
            || other.len() >= MIN_PART_LENGTH && letters.contains(&other);
        (if is_part { similarity.max(PART_SIMILARITY) } else { similarity }, known)
    };
    let compared =
        known.into_iter().take(MAX_COMPARISONS).filter(|known| known.len() <= MAX_WORD_BYTES);
    let candidates = compared.map(score).filter(|(score, _)| *score >= MIN_SIMILARITY);
    // Among equal scores, the word that is spelled most like `word` comes first.
    let mut candidates: Vec<_> =
        candidates.map(|(score, known)| (score, osa_distance(word, known), known)).collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    candidates.into_iter().take(limit).map(|(_, _, known)| known).collect()
}

/// The similarity of two words, from 0 (nothing in common) to 1 (the same letters and digits).
#[must_use]
pub fn word_similarity(one: &str, other: &str) -> f64 {
    letter_similarity(&letters_and_digits(one), &letters_and_digits(other))
}

/// The ASCII letters and digits of a text, in lower case. Characters of other alphabets are
/// dropped.
#[must_use]
pub fn letters_and_digits(text: &str) -> String {
    let kept = text.bytes().filter(u8::is_ascii_alphanumeric);
    kept.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "both are below the longest length compared")]
fn letter_similarity(one: &str, other: &str) -> f64 {
    let longer = one.len().max(other.len());
    if longer == 0 || longer > MAX_WORD_BYTES {
        return 0.0;
    }
    1.0 - osa_distance(one, other) as f64 / longer as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_are_understood() {
        let known = ["timeout_seconds", "max_tool_calls", "engine", "env", "url"];
        for (word, expected) in [
            ("timeout-second", Some("timeout_seconds")),
            ("TimeoutSeconds", Some("timeout_seconds")),
            ("timeout", Some("timeout_seconds")),
            ("engien", Some("engine")),
            ("evn", Some("env")),
            ("to", None),
            ("completely_different", None),
            ("", None),
            ("–", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn the_best_come_first_and_equals_in_order() {
        let known = ["orders_c", "order", "orders_b", "orders", "customers"];
        assert_eq!(nearest_words("Orders", known, 3), ["orders", "orders_b", "orders_c"]);
        let known = ["findBooks", "find_books", "find_authors"];
        assert_eq!(nearest_words("find_book", known, 3), ["find_books", "findBooks"]);
        assert_eq!(nearest_words("findBook", known, 3), ["findBooks", "find_books"]);
    }
}
