//! The open connections, and which of them is closed to make room for another.
//!
//! A connection is admitted when one of its requests is authorised (with the token, if there is
//! one). Connections that are not admitted yet never take the places of admitted ones. There are
//! few places for them, and fewer for those from one network; the oldest is closed for the next. So
//! a client that sends its request at once is admitted, however many silent connections there are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// How many connections of admitted clients are open at most.
pub(super) const MAX_ADMITTED: usize = 512;

/// How many connections are open at most that are not admitted.
const MAX_UNADMITTED: usize = 128;

/// How many connections from one network are open at most that are not admitted.
const MAX_UNADMITTED_PER_NETWORK: usize = 64;

/// All open connections.
#[derive(Default)]
pub(super) struct Connections {
    table: Mutex<ConnectionTable>,
}

#[derive(Default)]
struct ConnectionTable {
    open: HashMap<u64, ConnectionEntry>,
    next: u64,
}

struct ConnectionEntry {
    network: IpAddr,
    is_admitted: bool,
    /// Requests that have not been answered yet.
    requests: usize,
    /// When the connection was opened, or its last request was answered.
    since: Instant,
    closed: Arc<Notify>,
}

/// One connection, counted as open until this is dropped.
pub(super) struct HttpConnection {
    connections: Arc<Connections>,
    number: u64,
    network: IpAddr,
    has_received_request: AtomicBool,
    closed: Arc<Notify>,
}

/// A request that has not been answered yet. While it exists, its connection is in use.
pub(super) struct ActiveRequest(Arc<HttpConnection>);

/// Every place for admitted clients is taken by a connection in use.
pub(super) struct TooManyConnections;

impl Connections {
    /// Registers a new connection. Another one may be closed for it.
    pub fn open(self: &Arc<Self>, peer: IpAddr) -> Arc<HttpConnection> {
        let network = network(peer);
        let mut table = self.lock();
        let is_unadmitted = |entry: &ConnectionEntry| !entry.is_admitted;
        let is_of_same_network =
            |entry: &ConnectionEntry| is_unadmitted(entry) && entry.network == network;
        if table.count(is_of_same_network) >= MAX_UNADMITTED_PER_NETWORK {
            table.close_oldest(is_of_same_network);
        } else if table.count(is_unadmitted) >= MAX_UNADMITTED {
            table.close_oldest(is_unadmitted);
        }
        let number = table.next;
        table.next += 1;
        let closed = Arc::new(Notify::new());
        let entry = ConnectionEntry::new(network, Arc::clone(&closed));
        table.open.insert(number, entry);
        let has_received_request = AtomicBool::new(false);
        Arc::new(HttpConnection {
            connections: Arc::clone(self),
            number,
            network,
            has_received_request,
            closed,
        })
    }

    /// Closes the oldest connection that is not admitted, if there is one.
    pub fn close_oldest_unadmitted(&self) {
        self.lock().close_oldest(|entry| !entry.is_admitted);
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnection {
    /// Completes when this connection has to be closed.
    pub async fn closed(&self) {
        loop {
            self.closed.notified().await;
            // The connection may have been admitted in the meantime.
            if !self.connections.lock().open.contains_key(&self.number) {
                return;
            }
        }
    }

    /// Whether the head of a request has arrived.
    pub fn has_received_request(&self) -> bool {
        self.has_received_request.load(Ordering::Relaxed)
    }

    /// Registers a request that has arrived.
    pub fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.has_received_request.store(true, Ordering::Relaxed);
        if let Some(entry) = self.connections.lock().open.get_mut(&self.number) {
            entry.requests += 1;
        }
        ActiveRequest(Arc::clone(self))
    }
}

impl ActiveRequest {
    /// Admits the connection: it takes one of the places for admitted clients.
    pub fn admit(&self) -> Result<(), TooManyConnections> {
        let connection = &self.0;
        let mut table = connection.connections.lock();
        if table.open.get(&connection.number).is_some_and(|entry| entry.is_admitted) {
            return Ok(());
        }
        let is_idle = |entry: &ConnectionEntry| entry.is_admitted && entry.requests == 0;
        if table.count(|entry| entry.is_admitted) >= MAX_ADMITTED && !table.close_oldest(is_idle) {
            return Err(TooManyConnections);
        }
        let entry = table.open.entry(connection.number).or_insert_with(|| {
            let closed = Arc::clone(&connection.closed);
            ConnectionEntry { requests: 1, ..ConnectionEntry::new(connection.network, closed) }
        });
        entry.is_admitted = true;
        Ok(())
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if let Some(entry) = self.0.connections.lock().open.get_mut(&self.0.number) {
            entry.requests = entry.requests.saturating_sub(1);
            entry.since = Instant::now();
        }
    }
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.number);
    }
}

