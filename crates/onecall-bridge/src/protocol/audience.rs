//! Who is there to answer what servers ask. Servers are told of it when they start, which
//! may be before anybody has come.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{Abilities, Caller};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a server's start waits for the client that is expected. A client that starts
/// us speaks at once; for one that does not, everything that can be asked is announced.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a question waits for the client that is expected.
const QUESTION_PATIENCE: Duration = Duration::from_secs(10);

/// The clients of a gateway, as its servers see them. Clones share one audience.
#[derive(Clone)]
pub struct Audience(Arc<watch::Sender<State>>);

enum State {
    Nobody,
    Expected,
    Several,
    One(Arc<Caller>),
}

impl Default for Audience {
    /// Nobody: servers are told that nothing can be asked.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::Nobody)))
    }
}

impl Audience {
    /// One client is about to come. To be said before the servers' tasks first run.
    pub fn expect_one(&self) {
        self.0.send_replace(State::Expected);
    }

    /// Any number of clients may come and go. To be said before the servers' tasks first
    /// run.
    pub fn expect_several(&self) {
        self.0.send_replace(State::Several);
    }

    /// The client that was expected has come. One of several is not introduced: what it
    /// can be asked goes with its calls.
    pub fn introduce(&self, client: Arc<Caller>) {
        self.0.send_if_modified(|state| match state {
            State::Several => false,
            _ => {
                *state = State::One(client);
                true
            }
        });
    }

    /// Whether there is no client and never will be.
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(*self.0.borrow(), State::Nobody)
    }

    /// What to tell a server that can be asked.
    pub(crate) async fn abilities(&self) -> Abilities {
        self.settle(PATIENCE).await;
        match &*self.0.borrow() {
            State::Nobody => Abilities::default(),
            State::Expected | State::Several => Abilities::all(),
            State::One(client) => client.abilities.clone(),
        }
    }

    /// The only client there is.
    pub(crate) async fn only_client(&self) -> Option<Arc<Caller>> {
        self.settle(QUESTION_PATIENCE).await;
        match &*self.0.borrow() {
            State::One(client) => Some(Arc::clone(client)),
            State::Nobody | State::Expected | State::Several => None,
        }
    }

    async fn settle(&self, patience: Duration) {
        let mut state = self.0.subscribe();
        let come = state.wait_for(|state| !matches!(state, State::Expected));
        // We hold the sender, so there is no error; that nobody came in time is an answer.
        let _ = timeout(patience, come).await;
    }
}
