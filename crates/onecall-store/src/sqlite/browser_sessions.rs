//! The sessions of browsers in SQLite.

use onecall_core::storage::{
    BrowserSession, BrowserSessions, MAX_BROWSER_SESSIONS_PER_USER, StoreError,
};
use onecall_core::{Digest, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::SqliteStore;
use super::users::to_sql_error;
use crate::rows::browser_sessions::{ProofColumns, SESSION_COLUMNS, read_session};

impl BrowserSessions for SqliteStore {
    fn put_browser_session(
        &self,
        session: &BrowserSession,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            transaction
                .execute("DELETE FROM browser_sessions WHERE ends_ms <= ?1", params![now.0])?;
            let insert = format!(
                "INSERT OR REPLACE INTO browser_sessions ({SESSION_COLUMNS})
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
            );
            let ProofColumns { token, groups, confirmed } =
                ProofColumns::new(&session.proof).map_err(to_sql_error)?;
            let (digest, user) = (session.digest.into_bytes(), session.user.as_str());
            let values = params![digest, user, session.ends.0, token, groups, confirmed];
            transaction.execute(&insert, values)?;
            transaction.execute(
                "DELETE FROM browser_sessions WHERE user = ?1 AND digest NOT IN
                 (SELECT digest FROM browser_sessions WHERE user = ?1
                  ORDER BY ends_ms DESC, digest = ?3 DESC LIMIT ?2)",
                params![user, MAX_BROWSER_SESSIONS_PER_USER, digest],
            )?;
            Ok(())
        })
    }

    fn browser_session(
        &self,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<Option<BrowserSession>, StoreError> {
        self.read_durable(|connection| {
            // The index reveals by its time at most how a digest begins, which helps to find no
            // secret.
            let query = format!(
                "SELECT {SESSION_COLUMNS} FROM browser_sessions WHERE digest = ?1 AND ends_ms > ?2"
            );
            let mut statement = connection.prepare_cached(&query)?;
            let values = params![digest.into_bytes(), now.0];
            statement.query_row(values, |row| read_session(row)).optional()
        })
    }

    fn remove_browser_session(&self, digest: &Digest) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            let delete = "DELETE FROM browser_sessions WHERE digest = ?1";
            transaction.execute(delete, params![digest.into_bytes()]).map(drop)
        })
    }
}
