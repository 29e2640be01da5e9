//! Locks of secrets for all processes that share the database. They are advisory locks of one connection
//! that is only for locks: a task that holds a lock while it waits for an authorization server takes no
//! connection from the pool, and the locks of a process that dies are released with its connection.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use onecall_core::DigestBuilder;
use onecall_core::storage::{SecretLock, StoreError, UserSecretKey};
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_postgres::{Client, Config};

use super::connections::Connections;
use super::error::QueryError;
use super::waiting::wait;

/// Marks locks of secrets among the advisory locks of a database: `onlk` in ASCII.
const CLASS: i32 = 0x6f6e_6c6b;

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(7);

/// A connection that had no lock for so long is closed.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// Lets the database notice within seconds that the machine of a connection is gone.
const KEEPALIVES: &str =
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2";

/// The locks that this process has.
pub(super) struct SecretLocks {
    connections: Arc<Connections>,
    session: Arc<Mutex<Option<Arc<LockSession>>>>,
}

/// The connection that has the locks.
struct LockSession {
    client: Client,
    runtime: Handle,
    state: Mutex<SessionState>,
}

struct SessionState {
    /// The numbers that are locked. The database would let this process lock them once more.
    locked: HashSet<i32>,
    last_used: Instant,
}

impl SecretLocks {
    pub(super) fn new(connections: Arc<Connections>) -> Self {
        Self { connections, session: Arc::default() }
    }

    /// Locks a secret, unless it is locked already.
    pub(super) fn try_lock(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<Box<dyn SecretLock>>, StoreError> {
        let Some(runtime) = self.connections.runtime() else { return Ok(None) };
        // A new connection needs a runtime to be driven by, wherever this is called.
        let _context = runtime.enter();
        let done = wait(self.lock_number(number(key), runtime), PATIENCE);
        let done = done.unwrap_or(Err(QueryError::NoAnswer));
        if done.is_err() {
            // It is not known whether the connection has the lock.
            self.session().take();
        }
        done.map_err(|error| self.connections.store_error(error))
    }

    async fn lock_number(
        &self,
        number: i32,
        runtime: &Handle,
    ) -> Result<Option<Box<dyn SecretLock>>, QueryError> {
        let known = self.session().clone().filter(|session| !session.client.is_closed());
        let session = match known {
            Some(session) => session,
            None => self.connect(runtime).await?,
        };
        if !session.mark(number) {
            return Ok(None);
        }
        // Removes the mark again if there is no answer.
        let mut attempt = Attempt { session: &session, number, is_locked: false };
        let query = "SELECT pg_try_advisory_lock($1, $2)";
        let row = session.client.query_one(query, &[&CLASS, &number]).await?;
        attempt.is_locked = row.try_get(0)?;
        let is_locked = attempt.is_locked;
        drop(attempt);
        Ok(is_locked.then(|| Box::new(LockedNumber { session, number }) as Box<dyn SecretLock>))
    }

    async fn connect(&self, runtime: &Handle) -> Result<Arc<LockSession>, QueryError> {
        let keep_alive = |config: &mut Config| {
            let options = format!("{} {KEEPALIVES}", config.get_options().unwrap_or_default());
            config.options(options);
        };
        let (client, connection) = self.connections.connector().connect(keep_alive).await?;
        runtime.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("the connection for locks of the store has ended: {error}");
            }
        });
        let state = SessionState { locked: HashSet::new(), last_used: Instant::now() };
        let session =
            Arc::new(LockSession { client, runtime: runtime.clone(), state: Mutex::new(state) });
        *self.session() = Some(Arc::clone(&session));
        runtime.spawn(close_when_idle(Arc::downgrade(&session), Arc::clone(&self.session)));
        Ok(session)
    }

    fn session(&self) -> MutexGuard<'_, Option<Arc<LockSession>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockSession {
    /// Notes that a number is being locked; returns whether it was not noted before.
    fn mark(&self, number: i32) -> bool {
        let mut state = self.state();
        state.last_used = Instant::now();
        state.locked.insert(number)
    }

    fn unmark(&self, number: i32) {
        self.state().locked.remove(&number);
    }

    fn is_idle(&self) -> bool {
        let state = self.state();
        state.locked.is_empty() && state.last_used.elapsed() >= IDLE_TIME
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a connection that has not been used for a while.
async fn close_when_idle(
    session: Weak<LockSession>,
    current: Arc<Mutex<Option<Arc<LockSession>>>>,
) {
    loop {
        sleep(IDLE_TIME).await;
        let Some(session) = session.upgrade() else { return };
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        if session.is_idle() {
            // Another connection may have replaced it.
            current.take_if(|it| Arc::ptr_eq(it, &session));
            return;
        }
    }
}

/// An attempt to lock a number.
struct Attempt<'a> {
    session: &'a LockSession,
    number: i32,
    is_locked: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_locked {
            self.session.unmark(self.number);
        }
    }
}

/// A lock of a secret.
struct LockedNumber {
    session: Arc<LockSession>,
    number: i32,
}

impl SecretLock for LockedNumber {}

impl Drop for LockedNumber {
    fn drop(&mut self) {
        let (session, number) = (Arc::clone(&self.session), self.number);
        self.session.runtime.spawn(async move {
            let statement = "SELECT pg_advisory_unlock($1, $2)";
            // If the connection has ended, so has the lock.
            _ = session.client.query_one(statement, &[&CLASS, &number]).await;
            session.unmark(number);
        });
    }
}

/// The number of the lock of a secret. Secrets with equal numbers only wait for each other.
fn number(key: &UserSecretKey) -> i32 {
    let mut digest = DigestBuilder::default();
    [key.user.as_str(), key.kind.name(), &key.name].iter().for_each(|it| digest.add_part(it));
    let [a, b, c, d, ..] = digest.finish().into_bytes();
    i32::from_le_bytes([a, b, c, d])
}
