//! Reads the columns of SQLite's rows.

use rusqlite::Row;
use rusqlite::types::Type;

use crate::rows::Columns;

impl Columns for Row<'_> {
    type Error = rusqlite::Error;

    fn text(&self, column: usize) -> rusqlite::Result<String> {
        self.get(column)
    }

    fn optional_text(&self, column: usize) -> rusqlite::Result<Option<String>> {
        self.get(column)
    }

    fn number(&self, column: usize) -> rusqlite::Result<i64> {
        self.get(column)
    }

    fn optional_number(&self, column: usize) -> rusqlite::Result<Option<i64>> {
        self.get(column)
    }

    fn flag(&self, column: usize) -> rusqlite::Result<bool> {
        self.get(column)
    }

    fn optional_flag(&self, column: usize) -> rusqlite::Result<Option<bool>> {
        self.get(column)
    }

    fn bytes(&self, column: usize) -> rusqlite::Result<Vec<u8>> {
        self.get(column)
    }

    fn optional_bytes(&self, column: usize) -> rusqlite::Result<Option<Vec<u8>>> {
        self.get(column)
    }

    fn malformed(column: usize) -> rusqlite::Error {
        rusqlite::Error::InvalidColumnType(column, "a malformed value".to_owned(), Type::Text)
    }
}
