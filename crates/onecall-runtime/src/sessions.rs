//! Sessions: namespaces that outlive a program.
//!
//! A session is a worker that stays alive. It ends after an idle timeout, when its process does not
//! survive a program, or when it is reset. A client continues its session by name; if the session
//! ended between two programs, the next program that names it gets an error once, before anything
//! runs that depends on its variables. Clients that cannot be told apart continue a session by its
//! handle; when there are too many, the least recently used one ends to make room for a new one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::{
    ClientId, Failure, GatewayId, SessionHandle, SessionKey, SessionLimits, SessionRequest,
    UserName,
};
use onecall_engine::Session;
use tokio::sync::OwnedMutexGuard;

/// Longest name of a session, in characters.
const LONGEST_NAME: usize = 100;

/// The reason for ending an idle session when memory ran out.
const MEMORY_NEEDED: &str = "another program needed its memory";

/// How many ended sessions are remembered for clients that continue them by name.
const MAX_REMEMBERED: usize = 1000;

/// What identifies a session.
#[derive(Clone, PartialEq, Eq, Hash)]
enum SessionIdentity {
    Name(ClientId, String),
    /// A handle continues a session only for the user who began it.
    Handle(UserName, SessionHandle),
}

impl SessionIdentity {
    /// The session's name or handle, for messages to the client.
    fn as_str(&self) -> &str {
        match self {
            Self::Name(_, name) => name,
            Self::Handle(_, handle) => handle.as_str(),
        }
    }
}

/// What happens if the requested session does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Create,
    Fail,
}

/// All sessions of a gateway.
pub struct Sessions {
    limits: SessionLimits,
    /// The gateway that handles name, if there are several.
    gateway: Option<GatewayId>,
    table: Arc<Mutex<SessionTable>>,
}

#[derive(Default)]
struct SessionTable {
    open: HashMap<SessionIdentity, OpenSession>,
    /// Why sessions have ended, until the next program that names them gets this as an error.
    ended: HashMap<SessionIdentity, String>,
}

struct OpenSession {
    session: Arc<tokio::sync::Mutex<Session>>,
    /// How many programs have run in it.
    run_count: u64,
    last_used: Instant,
}

impl Sessions {
    /// Creates an empty set of sessions with these limits.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        Self { limits, gateway: None, table: Arc::default() }
    }

    /// The handles of sessions name this gateway: another one can tell whom a handle belongs to.
    #[must_use]
    pub fn at(self, gateway: Option<GatewayId>) -> Self {
        Self { gateway, ..self }
    }

    /// Waits until no other program runs in the session of this user, and leases it. A session that does not
    /// exist is created, unless it is requested by a handle.
    pub(crate) async fn acquire(
        &self,
        request: &SessionRequest,
        user: &UserName,
    ) -> Result<SessionLease, Failure> {
        let (key, if_missing, created) = match &request.session {
            SessionKey::Named { client, name } => {
                check_name(name)?;
                (SessionIdentity::Name(*client, name.clone()), IfMissing::Create, None)
            }
            SessionKey::New { name } => {
                check_name(name)?;
                let handle = new_handle().map_err(|error| {
                    let message = format!("cannot make a handle for a session: {error}");
                    Failure::refused("OSError", message)
                })?;
                let handle = match &self.gateway {
                    Some(gateway) => handle.at(gateway),
                    None => handle,
                };
                let key = SessionIdentity::Handle(user.clone(), handle.clone());
                (key, IfMissing::Create, Some(handle))
            }
            SessionKey::Handle(handle) => {
                check_name(handle.as_str())?;
                let key = SessionIdentity::Handle(user.clone(), handle.clone());
                (key, IfMissing::Fail, None)
            }
        };
        loop {
            let session = self.find_or_create(&key, if_missing, request.reset)?;
            let mut guard = Arc::clone(&session).lock_owned().await;
            let mut table = lock(&self.table);
            // The session may have ended while this program waited for it.
            let open = table.open.get_mut(&key).filter(|open| Arc::ptr_eq(&open.session, &session));
            let Some(open) = open else { continue };
            open.run_count += 1;
            if request.reset {
                *guard = Session::default();
            }
            let (table, idle) = (Arc::clone(&self.table), self.limits.idle);
            return Ok(SessionLease { key, created, guard: Some(guard), table, idle });
        }
    }

    fn find_or_create(
        &self,
        key: &SessionIdentity,
        if_missing: IfMissing,
        reset: bool,
    ) -> Result<Arc<tokio::sync::Mutex<Session>>, Failure> {
        let mut table = lock(&self.table);
        table.note_ended();
        let ended = table.ended.remove(key).filter(|_| !reset);
        if let Some(why) = ended {
            let message = format!(
                "session '{}' has ended: {why}. Its variables are gone and nothing was executed; \
                 run it again to begin a new session of that name",
                key.as_str()
            );
            return Err(Failure::refused("SessionEnded", message));
        }
        if let Some(open) = table.open.get(key) {
            return Ok(Arc::clone(&open.session));
        }
        if if_missing == IfMissing::Fail {
            let message = format!(
                "there is no session with the handle '{}': it has ended, or there never was one. \
                 Nothing was executed; give a name in its place to begin a new session",
                key.as_str()
            );
            return Err(Failure::refused("SessionUnknown", message));
        }
        if table.open.len() >= self.limits.max && !table.evict_idle_session() {
            return Err(table.limit_error(key));
        }
        let open = OpenSession { session: Arc::default(), run_count: 0, last_used: Instant::now() };
        let session = Arc::clone(&open.session);
        table.open.insert(key.clone(), open);
        Ok(session)
    }
}

