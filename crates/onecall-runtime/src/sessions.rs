//! Namespaces that outlive a program.
//!
//! A session is a worker that stays. It ends when it was not used for a while, when its
//! process does not survive a program, or when it is reset. Whoever comes back to one that
//! ended unseen is told so once, before anything runs that counts on its variables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_core::{ClientId, Failure, SessionLimits, SessionRequest};
use onecall_engine::Session;
use tokio::sync::OwnedMutexGuard;

/// Characters of a session's name.
const LONGEST_NAME: usize = 100;

/// Ends that are remembered for whoever comes back.
const MAX_REMEMBERED: usize = 1000;

/// Whose session it is, and its name.
type Key = (ClientId, String);

/// All sessions of a gateway.
pub(crate) struct Sessions {
    limits: SessionLimits,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    open: HashMap<Key, Open>,
    /// Why sessions ended whose clients do not know it yet.
    ended: HashMap<Key, String>,
}

struct Open {
    session: Arc<tokio::sync::Mutex<Session>>,
    /// How often it was used.
    used: u64,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self { limits, state: Arc::default() }
    }

    /// Waits for a session until no other program runs in it. It is begun if there is none.
    pub(crate) async fn enter(&self, request: &SessionRequest) -> Result<Visit, Failure> {
        check_name(&request.name)?;
        let key = (request.client, request.name.clone());
        loop {
            let session = self.open(&key, request.reset)?;
            let mut held = Arc::clone(&session).lock_owned().await;
            let mut state = lock(&self.state);
            // It may have ended while we waited for it.
            let open = state.open.get_mut(&key).filter(|open| Arc::ptr_eq(&open.session, &session));
            let Some(open) = open else { continue };
            open.used += 1;
            if request.reset {
                *held = Session::default();
            }
            let (state, idle) = (Arc::clone(&self.state), self.limits.idle);
            return Ok(Visit { key, held: Some(held), state, idle });
        }
    }

    fn open(&self, key: &Key, reset: bool) -> Result<Arc<tokio::sync::Mutex<Session>>, Failure> {
        let mut state = lock(&self.state);
        let ended = state.ended.remove(key).filter(|_| !reset);
        if let Some(why) = ended {
            let message = format!(
                "session '{}' has ended: {why}. Its variables are gone and nothing was executed; \
                 run it again to begin a new session of that name",
                key.1
            );
            return Err(Failure::refused("SessionEnded", message));
        }
        if let Some(open) = state.open.get(key) {
            return Ok(Arc::clone(&open.session));
        }
        if state.open.len() >= self.limits.max {
            let mut own: Vec<_> =
                state.open.keys().filter(|it| it.0 == key.0).map(|it| it.1.as_str()).collect();
            own.sort_unstable();
            let message = format!(
                "there are {} sessions already, and no more are allowed; yours: {}",
                state.open.len(),
                if own.is_empty() { "none".to_owned() } else { own.join(", ") }
            );
            return Err(Failure::refused("SessionLimit", message));
        }
        let open = Open { session: Arc::default(), used: 0 };
        let session = Arc::clone(&open.session);
        state.open.insert(key.clone(), open);
        Ok(session)
    }
}

/// A program's stay in a session. A session that is not left in good order has ended.
pub(crate) struct Visit {
    key: Key,
    held: Option<OwnedMutexGuard<Session>>,
    state: Arc<Mutex<State>>,
    idle: Duration,
}

impl Visit {
    /// The session, as long as the visit lasts.
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.held.as_deref_mut()
    }

    /// Says if the session has ended with its program, which is what its client is told.
    pub(crate) fn leave(mut self) -> Option<String> {
        let session = self.held.take()?;
        if !session.is_alive() {
            lock(&self.state).open.remove(&self.key);
            return Some(format!("Session '{}' has ended: its variables are gone", self.key.1));
        }
        self.end_when_idle();
        None
    }

    fn end_when_idle(&self) {
        let used = |state: &State, key: &Key| state.open.get(key).map(|open| open.used);
        let (key, state, idle) = (self.key.clone(), Arc::downgrade(&self.state), self.idle);
        let before = used(&lock(&self.state), &key);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(state) = state.upgrade() else { return };
            let mut state = lock(&state);
            if used(&state, &key) == before {
                let why = format!("it was not used for {}", in_words(idle));
                state.end(key, why);
            }
        });
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if self.held.is_some() {
            let key = self.key.clone();
            lock(&self.state).end(key, "its last program was cancelled".to_owned());
        }
    }
}

impl State {
    fn end(&mut self, key: Key, why: String) {
        self.open.remove(&key);
        if self.ended.len() < MAX_REMEMBERED {
            self.ended.insert(key, why);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
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
