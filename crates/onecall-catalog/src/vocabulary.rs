//! The vocabulary of the search: all terms of the tools, and similar terms for unknown words.

use std::collections::HashMap;

use strsim::osa_distance;

/// The number of a term.
pub(crate) type Term = usize;

/// The largest number of similar terms for one unknown word.
const GUESSES: usize = 4;

/// The shortest word for which similar terms are searched.
const SHORTEST_GUESSED: usize = 3;

#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The sorted terms, each with data that excludes most of them quickly.
    sketches: Box<[Sketch]>,
}

#[derive(Debug)]
struct Sketch {
    text: Box<str>,
    term: Term,
    characters: usize,
    letters: u64,
}

impl Vocabulary {
    pub(crate) fn new(numbers: HashMap<String, Term>) -> Self {
        let mut sketches: Box<[Sketch]> = numbers
            .into_iter()
            .map(|(text, term)| Sketch {
                term,
                characters: text.chars().count(),
                letters: letters(&text),
                text: text.into_boxed_str(),
            })
            .collect();
        sketches.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        Self { sketches }
    }

    pub(crate) fn get(&self, text: &str) -> Option<Term> {
        let found = self.sketches.binary_search_by(|sketch| (*sketch.text).cmp(text)).ok()?;
        self.sketches.get(found).map(|sketch| sketch.term)
    }

    /// The terms most similar to a misspelt or abbreviated word.
    pub(crate) fn resembling(&self, text: &str) -> Vec<Term> {
        let characters = text.chars().count();
        if characters < SHORTEST_GUESSED {
            return Vec::new();
        }
        let shortened = self.shortened(text);
        if shortened.is_empty() { self.misspelt(text, characters) } else { shortened }
    }

    fn misspelt(&self, text: &str, characters: usize) -> Vec<Term> {
        let mut allowed = match characters {
            ..4 => return Vec::new(),
            4..8 => 1,
            _ => 2,
        };
        let own_letters = letters(text);
        let mut nearest = Vec::new();
        for sketch in &self.sketches {
            // One edit changes at most two letters of the set.
            if sketch.characters.abs_diff(characters) > allowed
                || differing_letters(sketch.letters, own_letters) > allowed * 2
            {
                continue;
            }
            let distance = osa_distance(text, &sketch.text);
            if distance < allowed {
                allowed = distance;
                nearest.clear();
            }
            if distance == allowed && nearest.len() < GUESSES {
                nearest.push(sketch.term);
            }
        }
        nearest
    }

    /// The shortest terms that begin with an abbreviation, such as `repository` for `repo`.
    fn shortened(&self, text: &str) -> Vec<Term> {
        let start = self.sketches.partition_point(|sketch| *sketch.text < *text);
        let mut longer: Vec<&Sketch> = self
            .sketches
            .iter()
            .skip(start)
            .take_while(|sketch| sketch.text.starts_with(text))
            .collect();
        longer.sort_by_key(|sketch| sketch.characters);
        longer.into_iter().take(GUESSES).map(|sketch| sketch.term).collect()
    }
}

fn differing_letters(a: u64, b: u64) -> usize {
    usize::try_from((a ^ b).count_ones()).unwrap_or(usize::MAX)
}

/// The set of characters of a text, as a bit set of 64 bits.
fn letters(text: &str) -> u64 {
    text.chars().fold(0, |set, character| set | 1 << (u32::from(character) % 64))
}
