//! The network between a client and a server, which can be cut: packets are lost silently, and neither side
//! sees an end of its connections.

use std::net::{SocketAddr, TcpStream};

use crate::relay::{Flow, Loss, Relay};

/// A port of this machine that leads to a server. It ends when this is dropped.
pub struct UnreliableLink(Relay);

impl UnreliableLink {
    /// Starts a link to this server.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        Self(Relay::start(move || TcpStream::connect(server).ok()))
    }

    /// Where clients connect instead of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Loses everything from now on. What was sent meanwhile arrives after [`restore`](Self::restore), as
    /// it does when it is sent again by the network.
    pub fn cut(&self) {
        self.0.set_flow(Flow::Stopped);
    }

    /// Ends a cut.
    pub fn restore(&self) {
        self.0.set_flow(Flow::Open);
    }

    /// Loses the answer to one commit, and closes its connection: the next commit on a connection on which this
    /// statement is sent from now on. A statement is sent once on each connection, when it is prepared.
    pub fn lose_commit_of(&self, statement: &str) {
        self.0.set_loss(Loss { first: statement.to_owned(), last: "COMMIT".to_owned() });
    }

    /// Whether the answer was lost that was to be lost.
    #[must_use]
    pub fn has_lost_commit(&self) -> bool {
        self.0.has_lost()
    }

    /// Closes all connections, so that both sides see it. New ones can be made.
    pub fn close_connections(&self) {
        self.0.close_connections();
    }
}
