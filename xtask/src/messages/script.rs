//! Finds messages in Python and JavaScript: the string literals, without comments and docstrings.
//! Literals side by side are one text, as in Python.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dependencies::read;

use super::kind::Kind;
use super::text::is_message;
use super::{Message, relative};

/// The language of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
}

impl Language {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "ts" => Some(Self::JavaScript),
            _ => None,
        }
    }
}

/// The scripts in a folder and the folders in it, sorted.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot list '{}': {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if Language::of(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The messages of a script.
pub(super) fn messages(path: &Path) -> Result<Vec<Message>, String> {
    let Some(language) = Language::of(path) else { return Ok(Vec::new()) };
    let file = relative(path);
    let message = |text| Message {
        kind: Kind::of_file(&file),
        file: file.clone(),
        place: String::new(),
        text,
    };
    let texts = literals(&read(path)?, language).into_iter();
    Ok(texts.filter(|text| is_message(text)).map(message).collect())
}

/// The texts of all literals of a script, in order.
fn literals(source: &str, language: Language) -> Vec<String> {
    let mut scanner = Scanner { rest: source, language };
    let mut literals: Vec<String> = Vec::new();
    // What precedes the next literal, without blanks and comments.
    let mut before = Before::Statement;
    let mut depth = 0_usize;
    while let Some(token) = scanner.token() {
        before = match token {
            Token::Blank => before,
            Token::Line if depth == 0 => Before::Statement,
            Token::Line => before,
            Token::Text(text) => match before {
                // A literal that begins a statement is a docstring.
                Before::Statement if language == Language::Python => Before::Docstring,
                Before::Docstring => Before::Docstring,
                Before::Literal if language == Language::Python => {
                    if let Some(last) = literals.last_mut() {
                        last.push_str(&text);
                    }
                    Before::Literal
                }
                _ => {
                    literals.push(text);
                    Before::Literal
                }
            },
            Token::Other(character) => {
                match character {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                // Letters before a quote are the prefix of a literal.
                match (before, character) {
                    (Before::Literal, 'f' | 'r' | 'b') if scanner.is_at_quote() => Before::Literal,
                    _ => Before::Code,
                }
            }
        };
    }
    literals
}

/// What comes before a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The beginning of a statement.
    Statement,
    Docstring,
    Literal,
    Code,
}

enum Token {
    /// Blanks or a comment.
    Blank,
    /// The end of a line.
    Line,
    Text(String),
    Other(char),
}

/// Splits a script into tokens.
struct Scanner<'a> {
    rest: &'a str,
    language: Language,
}

impl<'a> Scanner<'a> {
    fn token(&mut self) -> Option<Token> {
        let first = self.rest.chars().next()?;
        let is_python = self.language == Language::Python;
        if first == '\n' {
            self.take(1);
            return Some(Token::Line);
        }
        if first == '\\' && self.rest.starts_with("\\\n") {
            self.take(2);
            return Some(Token::Blank);
        }
        if first.is_whitespace() {
            self.take(first.len_utf8());
            return Some(Token::Blank);
        }
        if self.rest.starts_with(if is_python { "#" } else { "//" }) {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            return Some(Token::Blank);
        }
        if !is_python && self.rest.starts_with("/*") {
            self.take(self.rest.find("*/").map_or(self.rest.len(), |end| end + 2));
            return Some(Token::Blank);
        }
        if self.is_at_quote() {
            return Some(Token::Text(self.literal(first)));
        }
        self.take(first.len_utf8());
        Some(Token::Other(first))
    }

    fn is_at_quote(&self) -> bool {
        let is_template = self.language == Language::JavaScript && self.rest.starts_with('`');
        is_template || self.rest.starts_with(['"', '\''])
    }

    /// Takes a literal that begins with this quote, and returns the text between its quotes.
    fn literal(&mut self, quote: char) -> String {
        let tripled = String::from(quote).repeat(3);
        let is_tripled = self.language == Language::Python && self.rest.starts_with(&tripled);
        let quotes = if is_tripled { tripled } else { String::from(quote) };
        self.take(quotes.len());
        let mut text = String::new();
        while let Some(character) = self.rest.chars().next() {
            if self.rest.starts_with(&quotes) {
                self.take(quotes.len());
                break;
            }
            if quotes.len() == 1 && quote != '`' && character == '\n' {
                // No literal: an apostrophe in a regular expression.
                break;
            }
            if quote == '`' && self.rest.starts_with("${") {
                text.push_str(self.expression());
                continue;
            }
            text.push_str(self.take(character.len_utf8()));
            if character == '\\' {
                let escaped = self.rest.chars().next().map_or(0, char::len_utf8);
                text.push_str(self.take(escaped));
            }
        }
        text
    }

    /// Takes an expression in a template, with its braces.
    fn expression(&mut self) -> &'a str {
        let begin = self.rest;
        let mut depth = 0_usize;
        while let Some(token) = self.token() {
            match token {
                Token::Other('{') => depth += 1,
                Token::Other('}') => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                break;
            }
        }
        begin.get(..begin.len() - self.rest.len()).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, literals};

    #[test]
    fn python_has_literals_without_comments_and_docstrings() {
        let source = r#"
"""About the module."""
def f(x):  # "no text"
    """About the function."""
    if x:
        raise TypeError(
            f"{x!r} is 'no' number: "
            "write one \"more\""
        )
    return ['a b', """three
lines"""]
"#;
        let texts = literals(source, Language::Python);
        let expected = [r#"{x!r} is 'no' number: write one \"more\""#, "a b", "three\nlines"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn javascript_has_literals_and_templates() {
        let source = r#"
// don't read this: "no text"
"use strict";
/* nor 'this' */
throw new TypeError(`${name} takes ${many ? `at most ${most}` : "no"} arguments`);
const it = { key: 'isn\'t it' };
"#;
        let texts = literals(source, Language::JavaScript);
        let expected = [
            "use strict",
            r#"${name} takes ${many ? `at most ${most}` : "no"} arguments"#,
            r"isn\'t it",
        ];
        assert_eq!(texts, expected);
    }
}
