//! The schema of the store and the migrations from older versions. A released migration is never
//! changed. A migration only adds, because gateways of the version before use the schema until they are
//! stopped.

use std::time::Duration;

use deadpool_postgres::ClientWrapper;

use super::address::SCHEMA;
use super::error::QueryError;
use super::transaction::{self, Commit, Exclusive, Queries, TransactionKind};

/// How long a migration waits for a lock before it lets others go first.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '1s'";

/// How often a migration is tried while others hold a lock, and the pause in between.
const ATTEMPTS: u32 = 20;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(200);

/// The migrations from each version to the next.
const MIGRATIONS: [&str; 6] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];

/// The schema version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Whether the database has the schema of this program.
pub(super) async fn is_current(client: &ClientWrapper) -> Result<bool, QueryError> {
    let none = (TransactionKind::None, Commit::default());
    let read_version = async |queries: &Queries<'_>| version(queries).await;
    let found = transaction::execute(client, none.0, &none.1, read_version).await?;
    Ok(found == Some(VERSION))
}

/// Migrates the database to the schema of this program. If another process uses or migrates what has to be
/// changed, it is tried again some times; the pauses let other gateways work.
pub(super) async fn migrate(client: &ClientWrapper) -> Result<(), QueryError> {
    let mut attempts = 1;
    loop {
        match migrate_once(client).await {
            Err(error) if error.is_lock_held() && attempts < ATTEMPTS => {
                attempts += 1;
                tokio::time::sleep(ATTEMPT_PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Migrates the database version by version, each in a transaction of its own.
async fn migrate_once(client: &ClientWrapper) -> Result<(), QueryError> {
    let (durable, commit) = (TransactionKind::DurableWrite, Commit::default());
    while !transaction::execute(client, durable, &commit, migrate_one_version).await? {}
    Ok(())
}

/// Migrates the database to the next version; returns whether there is none.
async fn migrate_one_version(queries: &Queries<'_>) -> Result<bool, QueryError> {
    // To rewrite a large table takes longer than other statements may. To wait for a table would hold up all
    // that come after.
    queries.batch(&format!("SET LOCAL statement_timeout = 0; {LOCK_TIMEOUT}")).await?;
    // Another process may be migrating it: the version is read again when that has ended.
    queries.lock(Exclusive::Schema).await?;
    let found = version(queries).await?;
    if found.is_none() {
        create(queries).await?;
    }
    let done = found.unwrap_or(0);
    let next = usize::try_from(done).ok().and_then(|done| MIGRATIONS.get(done));
    let Some(statements) = next else { return Ok(true) };
    queries.batch(statements).await?;
    queries.execute("UPDATE version SET number = $1", &[&(done + 1)]).await?;
    Ok(done + 1 == VERSION)
}

/// Creates the schema, and its version 0.
async fn create(queries: &Queries<'_>) -> Result<(), QueryError> {
    // A schema that an administrator has created needs no right to create one.
    if !queries.exists("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&SCHEMA]).await? {
        queries.batch(&format!("CREATE SCHEMA {SCHEMA}")).await?;
    }
    queries
        .batch(
            "CREATE TABLE version (number BIGINT NOT NULL);
             INSERT INTO version (number) VALUES (0)",
        )
        .await
}

/// The version of the schema; `None` if there is none yet.
pub(super) async fn version(queries: &Queries<'_>) -> Result<Option<i64>, QueryError> {
    let table = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'version'";
    if !queries.exists(table, &[&SCHEMA]).await? {
        return Ok(None);
    }
    let found = queries.query_number("SELECT number FROM version", &[]).await?;
    match found > VERSION {
        true => Err(QueryError::Newer { found, known: VERSION }),
        false => Ok(Some(found)),
    }
}
