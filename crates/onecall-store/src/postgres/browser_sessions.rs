//! The sessions of browsers in PostgreSQL.

use onecall_core::storage::{
    BrowserSession, BrowserSessions, MAX_BROWSER_SESSIONS_PER_USER, StoreError,
};
use onecall_core::{Digest, Timestamp};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::columns::Text;
use crate::rows::browser_sessions::{ProofColumns, SESSION_COLUMNS, read_session};

impl BrowserSessions for PostgresStore {
    fn put_browser_session(
        &self,
        session: &BrowserSession,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write_durably(None, async |queries| {
            let ended = "DELETE FROM browser_sessions WHERE ends_ms <= $1";
            queries.execute(ended, &[&now.0]).await?;
            let insert = format!(
                "INSERT INTO browser_sessions ({SESSION_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (digest) DO UPDATE SET \"user\" = excluded.\"user\",
                 ends_ms = excluded.ends_ms, token = excluded.token, groups = excluded.groups,
                 confirmed_ms = excluded.confirmed_ms"
            );
            let ProofColumns { token, groups, confirmed } = ProofColumns::new(&session.proof)?;
            let digest = session.digest.into_bytes();
            let (digest, user) = (digest.as_slice(), session.user.as_str());
            let groups = groups.as_deref().map(Text);
            let values: [&(dyn ToSql + Sync); 6] =
                [&digest, &user, &session.ends.0, &token, &groups, &confirmed];
            queries.execute(&insert, &values).await?;
            let most = i64::from(MAX_BROWSER_SESSIONS_PER_USER);
            let surplus = "DELETE FROM browser_sessions WHERE \"user\" = $1 AND digest NOT IN
                (SELECT digest FROM browser_sessions WHERE \"user\" = $1
                 ORDER BY ends_ms DESC, digest = $3 DESC LIMIT $2)";
            queries.execute(surplus, &[&user, &most, &digest]).await.map(drop)
        })
    }

    fn browser_session(
        &self,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<Option<BrowserSession>, StoreError> {
        self.read(async |queries| {
            // The index reveals by its time at most how a digest begins, which helps to find no
            // secret.
            let query = format!(
                "SELECT {SESSION_COLUMNS} FROM browser_sessions WHERE digest = $1 AND ends_ms > $2"
            );
            let digest = digest.into_bytes();
            let row = queries.query_optional(&query, &[&digest.as_slice(), &now.0]).await?;
            row.as_ref().map(read_session).transpose()
        })
    }

    fn remove_browser_session(&self, digest: &Digest) -> Result<(), StoreError> {
        self.write_durably(None, async |queries| {
            let delete = "DELETE FROM browser_sessions WHERE digest = $1";
            queries.execute(delete, &[&digest.into_bytes().as_slice()]).await.map(drop)
        })
    }
}
