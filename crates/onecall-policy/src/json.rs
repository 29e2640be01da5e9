//! Reads the arguments of a call as JSON, more strictly than other parsers: an object with the same
//! key twice is an error, because a server may use the other value, and a number stays the text that
//! was written, because Cedar must not see another number than the server.

use std::borrow::Cow;
use std::collections::HashSet;

use thiserror::Error;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Boolean(bool),
    /// A number as it was written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Why arguments cannot be shown to policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum JsonError {
    #[error("the arguments have the same key twice in one object")]
    DuplicateKey,
    #[error("the arguments are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("the arguments have a text that is not valid Unicode")]
    InvalidText,
    #[error("the arguments are not valid JSON")]
    Invalid,
}

/// Reads a complete JSON text.
pub(crate) fn parse(text: &str) -> Result<Json<'_>, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(MAX_DEPTH)?;
    reader.skip_space();
    if reader.at == text.len() { Ok(value) } else { Err(JsonError::Invalid) }
}

struct Reader<'a> {
    text: &'a str,
    /// The next byte. It is never inside of a character.
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips space and then this byte, if it is there.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(JsonError::Invalid);
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.skip_space();
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Boolean(true)),
            Some(b'f') => self.word("false", Json::Boolean(false)),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'[' | b'{') if depth == 0 => Err(JsonError::TooDeep),
            Some(b'[') => self.list(depth - 1),
            Some(b'{') => self.object(depth - 1),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            _ => Err(JsonError::Invalid),
        }
    }

    fn number(&mut self) -> Json<'a> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        Json::Number(self.text.get(start..self.at).unwrap_or_default())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut has_escapes = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(JsonError::Invalid),
            }
        }
        self.at += 1;
        if !has_escapes {
            let inner = self.text.get(start + 1..self.at - 1).ok_or(JsonError::Invalid)?;
            return Ok(Cow::Borrowed(inner));
        }
        let quoted = self.text.get(start..self.at).ok_or(JsonError::Invalid)?;
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| JsonError::InvalidText)
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return Err(JsonError::Invalid);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(JsonError::Invalid);
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(JsonError::Invalid);
            }
            let value = self.value(depth)?;
            entries.push((key, value));
            if self.take(b'}') {
                break;
            }
            if !self.take(b',') {
                return Err(JsonError::Invalid);
            }
        }
        let mut keys = HashSet::with_capacity(entries.len());
        match entries.iter().all(|(key, _)| keys.insert(key)) {
            true => Ok(Json::Object(entries)),
            false => Err(JsonError::DuplicateKey),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The value as another parser has it.
    fn value_of(json: &Json<'_>) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Boolean(truth) => json!(truth),
            Json::Number(text) => serde_json::from_str(text).unwrap(),
            Json::Text(text) => json!(text),
            Json::List(items) => items.iter().map(value_of).collect(),
            Json::Object(entries) => {
                entries.iter().map(|(key, value)| (key.to_string(), value_of(value))).collect()
            }
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|entries| entries.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_other_parsers_read(value in any_json(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            prop_assert_eq!(value_of(&parse(&text).unwrap()), serde_json::from_str::<Value>(&text).unwrap());
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\[\\]{}\",:\\\\ud8\u{e4}ntrue0-9.e+ -]{0,40}") {
            if let Ok(read) = parse(&text)
                && let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(value_of(&read), value);
            }
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let deep = format!("{}1{}", "[".repeat(129), "]".repeat(129));
        for (text, error) in [
            (r#"{"a": 1, "a": 1}"#, JsonError::DuplicateKey),
            (r#"{"a": 1, "\u0061": 2}"#, JsonError::DuplicateKey),
            (r#"{"b": [{"c": {"a": 1, "a": 1}}]}"#, JsonError::DuplicateKey),
            (r#"{"a": "\ud800"}"#, JsonError::InvalidText),
            (&deep, JsonError::TooDeep),
            ("{} {}", JsonError::Invalid),
            ("{\"a\"", JsonError::Invalid),
            ("[1,]", JsonError::Invalid),
            ("\"\\", JsonError::Invalid),
            ("NaN", JsonError::Invalid),
            ("", JsonError::Invalid),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        assert_eq!(parse(" 1e400 "), Ok(Json::Number("1e400")));
        assert!(parse(r#"{"a": {"b": 1}, "A": {"b": 1}}"#).is_ok());
    }
}
