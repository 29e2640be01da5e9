//! Writes a tree as JSON or YAML in any of the ways people write them.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

/// A document before it is written.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// A number, a boolean or null, never in quotes.
    Word(String),
    Text(String),
    List(Vec<Tree>),
    Mapping(Vec<(String, Tree)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Flow,
    Block,
}

/// How to write, decided at random and then followed: each decision takes the next of
/// the choices.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    format: Format,
    choices: Vec<usize>,
    next: usize,
    newline: &'static str,
}

pub(crate) fn style() -> impl Strategy<Value = Style> {
    let format = prop_oneof![Just(Format::Json), Just(Format::Flow), Just(Format::Block)];
    let newline = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    (format, vec(0..60_usize, 1..20), newline).prop_map(|(format, choices, newline)| Style {
        format,
        choices,
        next: 0,
        newline,
    })
}

impl Style {
    pub(crate) fn write(mut self, tree: &Tree) -> String {
        let mut text = String::new();
        match self.format {
            Format::Json | Format::Flow => self.flow(tree, &mut text),
            Format::Block => self.block(tree, 0, &mut text),
        }
        text + self.newline
    }

    fn choose(&mut self, options: usize) -> usize {
        self.next += 1;
        self.choices.get(self.next % self.choices.len()).copied().unwrap_or_default() % options
    }

    fn flow(&mut self, tree: &Tree, out: &mut String) {
        match tree {
            Tree::Word(word) => out.push_str(word),
            Tree::Text(text) => self.text(text, out),
            Tree::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.separator(index, out);
                    self.flow(item, out);
                }
                self.space(out);
                out.push(']');
            }
            Tree::Mapping(entries) => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    self.separator(index, out);
                    self.text(key, out);
                    out.push_str(": ");
                    self.flow(value, out);
                }
                self.space(out);
                out.push('}');
            }
        }
    }

    fn separator(&mut self, index: usize, out: &mut String) {
        if index > 0 {
            out.push(',');
        }
        self.space(out);
    }

    fn space(&mut self, out: &mut String) {
        match self.choose(4) {
            0 => out.push(' '),
            1 => {
                out.push_str(self.newline);
                // Further right than any block that this may be inside of.
                out.push_str(&" ".repeat(if self.format == Format::Block { 60 } else { 2 }));
            }
            2 if self.format == Format::Json => out.push('\t'),
            _ => {}
        }
    }

    /// At the start of a line, or after a key or a dash; what is deeper is indented.
    fn block(&mut self, tree: &Tree, indent: usize, out: &mut String) {
        match tree {
            Tree::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.line(indent, out);
                    }
                    out.push_str("- ");
                    self.block(item, indent + 2, out);
                }
            }
            Tree::Mapping(entries) if !entries.is_empty() => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        self.line(indent, out);
                    }
                    self.text(key, out);
                    out.push(':');
                    let is_nested = match value {
                        Tree::List(items) => !items.is_empty(),
                        Tree::Mapping(entries) => !entries.is_empty(),
                        Tree::Word(_) | Tree::Text(_) => false,
                    };
                    if is_nested && self.choose(5) > 0 {
                        let deeper = indent + 1 + self.choose(4);
                        self.line(deeper, out);
                        self.block(value, deeper, out);
                    } else {
                        out.push(' ');
                        self.flow(value, out);
                    }
                }
            }
            _ => self.flow(tree, out),
        }
    }

    /// Begins a line, perhaps with an empty one or a comment before it.
    fn line(&mut self, indent: usize, out: &mut String) {
        match self.choose(8) {
            0 => out.push_str(self.newline),
            1 => out.push_str(" # a 'comment: {"),
            _ => {}
        }
        out.push_str(self.newline);
        out.push_str(&" ".repeat(indent));
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let is_printable = |character: char| {
            matches!(character, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
                && !matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}')
        };
        match self.choose(3) {
            0 if self.format != Format::Json && is_plain(text) => out.push_str(text),
            1 if self.format != Format::Json && text.chars().all(is_printable) => {
                let _ = write!(out, "'{}'", text.replace('\'', "''"));
            }
            _ if self.format == Format::Json => {
                out.push_str(&serde_json::Value::from(text).to_string())
            }
            _ => {
                out.push('"');
                for character in text.chars() {
                    match character {
                        '"' | '\\' => out.extend(['\\', character]),
                        '\n' => out.push_str("\\n"),
                        '\t' => out.push_str("\\t"),
                        character if is_printable(character) => out.push(character),
                        character => {
                            let _ = write!(out, "\\U{:08x}", u32::from(character));
                        }
                    }
                }
                out.push('"');
            }
        }
    }
}

/// Whether YAML reads `text` without quotes as that text.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '_'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c))
        && !matches!(text.to_lowercase().as_str(), "null" | "true" | "false")
}
