//! The schema, and how an older one becomes it.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Marks a file as ours: `once` in ASCII.
const APPLICATION: i64 = 0x6f6e_6365;

/// What leads from each version to the next. One that was released is never changed.
const STEPS: [&str; 4] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// Why a file is not used as it is.
pub(super) enum Refused {
    /// It belongs to another program.
    Foreign,
    /// A later onecall has written it.
    Newer { found: i64, known: i64 },
    /// SQLite has trouble with it.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The version this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Brings the file up to the schema of this program.
pub(super) fn migrate(connection: &Connection) -> Result<(), Refused> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Looked at again inside: another process may have been faster.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let done = usize::try_from(version_within(&transaction)?).unwrap_or(0);
    for statements in STEPS.iter().skip(done) {
        transaction.execute_batch(statements)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// The version of a file that is ours, or empty. All of it is seen at one moment: between
/// two of them another process may prepare the file, which would look like a stranger's.
pub(super) fn version(connection: &Connection) -> Result<i64, Refused> {
    version_within(&connection.unchecked_transaction()?)
}

fn version_within(connection: &Transaction<'_>) -> Result<i64, Refused> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, found) = (number("application_id")?, number("user_version")?);
    // Reads the schema, too, so that a file that ends too early shows itself.
    let entries: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION {
        let is_empty = application == 0 && found == 0 && entries == 0;
        return if is_empty { Ok(0) } else { Err(Refused::Foreign) };
    }
    if found > VERSION {
        return Err(Refused::Newer { found, known: VERSION });
    }
    if found < 1 { Err(Refused::Foreign) } else { Ok(found) }
}
