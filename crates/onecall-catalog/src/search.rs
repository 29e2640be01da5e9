//! Searches for tools: BM25F over the words of names, descriptions and parameters. Synonyms are
//! matched with less weight, and unknown words by similarity.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use onecall_core::ToolSpec;

use crate::stems::{stems, words};
use crate::synonyms;
use crate::vocabulary::{Term, Vocabulary};

/// The searched fields of a tool. `weight` is the weight of a word in the field; `length_share`
/// determines how much a long field reduces it.
const FIELDS: [Field; 4] = [
    Field { weight: 4.0, length_share: 0.5 }, // tool name
    Field { weight: 2.0, length_share: 0.0 }, // server name
    Field { weight: 1.0, length_share: 0.4 }, // description
    Field { weight: 1.0, length_share: 0.3 }, // parameter names
];

/// The largest number of occurrences of a word in one field that count, so that repeating a word
/// has little effect.
const MAX_OCCURRENCES: u8 = 2;

/// How fast further occurrences lose weight, the usual `k1` of BM25.
const SATURATION: f32 = 1.2;

/// The weight of words that are only similar to those of the query.
const GUESS_WEIGHT: f32 = 0.5;

/// The weight of synonyms of the words of the query.
const SYNONYM_WEIGHT: f32 = 0.4;

/// Limits on text from outside, far above what a person or a model writes.
const QUERY_CHARS: usize = 500;
const NAME_CHARS: usize = 256;
const PARAMETERS: usize = 100;

struct Field {
    weight: f32,
    length_share: f32,
}

/// The search index over tools, which are identified by their positions.
#[derive(Debug)]
pub(crate) struct SearchIndex {
    vocabulary: Vocabulary,
    /// For each term, the tools that contain it and its weight there.
    postings: Vec<Box<[Posting]>>,
    tool_count: usize,
}

/// A tool that contains a term. It is kept small because there are millions of them.
#[derive(Debug)]
struct Posting {
    tool: u32,
    frequency: f32,
}

impl SearchIndex {
    pub(crate) fn build(tools: &[Arc<ToolSpec>]) -> Self {
        let mut counts = TermCounts::default();
        for (position, tool) in (0_u32..).zip(tools) {
            counts.add(position, tool);
        }
        counts.into_index(tools.len())
    }

    /// The positions and scores of the tools that share a word with the query, at most `limit`,
    /// best first; equal scores stay in the order of the tools.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let mut scores = vec![0.0_f32; self.tool_count];
        for (term, weight) in self.query_terms(query) {
            self.add_scores(&mut scores, term, weight);
        }
        let mut found: Vec<(usize, f32)> =
            scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        let better = |a: &(usize, f32), b: &(usize, f32)| -> Ordering {
            b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
        };
        if limit < found.len() {
            found.select_nth_unstable_by(limit, better);
            found.truncate(limit);
        }
        found.sort_unstable_by(better);
        found
    }

    fn query_terms(&self, query: &str) -> Vec<(Term, f32)> {
        let query = query.trim();
        // Every callable name has this prefix, so it carries no information.
        let query = query.strip_prefix("mcp__").unwrap_or(query);
        let all: Vec<&str> = words(start_of(query, QUERY_CHARS)).collect();
        let mut meaningful: Vec<&str> =
            all.iter().copied().filter(|word| !synonyms::is_stop_word(word)).collect();
        if meaningful.is_empty() {
            meaningful = all;
        }
        let meaningful: Vec<Vec<String>> = meaningful.into_iter().map(stems).collect();
        let mut terms: Vec<(Term, f32)> = Vec::new();
        for stems in &meaningful {
            let known: Vec<_> = stems.iter().filter_map(|stem| self.vocabulary.get(stem)).collect();
            let found: Vec<_> = if known.is_empty() && !self.has_synonym(stems) {
                let guesses = stems.iter().flat_map(|stem| self.vocabulary.similar_terms(stem));
                guesses.map(|term| (term, GUESS_WEIGHT)).collect()
            } else {
                known.into_iter().map(|term| (term, 1.0)).collect()
            };
            add(&mut terms, found);
        }
        // Synonyms are added last, so that the words of the query keep their own weight.
        for stem in meaningful.iter().flatten() {
            let synonyms =
                synonyms::synonyms_of(stem).iter().filter_map(|it| self.vocabulary.get(it));
            add(&mut terms, synonyms.map(|term| (term, SYNONYM_WEIGHT)).collect());
        }
        terms
    }

    fn has_synonym(&self, stems: &[String]) -> bool {
        let mut synonyms = stems.iter().flat_map(|stem| synonyms::synonyms_of(stem));
        synonyms.any(|synonym| self.vocabulary.get(synonym).is_some())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tools, and only for ranking")]
    fn add_scores(&self, scores: &mut [f32], term: Term, weight: f32) {
        let postings = self.postings.get(term).map(AsRef::as_ref).unwrap_or_default();
        let with = postings.len() as f32;
        let without = (self.tool_count - postings.len()) as f32;
        let rarity = (1.0 + (without + 0.5) / (with + 0.5)).ln();
        for posting in postings {
            if let Some(score) = position(posting.tool).and_then(|tool| scores.get_mut(tool)) {
                let saturated = posting.frequency / (posting.frequency + SATURATION);
                *score += weight * rarity * saturated;
            }
        }
    }
}

