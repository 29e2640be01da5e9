//! Reads the columns of PostgreSQL's rows, and writes texts. PostgreSQL cannot store a NUL character,
//! which a program or a server may well send, so texts are stored in a form that has none.

use std::borrow::Cow;
use std::error::Error as StdError;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::error::QueryError;
use crate::rows::Columns;

/// Begins the two characters that stand for one that cannot be stored, or for itself.
const ESCAPE: char = '\u{10ffff}';
const NUL: char = '0';
const ESCAPE_ITSELF: char = '1';

/// A text of any characters.
#[derive(Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl<'a> Text<'a> {
    pub(super) fn optional(text: Option<&'a String>) -> Option<Self> {
        text.map(|text| Self(text))
    }
}

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        buffer: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        escape(self.0).as_ref().to_sql(kind, buffer)
    }

    fn accepts(kind: &Type) -> bool {
        <&str as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// The stored form of a text.
fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => escaped.extend([ESCAPE, NUL]),
            ESCAPE => escaped.extend([ESCAPE, ESCAPE_ITSELF]),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// The text with this stored form.
pub(super) fn unescape(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => text.push(if characters.next() == Some(NUL) { '\0' } else { ESCAPE }),
            other => text.push(other),
        }
    }
    text
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, QueryError> {
    Ok(row.try_get(column)?)
}

impl Columns for Row {
    type Error = QueryError;

    fn text(&self, column: usize) -> Result<String, QueryError> {
        get(self, column).map(unescape)
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, QueryError> {
        get::<Option<String>>(self, column).map(|text| text.map(unescape))
    }

    fn number(&self, column: usize) -> Result<i64, QueryError> {
        get(self, column)
    }

    fn optional_number(&self, column: usize) -> Result<Option<i64>, QueryError> {
        get(self, column)
    }

    fn flag(&self, column: usize) -> Result<bool, QueryError> {
        get(self, column)
    }

    fn optional_flag(&self, column: usize) -> Result<Option<bool>, QueryError> {
        get(self, column)
    }

    fn bytes(&self, column: usize) -> Result<Vec<u8>, QueryError> {
        get(self, column)
    }

    fn optional_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, QueryError> {
        get(self, column)
    }

    fn malformed(column: usize) -> QueryError {
        QueryError::Malformed { column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_can_be_stored_and_comes_back() {
        for text in ["", "plain", "\0", "a\0b\u{10ffff}", "\u{10ffff}0", "\u{10ffff}\u{10ffff}\0"] {
            let stored = escape(text).into_owned();
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(unescape(stored), text);
        }
        assert!(matches!(escape("plain"), Cow::Borrowed("plain")));
    }
}
