//! The schema of the store and the migrations from older versions. A released migration is never
//! changed.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The application id that marks a file as a store: `once` in ASCII.
const APPLICATION_ID: i64 = 0x6f6e_6365;

/// The migrations from each version to the next. A released one is never changed.
const MIGRATIONS: [&str; 13] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
    include_str!("schema/9.sql"),
    include_str!("schema/10.sql"),
    include_str!("schema/11.sql"),
    include_str!("schema/12.sql"),
    include_str!("schema/13.sql"),
];

/// Why a file cannot be used.
pub(super) enum SchemaError {
    /// The file belongs to another program.
    Foreign,
    /// The file was written by a newer onecall.
    Newer { found: i64, known: i64 },
    /// SQLite reported an error.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for SchemaError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The schema version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Migrates the file to the schema of this program.
pub(super) fn migrate(connection: &Connection) -> Result<(), SchemaError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    // The version is checked again inside the transaction: another process may have migrated the
    // file.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let done = usize::try_from(version_within(&transaction)?).unwrap_or(0);
    for statements in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(statements)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// The schema version of a store; 0 for an empty file. All values are read in one transaction:
/// otherwise another process could prepare the file in between, and the mixed values would look
/// like those of another program.
pub(super) fn version(connection: &Connection) -> Result<i64, SchemaError> {
    version_within(&connection.unchecked_transaction()?)
}

fn version_within(connection: &Transaction<'_>) -> Result<i64, SchemaError> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, found) = (number("application_id")?, number("user_version")?);
    // This reads the schema too, so a truncated file is detected.
    let entries: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID {
        let is_empty = application == 0 && found == 0 && entries == 0;
        return if is_empty { Ok(0) } else { Err(SchemaError::Foreign) };
    }
    if found > VERSION {
        return Err(SchemaError::Newer { found, known: VERSION });
    }
    if found < 1 { Err(SchemaError::Foreign) } else { Ok(found) }
}
