//! The clients that can answer requests of servers. A server learns the client's capabilities when
//! it starts, which may be before the client has connected.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{Abilities, Caller};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the start of a server waits for the expected client. A client that starts the gateway
/// connects at once; if it does not, all capabilities are announced.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a request of a server waits for the expected client.
const QUESTION_PATIENCE: Duration = Duration::from_secs(10);

/// The clients of a gateway, as its servers see them. Clones share one state.
#[derive(Clone)]
pub struct Audience(Arc<watch::Sender<State>>);

enum State {
    Nobody,
    Expected,
    Several,
    One(Arc<Caller>),
}

impl Default for Audience {
    /// No client: servers learn that no requests can be answered.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::Nobody)))
    }
}

impl Audience {
    /// Announces that one client will connect. Must be called before the servers' tasks first run.
    pub fn expect_one(&self) {
        self.0.send_replace(State::Expected);
    }

    /// Announces that any number of clients may connect and disconnect. Must be called before the
    /// servers' tasks first run.
    pub fn expect_several(&self) {
        self.0.send_replace(State::Several);
    }

    /// Sets the client that was expected. With several clients this has no effect: the capabilities
    /// of each go with its calls.
    pub fn introduce(&self, client: Arc<Caller>) {
        self.0.send_if_modified(|state| match state {
            State::Several => false,
            _ => {
                *state = State::One(client);
                true
            }
        });
    }

    /// Whether there is no client and will never be one.
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(*self.0.borrow(), State::Nobody)
    }

    /// The client capabilities to announce to a server.
    pub(crate) async fn abilities(&self) -> Abilities {
        self.settle(PATIENCE).await;
        match &*self.0.borrow() {
            State::Nobody => Abilities::default(),
            State::Expected | State::Several => Abilities::all(),
            State::One(client) => client.abilities.clone(),
        }
    }

    /// The client, if there is exactly one.
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
        // This object holds the sender, so there is no error; a timeout is a valid result.
        let _ = timeout(patience, come).await;
    }
}