/// Adds terms without duplicates: a repeated word has no more weight and no more cost.
fn add(terms: &mut Vec<(Term, f32)>, found: Vec<(Term, f32)>) {
    for (term, weight) in found {
        if !terms.iter().any(|(other, _)| *other == term) {
            terms.push((term, weight));
        }
    }
}

/// The number of occurrences of each term in each field of each tool.
#[derive(Default)]
struct TermCounts {
    /// The terms of each word seen so far, because text repeats its words.
    words: HashMap<Box<str>, Box<[Term]>>,
    terms: HashMap<String, Term>,
    /// For each term, the tools that contain it, in order.
    occurrences: Vec<Vec<(u32, [u8; FIELDS.len()])>>,
    /// For each tool, the number of terms in each field.
    lengths: Vec<[f32; FIELDS.len()]>,
}

impl TermCounts {
    fn add(&mut self, position: u32, tool: &ToolSpec) {
        self.lengths.push([0.0; FIELDS.len()]);
        let description = tool.description.as_deref().unwrap_or_default();
        for (field, text) in [
            start_of(tool.tool.as_str(), NAME_CHARS),
            start_of(tool.server.as_str(), NAME_CHARS),
            description,
        ]
        .into_iter()
        .enumerate()
        {
            self.add_text(position, field, text);
        }
        for parameter in tool.parameters().into_iter().take(PARAMETERS) {
            self.add_text(position, FIELDS.len() - 1, start_of(&parameter, NAME_CHARS));
        }
    }

    fn add_text(&mut self, position: u32, field: usize, text: &str) {
        for word in words(text) {
            if !self.words.contains_key(word) {
                let terms = stems(word).into_iter().map(|stem| {
                    let next = self.terms.len();
                    *self.terms.entry(stem).or_insert(next)
                });
                let terms = terms.collect();
                self.words.insert(word.into(), terms);
            }
            let Some(terms) = self.words.get(word) else { continue };
            self.occurrences.resize_with(self.terms.len(), Vec::new);
            for &term in terms.iter() {
                let Some(occurrences) = self.occurrences.get_mut(term) else { continue };
                if occurrences.last().is_none_or(|(last, _)| *last != position) {
                    occurrences.push((position, [0; FIELDS.len()]));
                }
                let count = occurrences.last_mut().and_then(|(_, counts)| counts.get_mut(field));
                let length = self.lengths.last_mut().and_then(|lengths| lengths.get_mut(field));
                if let (Some(count), Some(length)) = (count, length) {
                    *count = (*count + 1).min(MAX_OCCURRENCES);
                    *length += 1.0;
                }
            }
        }
    }

    fn into_index(self, tool_count: usize) -> SearchIndex {
        let mean = self.mean_lengths();
        let frequency = |tool: u32, counts: [u8; FIELDS.len()]| -> f32 {
            let lengths = position(tool).and_then(|tool| self.lengths.get(tool));
            let lengths = lengths.copied().unwrap_or_default();
            FIELDS
                .iter()
                .zip(counts)
                .zip(lengths.into_iter().zip(mean))
                .map(|((field, count), (length, mean))| {
                    let share = field.length_share;
                    field.weight * f32::from(count) / (1.0 - share + share * length / mean)
                })
                .sum()
        };
        let postings = self
            .occurrences
            .iter()
            .map(|tools| {
                let posting =
                    |&(tool, counts)| Posting { tool, frequency: frequency(tool, counts) };
                tools.iter().map(posting).collect()
            })
            .collect();
        SearchIndex { vocabulary: Vocabulary::new(self.terms), postings, tool_count }
    }

    /// The mean length of each field; at least one, so that it can be a divisor.
    #[expect(clippy::cast_precision_loss, reason = "a count of tools, and only for ranking")]
    fn mean_lengths(&self) -> [f32; FIELDS.len()] {
        let mut mean = [0.0; FIELDS.len()];
        for lengths in &self.lengths {
            for (sum, length) in mean.iter_mut().zip(lengths) {
                *sum += length;
            }
        }
        mean.map(|sum: f32| (sum / self.lengths.len() as f32).max(1.0))
    }
}

/// The position of a tool.
fn position(tool: u32) -> Option<usize> {
    usize::try_from(tool).ok()
}

fn start_of(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