/// A program's lease on a session. If it is dropped without [`Self::release`], the session ends.
pub(crate) struct SessionLease {
    key: SessionIdentity,
    /// The handle of a session that begins with this program.
    created: Option<SessionHandle>,
    guard: Option<OwnedMutexGuard<Session>>,
    table: Arc<Mutex<SessionTable>>,
    idle: Duration,
}

/// Whether a session goes on after its program has ended.
pub(crate) enum SessionStatus {
    /// The session goes on. For one that has just begun, `handle` continues it, if it has a handle.
    Alive { handle: Option<SessionHandle> },
    /// The session has ended with its program; `remark` says so to the client.
    Ended { remark: String },
}

impl SessionLease {
    /// The session, as long as the lease is held.
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.guard.as_deref_mut()
    }

    /// Gives the lease back.
    pub(crate) fn release(mut self) -> SessionStatus {
        // The lock is held until the end of this function: no other program may enter before it is
        // known whether the session lives.
        let session = self.guard.take();
        if !session.as_ref().is_some_and(|session| session.is_alive()) {
            lock(&self.table).open.remove(&self.key);
            let which = match &self.created {
                Some(_) => "The session".to_owned(),
                None => format!("Session '{}'", self.key.as_str()),
            };
            return SessionStatus::Ended {
                remark: format!("{which} has ended: its variables are gone"),
            };
        }
        self.end_when_idle();
        SessionStatus::Alive { handle: self.created.take() }
    }

    fn end_when_idle(&self) {
        let run_count = |table: &SessionTable, key: &SessionIdentity| {
            table.open.get(key).map(|open| open.run_count)
        };
        let (key, table, idle) = (self.key.clone(), Arc::downgrade(&self.table), self.idle);
        let before = {
            let mut table = lock(&self.table);
            if let Some(open) = table.open.get_mut(&key) {
                open.last_used = Instant::now();
            }
            run_count(&table, &key)
        };
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(table) = table.upgrade() else { return };
            let mut table = lock(&table);
            table.note_ended();
            if run_count(&table, &key) == before {
                let why = format!("it was not used for {}", in_words(idle));
                table.end(key, why);
            }
        });
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        if self.guard.is_some() {
            let key = self.key.clone();
            lock(&self.table).end(key, "its last program was cancelled".to_owned());
        }
    }
}

impl SessionTable {
    /// Notes the sessions that the engine has ended because another program needed their memory.
    fn note_ended(&mut self) {
        let was_ended =
            |open: &OpenSession| open.session.try_lock().is_ok_and(|it| it.was_evicted());
        let ended = self.open.iter().filter(|(_, open)| was_ended(open));
        let ended: Vec<SessionIdentity> = ended.map(|(key, _)| key.clone()).collect();
        for key in ended {
            self.end(key, MEMORY_NEEDED.to_owned());
        }
    }

    /// Ends a session. Only the ends of named sessions are remembered; a handle becomes unknown.
    fn end(&mut self, key: SessionIdentity, why: String) {
        self.open.remove(&key);
        if matches!(key, SessionIdentity::Name(..)) && self.ended.len() < MAX_REMEMBERED {
            self.ended.insert(key, why);
        }
    }

    /// Ends the least recently used idle session that has a handle, so that one client cannot keep
    /// all others from having sessions. Returns whether there was one.
    fn evict_idle_session(&mut self) -> bool {
        let idle = self.open.iter().filter(|(key, open)| {
            matches!(key, SessionIdentity::Handle(..)) && open.session.try_lock().is_ok()
        });
        let longest = idle.min_by_key(|(_, open)| open.last_used).map(|(key, _)| key.clone());
        longest.is_some_and(|key| self.open.remove(&key).is_some())
    }

    /// Why another session cannot begin.
    fn limit_error(&self, key: &SessionIdentity) -> Failure {
        let count = self.open.len();
        let client = match key {
            SessionIdentity::Name(client, _) => client,
            SessionIdentity::Handle(..) => {
                let message = format!(
                    "there are {count} sessions already, none of which can be ended for a new \
                     one, and no more are allowed; run it again later"
                );
                return Failure::refused("SessionLimit", message);
            }
        };
        let mut own: Vec<_> = self
            .open
            .keys()
            .filter_map(|it| match it {
                SessionIdentity::Name(owner, name) if owner == client => Some(name.as_str()),
                _ => None,
            })
            .collect();
        own.sort_unstable();
        let message = format!(
            "there are {count} sessions already, and no more are allowed; yours: {}",
            if own.is_empty() { "none".to_owned() } else { own.join(", ") }
        );
        Failure::refused("SessionLimit", message)
    }
}

fn lock(table: &Mutex<SessionTable>) -> MutexGuard<'_, SessionTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a handle from 128 bits of the operating system's random numbers.
fn new_handle() -> io::Result<SessionHandle> {
    let mut bits = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(SessionHandle::from_random(u128::from_ne_bytes(bits)))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let length = name.chars().count();
    let message = if name.trim().is_empty() {
        "the name of a session must not be empty".to_owned()
    } else if length > LONGEST_NAME {
        format!("the name of a session has at most {LONGEST_NAME} characters, not {length}")
    } else if name.chars().any(char::is_control) {
        "the name of a session must not have control characters".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::refused("ValueError", message))
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}
