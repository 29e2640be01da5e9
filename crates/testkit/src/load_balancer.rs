//! A load balancer that knows nothing of HTTP: each connection goes to the next server that accepts one.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::relay::Relay;

/// A load balancer at a port of this machine. It ends when this is dropped.
pub struct LoadBalancer(Relay);

impl LoadBalancer {
    /// Starts a load balancer in front of these servers.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn start(servers: Vec<SocketAddr>) -> Self {
        let next = AtomicUsize::new(0);
        Self(Relay::start(move || {
            let first = next.fetch_add(1, Ordering::Relaxed) % servers.len().max(1);
            let (before, after) = servers.split_at(first);
            after.iter().chain(before).find_map(|server| TcpStream::connect(server).ok())
        }))
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}
