//! How rows become values: the columns that are selected, in their order, and what is made of them.
//! The names of the columns are the same in every database.

pub(crate) mod answers;
pub(crate) mod audit;
pub(crate) mod browser_sessions;
pub(crate) mod durable_runs;
pub(crate) mod figures;
pub(crate) mod gateways;
pub(crate) mod grants;
pub(crate) mod journals;
pub(crate) mod query;
pub(crate) mod questions;
pub(crate) mod run_query;
pub(crate) mod runs;
pub(crate) mod user_secrets;
pub(crate) mod users;

/// A row of a query result. The columns are numbered from 0.
pub(crate) trait Columns {
    /// The error of the database for a column that cannot be read.
    type Error;

    fn text(&self, column: usize) -> Result<String, Self::Error>;

    fn optional_text(&self, column: usize) -> Result<Option<String>, Self::Error>;

    fn number(&self, column: usize) -> Result<i64, Self::Error>;

    fn optional_number(&self, column: usize) -> Result<Option<i64>, Self::Error>;

    fn flag(&self, column: usize) -> Result<bool, Self::Error>;

    fn optional_flag(&self, column: usize) -> Result<Option<bool>, Self::Error>;

    fn bytes(&self, column: usize) -> Result<Vec<u8>, Self::Error>;

    fn optional_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The error for a value that this program never writes into the column.
    fn malformed(column: usize) -> Self::Error;

    /// Bytes of a fixed length.
    fn array<const LENGTH: usize>(&self, column: usize) -> Result<[u8; LENGTH], Self::Error> {
        self.bytes(column)?.try_into().map_err(|_| Self::malformed(column))
    }

    /// A value that is stored as JSON.
    fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, Self::Error> {
        serde_json::from_str(&self.text(column)?).map_err(|_| Self::malformed(column))
    }
}
