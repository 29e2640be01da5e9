//! The schema of the store and the migrations from older versions. A released migration is never
//! changed. A migration only adds, because gateways of the version before use the schema until they are
//! stopped.

use deadpool_postgres::ClientWrapper;

use super::address::SCHEMA;
use super::error::QueryError;
use super::transaction::{self, Exclusive, Queries, TransactionKind};

/// The migrations from each version to the next.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// The schema version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Migrates the database to the schema of this program.
pub(super) async fn migrate(client: &ClientWrapper) -> Result<(), QueryError> {
    let read_version = async |queries: &Queries<'_>| version(queries).await;
    let found = transaction::execute(client, TransactionKind::None, None, read_version).await?;
    if found == Some(VERSION) {
        return Ok(());
    }
    let durable = TransactionKind::DurableWrite;
    transaction::execute(client, durable, None, async |queries| {
        // Another process may be migrating it: the version is read again when that has ended.
        queries.lock(Exclusive::Schema).await?;
        let found = version(queries).await?;
        if found.is_none() {
            create(queries).await?;
        }
        let done = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
        for statements in MIGRATIONS.iter().skip(done) {
            queries.batch(statements).await?;
        }
        queries.execute("UPDATE version SET number = $1", &[&VERSION]).await.map(drop)
    })
    .await
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
