//! The open connections, and which of them is closed to make room for another.
//!
//! A connection is a stranger until one of its requests is authorised (with the token, if there is
//! one). Strangers never take the places of admitted connections. There are few places for
//! strangers, and fewer for those from one network; the oldest stranger is closed for the next. So
//! a client that sends its request at once is admitted, however many silent connections there are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// How many connections of admitted clients are open at most.
pub(super) const MAX_ADMITTED: usize = 512;

/// How many connections of strangers are open at most.
const MAX_STRANGERS: usize = 128;

/// How many connections of strangers from one network are open at most.
const MAX_STRANGERS_OF_NETWORK: usize = 64;

/// All open connections.
#[derive(Default)]
pub(super) struct Connections {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    open: HashMap<u64, Entry>,
    next: u64,
}

struct Entry {
    network: IpAddr,
    is_admitted: bool,
    /// Requests that have not been answered yet.
    requests: usize,
    /// When the connection was opened, or its last request was answered.
    since: Instant,
    closed: Arc<Notify>,
}

/// One connection, counted as open until this is dropped.
pub(super) struct Connection {
    all: Arc<Connections>,
    number: u64,
    network: IpAddr,
    has_asked: AtomicBool,
    closed: Arc<Notify>,
}

/// A request that has not been answered yet. While it exists, its connection is in use.
pub(super) struct Asking(Arc<Connection>);

/// Every place for admitted clients is taken by a connection in use.
pub(super) struct Full;

impl Connections {
    /// Registers a new connection. Another one may be closed for it.
    pub fn open(self: &Arc<Self>, peer: IpAddr) -> Arc<Connection> {
        let network = network(peer);
        let mut table = self.lock();
        let is_stranger = |entry: &Entry| !entry.is_admitted;
        let is_neighbour = |entry: &Entry| is_stranger(entry) && entry.network == network;
        if table.count(is_neighbour) >= MAX_STRANGERS_OF_NETWORK {
            table.close_oldest(is_neighbour);
        } else if table.count(is_stranger) >= MAX_STRANGERS {
            table.close_oldest(is_stranger);
        }
        let number = table.next;
        table.next += 1;
        let closed = Arc::new(Notify::new());
        let entry = Entry::new(network, Arc::clone(&closed));
        table.open.insert(number, entry);
        let has_asked = AtomicBool::new(false);
        Arc::new(Connection { all: Arc::clone(self), number, network, has_asked, closed })
    }

    /// Closes the oldest connection of a stranger, if there is one.
    pub fn shed(&self) {
        self.lock().close_oldest(|entry| !entry.is_admitted);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Completes when this connection has to be closed.
    pub async fn closed(&self) {
        loop {
            self.closed.notified().await;
            // The connection may have been admitted in the meantime.
            if !self.all.lock().open.contains_key(&self.number) {
                return;
            }
        }
    }

    /// Whether the head of a request has arrived.
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// Registers a request that has arrived.
    pub fn ask(self: &Arc<Self>) -> Asking {
        self.has_asked.store(true, Ordering::Relaxed);
        if let Some(entry) = self.all.lock().open.get_mut(&self.number) {
            entry.requests += 1;
        }
        Asking(Arc::clone(self))
    }
}

impl Asking {
    /// Admits the connection: it does not count as a stranger any more.
    pub fn admit(&self) -> Result<(), Full> {
        let connection = &self.0;
        let mut table = connection.all.lock();
        if table.open.get(&connection.number).is_some_and(|entry| entry.is_admitted) {
            return Ok(());
        }
        let is_idle = |entry: &Entry| entry.is_admitted && entry.requests == 0;
        if table.count(|entry| entry.is_admitted) >= MAX_ADMITTED && !table.close_oldest(is_idle) {
            return Err(Full);
        }
        let entry = table.open.entry(connection.number).or_insert_with(|| {
            let closed = Arc::clone(&connection.closed);
            Entry { requests: 1, ..Entry::new(connection.network, closed) }
        });
        entry.is_admitted = true;
        Ok(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(entry) = self.0.all.lock().open.get_mut(&self.0.number) {
            entry.requests = entry.requests.saturating_sub(1);
            entry.since = Instant::now();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().open.remove(&self.number);
    }
}

impl Entry {
    fn new(network: IpAddr, closed: Arc<Notify>) -> Self {
        Self { network, is_admitted: false, requests: 0, since: Instant::now(), closed }
    }
}

impl Table {
    fn count(&self, which: impl Fn(&Entry) -> bool) -> usize {
        self.open.values().filter(|entry| which(entry)).count()
    }

    /// Closes the oldest of these connections; returns whether there was one.
    fn close_oldest(&mut self, which: impl Fn(&Entry) -> bool) -> bool {
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

    fn is_open(connection: &Connection) -> bool {
        connection.all.lock().open.contains_key(&connection.number)
    }

    #[test]
    fn strangers_of_one_network_take_only_its_places() {
        let all = Arc::new(Connections::default());
        let other = all.open(address(1));
        let crowd: Vec<_> = (0..500).map(|_| all.open(address(2))).collect();
        let open = crowd.iter().filter(|it| is_open(it)).count();
        assert_eq!((is_open(&other), open), (true, MAX_STRANGERS_OF_NETWORK));
        assert!(crowd.last().is_some_and(|newest| is_open(newest)));
    }

    #[test]
    fn strangers_of_many_networks_never_take_the_place_of_a_client() {
        let all = Arc::new(Connections::default());
        let client = all.open(address(1));
        assert!(client.ask().admit().is_ok());
        let crowd: Vec<_> = (0..=255).map(|last| all.open(address(last))).collect();
        assert!(is_open(&client));
        assert_eq!(crowd.iter().filter(|it| is_open(it)).count(), MAX_STRANGERS);
    }

    #[test]
    fn an_idle_client_makes_place_and_a_busy_one_does_not() {
        let all = Arc::new(Connections::default());
        let idle = all.open(address(1));
        assert!(idle.ask().admit().is_ok());
        let ask = || {
            let connection = all.open(address(1));
            let asking = connection.ask();
            (asking.admit().is_ok(), asking)
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
        all.shed();
        assert!(!is_open(&late));
        assert!(late.ask().admit().is_ok());
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
