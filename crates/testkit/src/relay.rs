//! Joins connections: what arrives on one is sent on the other, until that is stopped.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

const BUFFER: usize = 64 * 1024;

/// A port of this machine. Each connection to it is joined with one to a server.
pub(crate) struct Relay {
    address: SocketAddr,
    gate: Arc<Gate>,
}

/// Whether bytes are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// They are.
    Open,
    /// They stay where they are, and so do the ends of connections.
    Stopped,
    /// The relay has ended.
    Ended,
}

/// Which answer is lost: the one to `last`, on the first connection on which a client has sent `first` before.
/// The server gets what it answers; then the connection is closed.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) first: String,
    pub(crate) last: String,
}

/// How far a connection is on its way to the answer that is lost.
#[derive(Default)]
struct LossProgress {
    has_sent_first: AtomicBool,
    is_next_lost: AtomicBool,
}

/// The state that all connections of a relay share.
struct Gate {
    flow: Mutex<Flow>,
    changed: Condvar,
    /// Both sides of each connection.
    joined: Mutex<HashMap<u64, [TcpStream; 2]>>,
    /// The answer that is lost, if one is.
    loss: Mutex<Option<Loss>>,
    next: AtomicU64,
}

impl Relay {
    /// Starts a relay. For each connection, `connect` makes the one that it is joined with; without one, it
    /// is closed.
    pub(crate) fn start(connect: impl Fn() -> Option<TcpStream> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let gate = Arc::new(Gate {
            flow: Mutex::new(Flow::Open),
            changed: Condvar::new(),
            joined: Mutex::default(),
            loss: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let (of_thread, connect) = (Arc::clone(&gate), Arc::new(connect));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if *lock(&of_thread.flow) == Flow::Ended {
                    return;
                }
                let (gate, connect) = (Arc::clone(&of_thread), Arc::clone(&connect));
                thread::spawn(move || {
                    if gate.wait_until_open()
                        && let Some(server) = connect()
                    {
                        gate.join(stream, server);
                    }
                });
            }
        });
        Self { address, gate }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set_flow(&self, flow: Flow) {
        *lock(&self.gate.flow) = flow;
        self.gate.changed.notify_all();
    }

    /// Loses one answer, once.
    pub(crate) fn set_loss(&self, loss: Loss) {
        *lock(&self.gate.loss) = Some(loss);
    }

    /// Whether no answer is to be lost any more.
    pub(crate) fn has_lost(&self) -> bool {
        lock(&self.gate.loss).is_none()
    }

    /// Closes all connections. New ones can be made.
    pub(crate) fn close_connections(&self) {
        for stream in lock(&self.gate.joined).values().flatten() {
            // The connection may have ended by itself.
            _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set_flow(Flow::Ended);
        self.close_connections();
        // The thread that accepts connections sees that the relay has ended.
        _ = TcpStream::connect(self.address);
    }
}

impl Gate {
    /// Waits until bytes are passed on; `false` if the relay has ended.
    fn wait_until_open(&self) -> bool {
        let flow = self.changed.wait_while(lock(&self.flow), |flow| *flow == Flow::Stopped);
        *flow.unwrap_or_else(PoisonError::into_inner) == Flow::Open
    }

    fn join(&self, client: TcpStream, server: TcpStream) {
        let clones =
            |stream: &TcpStream| Some([stream.try_clone().ok()?, stream.try_clone().ok()?]);
        let Some(([mut from_client, of_client], [mut from_server, of_server])) =
            clones(&client).zip(clones(&server))
        else {
            return;
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.joined).insert(id, [of_client, of_server]);
        let (mut to_client, mut to_server) = (client, server);
        let progress = LossProgress::default();
        thread::scope(|scope| {
            let watch = |sent: &[u8]| self.watch(sent, &progress);
            scope.spawn(move || self.pass_on(&mut from_client, &mut to_server, watch));
            let lose = |_: &[u8]| progress.is_next_lost.load(Ordering::SeqCst);
            self.pass_on(&mut from_server, &mut to_client, lose);
        });
        lock(&self.joined).remove(&id);
    }

    /// Looks for what a client sends before an answer is lost. What it sends is never lost.
    fn watch(&self, sent: &[u8], progress: &LossProgress) -> bool {
        let mut loss = lock(&self.loss);
        let has = |text: &str| sent.windows(text.len()).any(|part| part == text.as_bytes());
        if let Some(wanted) = loss.as_ref() {
            if has(&wanted.first) {
                progress.has_sent_first.store(true, Ordering::SeqCst);
            }
            if progress.has_sent_first.load(Ordering::SeqCst) && has(&wanted.last) {
                progress.is_next_lost.store(true, Ordering::SeqCst);
                *loss = None;
            }
        }
        false
    }

    /// Passes bytes on until the connection ends or `ends_with` some of them, which are lost.
    fn pass_on(&self, from: &mut TcpStream, to: &mut TcpStream, ends_with: impl Fn(&[u8]) -> bool) {
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = from.read(&mut buffer);
            if !self.wait_until_open() {
                return;
            }
            let Ok(length @ 1..) = read else { break };
            if ends_with(&buffer[..length]) {
                _ = from.shutdown(Shutdown::Both);
                _ = to.shutdown(Shutdown::Both);
                return;
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        // Either side may be closed already.
        _ = to.shutdown(Shutdown::Write);
        _ = from.shutdown(Shutdown::Read);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
