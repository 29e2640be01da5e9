//! The vocabulary of the search: all terms of the tools, and similar terms for unknown words.

use std::collections::HashMap;

use strsim::osa_distance;

/// The number of a term.
pub(crate) type Term = usize;

/// The largest number of similar terms for one unknown word.
const MAX_GUESSES: usize = 4;

/// The shortest word for which similar terms are searched.
const SHORTEST_GUESSED: usize = 3;

#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The sorted terms, each with data that excludes most of them quickly.
    terms: Box<[IndexedTerm]>,
}

#[derive(Debug)]
struct IndexedTerm {
    text: Box<str>,
    term: Term,
    characters: usize,
    letters: u64,
}

impl Vocabulary {
    pub(crate) fn new(numbers: HashMap<String, Term>) -> Self {
        let mut terms: Box<[IndexedTerm]> = numbers
            .into_iter()
            .map(|(text, term)| IndexedTerm {
                term,
                characters: text.chars().count(),
                letters: letter_set(&text),
                text: text.into_boxed_str(),
            })
            .collect();
        terms.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        Self { terms }
    }

    pub(crate) fn get(&self, text: &str) -> Option<Term> {
        let found = self.terms.binary_search_by(|indexed| (*indexed.text).cmp(text)).ok()?;
        self.terms.get(found).map(|indexed| indexed.term)
    }

    /// The terms most similar to a misspelt or abbreviated word.
    pub(crate) fn similar_terms(&self, text: &str) -> Vec<Term> {
        let characters = text.chars().count();
        if characters < SHORTEST_GUESSED {
            return Vec::new();
        }
        let longer_terms = self.terms_beginning_with(text);
        if longer_terms.is_empty() { self.misspelt(text, characters) } else { longer_terms }
    }

    fn misspelt(&self, text: &str, characters: usize) -> Vec<Term> {
        let mut allowed = match characters {
            ..4 => return Vec::new(),
            4..8 => 1,
            _ => 2,
        };
        let own_letters = letter_set(text);
        let mut nearest = Vec::new();
        for indexed in &self.terms {
            // One edit changes at most two letters of the set.
            if indexed.characters.abs_diff(characters) > allowed
                || differing_letters(indexed.letters, own_letters) > allowed * 2
            {
                continue;
            }
            let distance = osa_distance(text, &indexed.text);
            if distance < allowed {
                allowed = distance;
                nearest.clear();
            }
            if distance == allowed && nearest.len() < MAX_GUESSES {
                nearest.push(indexed.term);
            }
        }
        nearest
    }

    /// The shortest terms that begin with an abbreviation, such as `repository` for `repo`.
    fn terms_beginning_with(&self, text: &str) -> Vec<Term> {
        let start = self.terms.partition_point(|indexed| *indexed.text < *text);
        let mut longer: Vec<&IndexedTerm> = self
            .terms
            .iter()
            .skip(start)
            .take_while(|indexed| indexed.text.starts_with(text))
            .collect();
        longer.sort_by_key(|indexed| indexed.characters);
        longer.into_iter().take(MAX_GUESSES).map(|indexed| indexed.term).collect()
    }
}

fn differing_letters(a: u64, b: u64) -> usize {
    usize::try_from((a ^ b).count_ones()).unwrap_or(usize::MAX)
}

/// The set of characters of a text, as a bit set of 64 bits.
fn letter_set(text: &str) -> u64 {
    text.chars().fold(0, |set, character| set | 1 << (u32::from(character) % 64))
}
