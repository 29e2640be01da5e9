//! Glob patterns for paths: `*` and `?` within a name, `[a-z]` and `[!a-z]` for one character, `**`
//! for any number of folders. As in a shell, a name that begins with a dot is matched only by a
//! pattern that begins with one. Matching never takes exponential time.

use thiserror::Error;

const MAX_PATTERN: usize = 1_000;

/// Why a text is not a valid pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum PatternError {
    #[error("a pattern has from 1 to {MAX_PATTERN} bytes")]
    Length,
    #[error("a pattern is relative to the tool's folder")]
    Absolute,
    #[error("a pattern cannot hold '..'")]
    Parent,
}

/// A parsed pattern, split at the slashes.
pub(super) struct Pattern(Vec<PatternPart>);

enum PatternPart {
    /// `**`
    Folders,
    Name(Vec<Token>),
}

enum Token {
    Character(char),
    /// `?`
    Any,
    /// `*`
    Many,
    /// `[…]`
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The positions in a pattern that the names so far can have reached.
#[derive(Clone)]
pub(super) struct MatchPositions(Vec<usize>);

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() || text.len() > MAX_PATTERN {
            return Err(PatternError::Length);
        }
        if text.starts_with('/') {
            return Err(PatternError::Absolute);
        }
        let mut parts = Vec::new();
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            match name {
                ".." => return Err(PatternError::Parent),
                "**" if matches!(parts.last(), Some(PatternPart::Folders)) => {}
                "**" => parts.push(PatternPart::Folders),
                name => parts.push(PatternPart::Name(tokens(name))),
            }
        }
        if matches!(parts.last(), Some(PatternPart::Folders)) {
            // A final `**` stands for everything below.
            parts.push(PatternPart::Name(vec![Token::Many]));
        }
        Ok(Self(parts))
    }

    pub fn start(&self) -> MatchPositions {
        self.skip_double_stars(vec![0])
    }

    /// The positions reached after one more name.
    pub fn advance(&self, matched: &MatchPositions, name: &str) -> MatchPositions {
        let name_characters: Vec<char> = name.chars().collect();
        let mut next = Vec::new();
        for &position in &matched.0 {
            match self.0.get(position) {
                Some(PatternPart::Folders) if !name.starts_with('.') => next.push(position),
                Some(PatternPart::Name(tokens)) if is_match(tokens, &name_characters) => {
                    next.push(position + 1);
                }
                _ => {}
            }
        }
        self.skip_double_stars(next)
    }

    /// Whether the names so far match the whole pattern.
    pub fn is_complete(&self, matched: &MatchPositions) -> bool {
        matched.0.contains(&self.0.len())
    }

    /// Whether further names below can still match.
    pub fn can_match_below(&self, matched: &MatchPositions) -> bool {
        matched.0.iter().any(|position| *position < self.0.len())
    }

    /// Adds the positions after each `**`, which can also stand for no folder.
    fn skip_double_stars(&self, mut positions: Vec<usize>) -> MatchPositions {
        let mut index = 0;
        while let Some(&position) = positions.get(index) {
            if matches!(self.0.get(position), Some(PatternPart::Folders)) {
                positions.push(position + 1);
            }
            index += 1;
        }
        positions.sort_unstable();
        positions.dedup();
        MatchPositions(positions)
    }
}

fn tokens(name: &str) -> Vec<Token> {
    let characters: Vec<char> = name.chars().collect();
    let mut tokens = Vec::new();
    let mut rest = characters.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            '?' => tokens.push(Token::Any),
            '*' if matches!(tokens.last(), Some(Token::Many)) => {}
            '*' => tokens.push(Token::Many),
            '[' => match class(after) {
                Some((class, after)) => {
                    tokens.push(class);
                    rest = after;
                }
                None => tokens.push(Token::Character('[')),
            },
            other => tokens.push(Token::Character(*other)),
        }
    }
    tokens
}

/// Parses a character class, starting after its `[`. Returns it with the text after its `]`; `None`
/// if it is not closed.
fn class(after: &[char]) -> Option<(Token, &[char])> {
    let negated = matches!(after.first(), Some('!' | '^'));
    let inside = after.get(usize::from(negated)..)?;
    // A `]` in the first position is one of the characters.
    let end = 1 + inside.get(1..)?.iter().position(|it| *it == ']')?;
    let (mut inside, after) = (inside.get(..end)?, inside.get(end + 1..)?);
    let mut ranges = Vec::new();
    loop {
        match inside {
            [from, '-', to, rest @ ..] => {
                ranges.push((*from, *to));
                inside = rest;
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                inside = rest;
            }
            [] => return Some((Token::Class { negated, ranges }, after)),
        }
    }
}

fn is_match(tokens: &[Token], name: &[char]) -> bool {
    if name.first() == Some(&'.') && !matches!(tokens.first(), Some(Token::Character('.'))) {
        return false;
    }
    let (mut token, mut at) = (0, 0);
    // The position of the last star and how much it has matched. If a later token does not match,
    // only a longer match of this star can help.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        let is_next = match (tokens.get(token), name.get(at)) {
            (Some(Token::Many), _) => {
                star = Some((token, at));
                token += 1;
                continue;
            }
            (Some(Token::Any), Some(_)) => true,
            (Some(Token::Character(wanted)), Some(character)) => wanted == character,
            (Some(Token::Class { negated, ranges }), Some(character)) => {
                ranges.iter().any(|(from, to)| (from..=to).contains(&character)) != *negated
            }
            _ => false,
        };
        if is_next {
            (token, at) = (token + 1, at + 1);
        } else if let Some((after, taken)) = star {
            star = Some((after, taken + 1));
            (token, at) = (after + 1, taken + 1);
        } else {
            return false;
        }
    }
    tokens.get(token..).is_some_and(|rest| rest.iter().all(|it| matches!(it, Token::Many)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::parse(pattern).unwrap();
        let mut matched = pattern.start();
        for name in path.split('/') {
            matched = pattern.advance(&matched, name);
        }
        pattern.is_complete(&matched)
    }

    #[test]
    fn names_and_folders() {
        let rows = [
            ("a.txt", "a.txt", true),
            ("a.txt", "b/a.txt", false),
            ("*.txt", "a.txt", true),
            ("*.txt", "b/a.txt", false),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("?.txt", "é.txt", true),
            ("?.txt", "ab.txt", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("[a-cx].md", "b.md", true),
            ("[a-cx].md", "d.md", false),
            ("[!a-c].md", "d.md", true),
            ("[]x]", "]", true),
            ("[x", "[x", true),
            ("[", "[", true),
            ("**/*.md", "a.md", true),
            ("**/*.md", "x/y/z/a.md", true),
            ("**/*.md", "x/.git/a.md", false),
            ("**", "x/y", true),
            ("x/**", "x/y/z", true),
            ("x/**", "x", false),
            ("x/**/z/*.c", "x/z/a.c", true),
            ("x/**/z/*.c", "x/z/y/z/a.c", true),
            ("x/**/**/**/a", "x/y/a", true),
            ("./x//y", "x/y", true),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_nothing_takes_long() {
        for pattern in ["", "/etc/*", "..", "a/../b", &"x".repeat(2_000)] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
        let stars = "*a".repeat(400);
        assert!(!matches(&stars, &"a".repeat(399)));
        let folders = "**/a/".repeat(150) + "b";
        assert!(!matches(&folders, &"a/".repeat(2_000)));
    }
}
