//! The clients that can answer requests of servers. A server learns the client's capabilities when
//! it starts, which may be before the client has connected. A request that belongs to a call goes to the
//! client of the call; what is decided here concerns the others.

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
    /// The clients of one user that are connected, each with the number of its registration.
    OfUser(Vec<(u64, Arc<Caller>)>),
}

/// A client of a user that is connected, until this is dropped.
pub struct ClientRegistration {
    clients: GatewayClients,
    number: u64,
}

impl Drop for ClientRegistration {
    fn drop(&mut self) {
        self.clients.0.send_if_modified(|state| match state {
            ClientPresence::OfUser(clients) => {
                clients.retain(|(number, _)| *number != self.number);
                true
            }
            _ => false,
        });
    }
}

impl Default for GatewayClients {
    /// No client: servers learn that no requests can be answered.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(ClientPresence::NoClient)))
    }
}

impl GatewayClients {
    /// The clients of one user, who may have any number of them.
    #[must_use]
    pub fn of_user() -> Self {
        Self(Arc::new(watch::Sender::new(ClientPresence::OfUser(Vec::new()))))
    }

    /// Registers a client of the user until the returned object is dropped. While it is the only one,
    /// it answers requests of the user's own servers that belong to no call. Without effect unless
    /// these are the clients of one user.
    #[must_use]
    pub fn register(&self, client: Arc<Caller>) -> ClientRegistration {
        let mut registered = 0;
        self.0.send_if_modified(|state| match state {
            ClientPresence::OfUser(clients) => {
                registered = clients.last().map_or(0, |(number, _)| number + 1);
                clients.push((registered, client));
                true
            }
            _ => false,
        });
        ClientRegistration { clients: self.clone(), number: registered }
    }

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
            ClientPresence::Several | ClientPresence::OfUser(_) => false,
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
            ClientPresence::OneExpected | ClientPresence::Several | ClientPresence::OfUser(_) => {
                CallerCapabilities::all()
            }
            ClientPresence::Connected(client) => client.capabilities.clone(),
        }
    }

    /// The client, if there is exactly one.
    pub(crate) async fn only_client(&self) -> Option<Arc<Caller>> {
        self.wait_for_expected_client(QUESTION_CLIENT_WAIT).await;
        match &*self.0.borrow() {
            ClientPresence::Connected(client) => Some(Arc::clone(client)),
            ClientPresence::OfUser(clients) => match clients.as_slice() {
                [(_, client)] => Some(Arc::clone(client)),
                _ => None,
            },
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

#[cfg(test)]
mod tests {
    use onecall_core::ClientId;

    use super::*;

    fn client(id: u64) -> Arc<Caller> {
        Arc::new(Caller::silent(ClientId(id)))
    }

    async fn only(clients: &GatewayClients) -> Option<ClientId> {
        clients.only_client().await.map(|client| client.client)
    }

    #[tokio::test]
    async fn the_only_client_of_a_user_is_the_one_that_is_left() {
        let clients = GatewayClients::of_user();
        assert_eq!(only(&clients).await, None);
        let first = clients.register(client(1));
        assert_eq!(only(&clients).await, Some(ClientId(1)));
        let second = clients.register(client(2));
        assert_eq!(only(&clients).await, None);
        drop(first);
        assert_eq!(only(&clients).await, Some(ClientId(2)));
        let third = clients.register(client(3));
        drop(second);
        assert_eq!(only(&clients).await, Some(ClientId(3)));
        drop(third);
        assert_eq!(only(&clients).await, None);
    }

    #[tokio::test]
    async fn clients_of_different_users_are_never_the_only_one() {
        let clients = GatewayClients::default();
        clients.expect_several();
        let _registration = clients.register(client(1));
        clients.set_client(client(1));
        assert_eq!(only(&clients).await, None);
    }
}
