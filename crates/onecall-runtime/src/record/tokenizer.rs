//! Counts what a model reads and writes.

use tiktoken_rs::CoreBPE;

/// Text without a boundary is counted in parts of this many characters: merging one takes
/// time that grows with the square of its length.
const LONGEST_WORD: usize = 256;

/// The tokenizer of current models, o200k. Loading it takes a while and tens of megabytes.
pub struct Tokenizer(CoreBPE);

impl Tokenizer {
    /// Loads it.
    ///
    /// # Errors
    /// If its data cannot be read.
    pub fn load() -> Result<Self, String> {
        tiktoken_rs::o200k_base().map(Self).map_err(|error| error.to_string())
    }

    /// How many tokens a text takes.
    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        let parts = parts(text).map(|part| self.0.encode_ordinary(part).len());
        u64::try_from(parts.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

/// Cuts where there has been no boundary for long; most texts stay whole.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (mut last, mut run) = (Class::Number, 0);
        let cut = rest.char_indices().find_map(|(at, character)| {
            let class = Class::of(character);
            run = if class == last { run + 1 } else { 1 };
            last = class;
            (run > LONGEST_WORD).then_some(at)
        });
        let (part, next) = rest.split_at_checked(cut.unwrap_or(rest.len()))?;
        rest = next;
        Some(part)
    })
}

/// What the tokenizer keeps together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    Space,
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        match character {
            it if it.is_alphabetic() => Self::Letter,
            it if it.is_numeric() => Self::Number,
            it if it.is_whitespace() => Self::Space,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_without_boundaries_is_cut() {
        let ordinary = "for row in rows: print(row['name'], 1234567)\n".repeat(50);
        assert_eq!(parts(&ordinary).collect::<Vec<_>>(), [ordinary.as_str()]);
        let endless = "é".repeat(600);
        let lengths: Vec<_> = parts(&endless).map(|part| part.chars().count()).collect();
        assert_eq!(lengths, [256, 256, 88]);
        assert_eq!(parts("").count(), 0);
    }

    #[test]
    fn tokens_are_those_of_o200k() {
        let tokenizer = Tokenizer::load().unwrap();
        assert_eq!(tokenizer.count("hello world"), 2);
        assert_eq!(tokenizer.count(""), 0);
        assert!(tokenizer.count(&"a".repeat(1_000_000)) > 1_000);
    }
}
