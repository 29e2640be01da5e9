//! Inspects a database without changing it.

use onecall_core::Secret;
use onecall_core::storage::StoreError;

use super::connections::Connections;
use super::migrations;
use crate::rows::Columns;

/// The state of a store in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseInspection {
    /// The address of the database without its password.
    pub address: String,
    /// The version of PostgreSQL.
    pub server_version: String,
    /// The version of its schema; `None` if it is created when it is first used.
    pub version: Option<i64>,
    /// The schema version that this program writes, to which an older one is migrated.
    pub newest: i64,
}

/// Inspects the store in the database at `url`.
///
/// # Errors
/// If the database cannot be reached, or its store cannot be used.
pub fn inspect_database(url: &Secret) -> Result<DatabaseInspection, StoreError> {
    let connections = Connections::new(url)?;
    let (server_version, version) = connections.inspect(async |queries| {
        let shown = queries.query_optional("SHOW server_version", &[]).await?;
        let shown = shown.map(|row| row.text(0)).transpose()?;
        Ok((shown.unwrap_or_default(), migrations::version(queries).await?))
    })?;
    let (address, newest) = (connections.shown().to_owned(), migrations::VERSION);
    Ok(DatabaseInspection { address, server_version, version, newest })
}
