//! Serves many clients over streamable HTTP. All of them share one gateway; each has
//! its own sessions, progress and cancellations. Whatever a client or a network does,
//! connections, sizes and times are bounded here.

mod answer;
mod body;
mod connections;
mod cors;
mod front;
mod names;
mod sessions;
mod streams;
mod system;
mod token;
mod writing;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use onecall_gateway::Gateway;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use connections::{Connection, Connections};
use front::Front;
use names::Names;
pub use names::{AllowedHost, AllowedOrigin, InvalidName};
pub use token::{InvalidToken, Token};
use writing::{Socket, UNREAD_TIME};

/// How long a client may take to send the head of its first request.
const FIRST_HEAD_TIME: Duration = Duration::from_secs(2);

/// How long a client may take to send the head of another request on the same connection.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How much of a request's head is read.
const MAX_HEAD: usize = 64 * 1024;

/// How many connections wait to be accepted; one that comes when there are more is lost, and
/// its client tries again a second later.
const BACKLOG: u32 = 4096;

/// How much of an answer the operating system holds for a client that does not read it.
const SEND_BUFFER: usize = 256 * 1024;

/// How long answers may take to leave when we stop.
const FAREWELL: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, usually for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where to listen, and for whom.
pub struct HttpSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// What every client has to show.
    pub token: Option<Token>,
    /// Hosts that requests may name, beside this machine's own names.
    pub hosts: Vec<AllowedHost>,
    /// Origins that requests may come from, beside our own.
    pub origins: Vec<AllowedOrigin>,
}

/// Why HTTP is not served.
#[derive(Debug, Error)]
pub enum HttpFaceError {
    /// Nothing would keep others out.
    #[error(
        "{0} can be reached from other machines, from where anyone could run programs and call \
         your tools: give clients a token (--token-file FILE, or ONECALL_TOKEN), or listen on \
         127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        reason: io::Error,
    },
    /// The operating system refused us its signals.
    #[error("cannot listen for signals: {0}")]
    Signals(#[from] io::Error),
}

/// A port that is listened on.
pub struct HttpFace {
    listener: TcpListener,
    address: SocketAddr,
    names: Names,
    token: Option<Token>,
}

impl HttpFace {
    /// Starts to listen. Must be called inside a tokio runtime.
    pub fn bind(settings: HttpSettings) -> Result<Self, HttpFaceError> {
        let HttpSettings { address, token, hosts, origins } = settings;
        if token.is_none() && !address.ip().is_loopback() {
            return Err(HttpFaceError::NeedsToken(address));
        }
        let listen = |reason| HttpFaceError::Listen { address, reason };
        let listener = listen_on(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { listener, address, names: Names { hosts, origins }, token })
    }

    /// Where MCP is served.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Serves until SIGINT or SIGTERM arrives; then stops every bridged server.
    pub async fn serve(self, gateway: Arc<Gateway>) -> Result<(), HttpFaceError> {
        // Before anything is waited for: servers are told of it when they start.
        gateway.audience().expect_several();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let front = Arc::new(Front::new(self.names, self.token, Arc::clone(&gateway)));
        let (stop, stopped) = watch::channel(());
        let mut tasks = JoinSet::new();
        tokio::select! {
            never = accept(&self.listener, &front, &stopped, &mut tasks) => match never {},
            never = front.sessions().tend() => match never {},
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        drop(self.listener);
        front.stop();
        drop(stop);
        let _ = timeout(FAREWELL, async { while tasks.join_next().await.is_some() {} }).await;
        tasks.shutdown().await;
        gateway.shutdown().await;
        Ok(())
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restart finds the port of connections that are still being closed.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: &TcpListener,
    front: &Arc<Front>,
    stopped: &watch::Receiver<()>,
    tasks: &mut JoinSet<()>,
) -> Infallible {
    let connections = Arc::new(Connections::default());
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                connections.shed();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = connections.open(peer.ip());
        let (front, stopped) = (Arc::clone(front), stopped.clone());
        tasks.spawn(async move {
            if let Err(error) = converse(stream, connection, front, stopped).await {
                tracing::debug!("a connection ended early: {error}");
            }
        });
        // The set keeps the results of tasks that have ended until they are taken.
        while tasks.try_join_next().is_some() {}
    }
}

/// Answers everything that comes over one connection.
async fn converse(
    stream: TcpStream,
    connection: Arc<Connection>,
    front: Arc<Front>,
    mut stopped: watch::Receiver<()>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let here = stream.local_addr()?;
    stream.set_nodelay(true)?;
    system::limit_unacknowledged(&stream, UNREAD_TIME)?;
    rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER)?;
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(front.unread())));
    let asked = Arc::clone(&connection);
    let answer = service_fn(move |request| {
        let (front, asking) = (Arc::clone(&front), asked.ask());
        async move { Ok::<_, Infallible>(front.answer(request, here, asking).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_HEAD);
    let mut exchange = std::pin::pin!(http.serve_connection(socket, answer));
    let too_late = async {
        tokio::time::sleep(FIRST_HEAD_TIME).await;
        if connection.has_asked() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // What has arrived in time is read before the time is looked at.
        biased;
        ended = exchange.as_mut() => return Ok(ended?),
        () = too_late => return Err("no request arrived in time".into()),
        () = connection.closed() => return Err("its place is needed for another one".into()),
        // Nothing is ever sent: the other end is dropped.
        _ = stopped.changed() => {}
    }
    exchange.as_mut().graceful_shutdown();
    Ok(exchange.await?)
}
