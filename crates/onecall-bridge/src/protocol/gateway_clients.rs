//! The clients that can answer requests of servers. A server learns the client's capabilities when
//! it starts, which may be before the client has connected.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{Caller, CallerCapabilities};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the start of a server waits for the expected client. A client that starts the gateway
/// connects at once; if it does not, all capabilities are announced.
const START_CLIENT_WAIT: Duration = Duration::from_secs(1);

/// How long a request of a server waits for the expected client.
const QUESTION_CLIENT_WAIT: Duration = Duration::from_secs(10);

/// The clients of a gateway, as its servers see them. Clones share one state.
#[derive(Clone)]
pub struct GatewayClients(Arc<watch::Sender<ClientPresence>>);

enum ClientPresence {
    NoClient,
    OneExpected,
    Several,
    Connected(Arc<Caller>),
}

impl Default for GatewayClients {
    /// No client: servers learn that no requests can be answered.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(ClientPresence::NoClient)))
    }
}

impl GatewayClients {
    /// Announces that one client will connect. Must be called before the servers' tasks first run.
    pub fn expect_one(&self) {
        self.0.send_replace(ClientPresence::OneExpected);
    }

    /// Announces that any number of clients may connect and disconnect. Must be called before the
    /// servers' tasks first run.
    pub fn expect_several(&self) {
        self.0.send_replace(ClientPresence::Several);
    }

    /// Sets the client that was expected. With several clients this has no effect: the capabilities
    /// of each go with its calls.
    pub fn set_client(&self, client: Arc<Caller>) {
        self.0.send_if_modified(|state| match state {
            ClientPresence::Several => false,
            _ => {
                *state = ClientPresence::Connected(client);
                true
            }
        });
    }

    /// Whether there is no client and will never be one.
    pub(crate) fn expects_no_client(&self) -> bool {
        matches!(*self.0.borrow(), ClientPresence::NoClient)
    }

    /// The client capabilities to announce to a server.
    pub(crate) async fn capabilities(&self) -> CallerCapabilities {
        self.wait_for_expected_client(START_CLIENT_WAIT).await;
        match &*self.0.borrow() {
            ClientPresence::NoClient => CallerCapabilities::default(),
            ClientPresence::OneExpected | ClientPresence::Several => CallerCapabilities::all(),
            ClientPresence::Connected(client) => client.capabilities.clone(),
        }
    }

    /// The client, if there is exactly one.
    pub(crate) async fn only_client(&self) -> Option<Arc<Caller>> {
        self.wait_for_expected_client(QUESTION_CLIENT_WAIT).await;
        match &*self.0.borrow() {
            ClientPresence::Connected(client) => Some(Arc::clone(client)),
            ClientPresence::NoClient | ClientPresence::OneExpected | ClientPresence::Several => {
                None
            }
        }
    }

    async fn wait_for_expected_client(&self, limit: Duration) {
        let mut state = self.0.subscribe();
        let arrived = state.wait_for(|state| !matches!(state, ClientPresence::OneExpected));
        // This object holds the sender, so there is no error; a timeout is a valid result.
        let _ = timeout(limit, arrived).await;
    }
}
