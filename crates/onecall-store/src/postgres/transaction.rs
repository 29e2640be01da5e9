//! Transactions, and queries in them.

use std::cell::Cell;

use deadpool_postgres::ClientWrapper;
use onecall_core::Digest;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::error::QueryError;

/// The channel on which changes are announced.
pub(super) const CHANNEL: &str = "onecall_changes";

/// How queries belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    /// Each query is by itself.
    None,
    /// All queries see the same moment, and nothing is written.
    Snapshot,
    /// The transaction is on disk some time after its commit.
    Write,
    /// The transaction is on disk when it is committed.
    DurableWrite,
}

impl TransactionKind {
    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::DurableWrite)
    }

    fn begin(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Snapshot => Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
            Self::Write => {
                Some("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off")
            }
            Self::DurableWrite => {
                Some("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on")
            }
        }
    }
}

/// Something that at most one transaction at a time changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exclusive<'a> {
    Schema,
    Audit,
    Users,
    UserSecrets,
    Shape(&'a str),
    Pins(&'a str),
    /// The questions of a run, which may not be stored itself.
    Questions(&'a str),
}

impl Exclusive<'_> {
    /// The two numbers of the lock. The first marks the locks of onecall: `once` in ASCII.
    fn numbers(self) -> (i32, i32) {
        let number = match self {
            Self::Schema => 1,
            Self::Audit => 2,
            Self::Users => 3,
            Self::UserSecrets => 4,
            // Equal numbers of different things only make one wait for the other.
            Self::Shape(key) | Self::Pins(key) | Self::Questions(key) => {
                let [a, b, c, d, ..] = Digest::of(key).into_bytes();
                i32::from_le_bytes([a, b, c, d])
            }
        };
        (0x6f6e_6365, number)
    }
}

/// Queries on one connection. Their statements are prepared once for each connection.
pub(super) struct Queries<'a>(&'a ClientWrapper);

impl Queries<'_> {
    pub(super) async fn execute(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, QueryError> {
        let statement = self.0.prepare_cached(statement).await?;
        Ok(self.0.execute(&statement, values).await?)
    }

    pub(super) async fn query(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, QueryError> {
        let statement = self.0.prepare_cached(statement).await?;
        Ok(self.0.query(&statement, values).await?)
    }

    /// The only row of a result, or nothing.
    pub(super) async fn query_optional(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, QueryError> {
        let statement = self.0.prepare_cached(statement).await?;
        Ok(self.0.query_opt(&statement, values).await?)
    }

    /// The number in the only column of the only row of a result.
    pub(super) async fn query_number(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<i64, QueryError> {
        let statement = self.0.prepare_cached(statement).await?;
        Ok(self.0.query_one(&statement, values).await?.try_get(0)?)
    }

    /// Whether a query has a result.
    pub(super) async fn exists(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<bool, QueryError> {
        Ok(!self.query(statement, values).await?.is_empty())
    }

    /// Waits until no other transaction has this lock, and takes it until the end of the transaction.
    pub(super) async fn lock(&self, what: Exclusive<'_>) -> Result<(), QueryError> {
        let (class, number) = what.numbers();
        self.query("SELECT pg_advisory_xact_lock($1, $2)", &[&class, &number]).await?;
        Ok(())
    }

    /// Executes statements without parameters.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), QueryError> {
        Ok(self.0.batch_execute(statements).await?)
    }
}

/// How a transaction ends.
#[derive(Default)]
pub(super) struct Commit {
    /// What is sent to other processes with it.
    pub(super) notification: Option<String>,
    /// Whether the statement that commits it was sent.
    pub(super) is_sent: Cell<bool>,
}

/// Executes `work` in a transaction of this kind. If the work fails, everything is taken back.
pub(super) async fn execute<T>(
    client: &ClientWrapper,
    kind: TransactionKind,
    commit: &Commit,
    work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let queries = Queries(client);
    let Some(begin) = kind.begin() else { return work(&queries).await };
    queries.batch(begin).await?;
    match work(&queries).await {
        Ok(done) => {
            commit.is_sent.set(kind.writes());
            queries.batch(&commit.statement()).await?;
            Ok(done)
        }
        Err(error) => {
            // If the connection has ended, so has the transaction.
            _ = queries.batch("ROLLBACK").await;
            Err(error)
        }
    }
}

impl Commit {
    /// The statement that ends the transaction. A notification consists of letters, digits and spaces.
    fn statement(&self) -> String {
        match &self.notification {
            Some(payload) => format!("NOTIFY {CHANNEL}, '{payload}'; COMMIT"),
            None => "COMMIT".to_owned(),
        }
    }
}