impl ConnectionEntry {
    fn new(network: IpAddr, closed: Arc<Notify>) -> Self {
        Self { network, is_admitted: false, requests: 0, since: Instant::now(), closed }
    }
}

impl ConnectionTable {
    fn count(&self, which: impl Fn(&ConnectionEntry) -> bool) -> usize {
        self.open.values().filter(|entry| which(entry)).count()
    }

    /// Closes the oldest of these connections; returns whether there was one.
    fn close_oldest(&mut self, which: impl Fn(&ConnectionEntry) -> bool) -> bool {
        let candidates = self.open.iter().filter(|(_, entry)| which(entry));
        let oldest = candidates.min_by_key(|(_, entry)| entry.since).map(|(number, _)| *number);
        let Some(entry) = oldest.and_then(|number| self.open.remove(&number)) else { return false };
        entry.closed.notify_one();
        true
    }
}

/// The network of an address. For IPv6 these are the first 64 bits, because a client usually has
/// all addresses below them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let first = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_open(connection: &HttpConnection) -> bool {
        connection.connections.lock().open.contains_key(&connection.number)
    }

    #[test]
    fn strangers_of_one_network_take_only_its_places() {
        let all = Arc::new(Connections::default());
        let other = all.open(address(1));
        let crowd: Vec<_> = (0..500).map(|_| all.open(address(2))).collect();
        let open = crowd.iter().filter(|it| is_open(it)).count();
        assert_eq!((is_open(&other), open), (true, MAX_UNADMITTED_PER_NETWORK));
        assert!(crowd.last().is_some_and(|newest| is_open(newest)));
    }

    #[test]
    fn strangers_of_many_networks_never_take_the_place_of_a_client() {
        let all = Arc::new(Connections::default());
        let client = all.open(address(1));
        assert!(client.begin_request().admit().is_ok());
        let crowd: Vec<_> = (0..=255).map(|last| all.open(address(last))).collect();
        assert!(is_open(&client));
        assert_eq!(crowd.iter().filter(|it| is_open(it)).count(), MAX_UNADMITTED);
    }

    #[test]
    fn an_idle_client_makes_place_and_a_busy_one_does_not() {
        let all = Arc::new(Connections::default());
        let idle = all.open(address(1));
        assert!(idle.begin_request().admit().is_ok());
        let ask = || {
            let connection = all.open(address(1));
            let active_request = connection.begin_request();
            (active_request.admit().is_ok(), active_request)
        };
        let busy: Vec<_> = (0..MAX_ADMITTED).map(|_| ask()).collect();
        assert!(busy.iter().all(|(admitted, _)| *admitted));
        assert!(!is_open(&idle));
        assert!(!ask().0, "all of them are in use");
    }

    #[test]
    fn a_stranger_that_asks_in_time_is_admitted() {
        let all = Arc::new(Connections::default());
        let late = all.open(address(1));
        all.close_oldest_unadmitted();
        assert!(!is_open(&late));
        assert!(late.begin_request().admit().is_ok());
        assert!(is_open(&late));
    }

    #[test]
    fn an_ipv6_network_is_one() {
        let one: IpAddr = "2001:db8:1:2:3::4".parse().unwrap();
        let two: IpAddr = "2001:db8:1:2:ffff::5".parse().unwrap();
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(network(one), network(two));
        assert_eq!(network(mapped), address(1));
    }
}
