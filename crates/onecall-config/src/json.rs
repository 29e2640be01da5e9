//! Parses JSON into a tree with positions: every value is first borrowed as a slice of the text,
//! and the start of the slice is the position of the value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::document::{MAX_DEPTH, Node, Position, Scalar, Value, too_deep};
use crate::error::Problem;

pub(crate) fn read(text: &str) -> Result<Node, Problem> {
    let raw: &RawValue = serde_json::from_str(text)
        .map_err(|error| syntax_problem(error_position(&error, text), &error))?;
    let mut reader = JsonReader { text, offset: 0, at: Position::START };
    reader.node(raw, 0)
}

struct JsonReader<'t> {
    text: &'t str,
    /// The last position. Values are visited in the order of the text, so each position is counted
    /// from the last one and not from the start.
    offset: usize,
    at: Position,
}

impl<'t> JsonReader<'t> {
    fn node(&mut self, raw: &'t RawValue, depth: usize) -> Result<Node, Problem> {
        let source = raw.get();
        let at = self.position_of(source);
        if depth > MAX_DEPTH {
            return Err(too_deep(at));
        }
        let invalid = |error: serde_json::Error| syntax_problem(at, &error);
        let value = match source.as_bytes().first() {
            Some(b'{') => {
                let entries: Entries<'t> = serde_json::from_str(source).map_err(invalid)?;
                let mut nodes = Vec::with_capacity(entries.0.len());
                for (key, value) in entries.0 {
                    nodes.push((self.node(key, depth + 1)?, self.node(value, depth + 1)?));
                }
                Value::Mapping(nodes)
            }
            Some(b'[') => {
                let items: Vec<&'t RawValue> = serde_json::from_str(source).map_err(invalid)?;
                let nodes: Result<_, _> =
                    items.into_iter().map(|item| self.node(item, depth + 1)).collect();
                Value::List(nodes?)
            }
            Some(b'"') => {
                Value::Scalar(Scalar::text(serde_json::from_str(source).map_err(invalid)?))
            }
            _ => Value::Scalar(Scalar::plain(source)),
        };
        Ok(Node { at, value })
    }

    /// The position of `slice`, which is part of the text and not before the previous slice.
    fn position_of(&mut self, slice: &str) -> Position {
        let offset = slice.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        for character in self.text.get(self.offset..offset).unwrap_or_default().chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.offset = offset.max(self.offset);
        self.at
    }
}

/// The keys and values of an object, repeated keys included.
struct Entries<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// Converts the position of a parser error, which counts bytes.
fn error_position(error: &serde_json::Error, text: &str) -> Position {
    let line = error.line().max(1);
    let content = text.split('\n').nth(line - 1).unwrap_or_default();
    let column = content.char_indices().take_while(|(byte, _)| *byte < error.column()).count();
    Position { line, column: column.max(1) }
}

fn syntax_problem(at: Position, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    // The position is already shown in front of the message.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    Problem::new(at, format!("not valid JSON: {message}"))
}
