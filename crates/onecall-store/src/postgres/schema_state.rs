//! What this process knows about the schema of a database. One call at a time migrates it; a migration that
//! has failed is not tried again by each of the calls that follow.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::QueryError;

/// How long calls wait for one that migrates. Then they fail, and can be tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(7);

/// How long after a failed migration calls fail without another attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// What is known about the schema of a database.
#[derive(Default)]
pub(super) struct SchemaState {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
enum Progress {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// A call looks at the schema, or migrates it.
    Migrating,
    /// The migration has failed for a reason that was not the way to the database.
    Failed { reason: String, is_temporary: bool, at: Instant },
    /// The schema is up to date.
    Done,
}

impl SchemaState {
    /// Executes `migrate`, unless it has succeeded before.
    pub(super) fn migrated(
        &self,
        migrate: impl FnOnce() -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let is_migrating = |progress: &mut Progress| matches!(progress, Progress::Migrating);
        let waited = self.changed.wait_timeout_while(progress, LONGEST_WAIT, is_migrating);
        let mut progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        match &*progress {
            Progress::Done => return Ok(()),
            Progress::Migrating => {
                let reason = "that is under way and takes long".to_owned();
                return Err(QueryError::NotMigrated { reason, is_temporary: true });
            }
            Progress::Failed { reason, is_temporary, at } if at.elapsed() < RETRY_PAUSE => {
                let (reason, is_temporary) = (reason.clone(), *is_temporary);
                return Err(QueryError::NotMigrated { reason, is_temporary });
            }
            Progress::Failed { .. } | Progress::Unknown => *progress = Progress::Migrating,
        }
        drop(progress);
        let mut migrating = MigratingCall { state: self, end: Progress::Unknown };
        let done = migrate();
        migrating.end = match &done {
            Ok(()) => Progress::Done,
            Err(QueryError::Newer { .. }) => Progress::Unknown,
            Err(error) if error.is_temporary() => Progress::Unknown,
            Err(error) => Progress::Failed {
                reason: error.to_string(),
                is_temporary: error.is_lock_held(),
                at: Instant::now(),
            },
        };
        done
    }
}

/// The call that migrates. Others are not held up if it ends in an unexpected way.
struct MigratingCall<'a> {
    state: &'a SchemaState,
    end: Progress,
}

impl Drop for MigratingCall<'_> {
    fn drop(&mut self) {
        let mut progress = self.state.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = std::mem::take(&mut self.end);
        drop(progress);
        self.state.changed.notify_all();
    }
}
