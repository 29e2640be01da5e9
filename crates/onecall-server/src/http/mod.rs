//! Serves many clients over streamable HTTP. All of them share one gateway; each has
//! its own sessions, progress and cancellations. Whatever a client or a network does,
//! connections, sizes and times are bounded here.

mod answer;
mod body;
mod cors;
mod front;
mod names;
mod sessions;
mod token;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use onecall_runtime::Gateway;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use front::Front;
use names::Names;
pub use names::{AllowedHost, AllowedOrigin, InvalidName};
pub use token::{InvalidToken, Token};

/// How many connections are open at a time; more of them wait to be accepted.
const MAX_CONNECTIONS: usize = 512;

/// How long a client may take to send the head of a request, or to send another one.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How much of a request's head is read.
const MAX_HEAD: usize = 64 * 1024;

/// How long a client may leave what was sent to it unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);

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
        "{0} can be reached from other machines, and who reaches it can run programs and call \
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
    pub async fn bind(settings: HttpSettings) -> Result<Self, HttpFaceError> {
        let HttpSettings { address, token, hosts, origins } = settings;
        if token.is_none() && !address.ip().is_loopback() {
            return Err(HttpFaceError::NeedsToken(address));
        }
        let listen = |reason| HttpFaceError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
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
        let mut connections = JoinSet::new();
        tokio::select! {
            never = accept(&self.listener, &front, &stopped, &mut connections) => match never {},
            never = front.sessions().tend() => match never {},
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        drop(self.listener);
        front.stop();
        drop(stop);
        let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
        connections.shutdown().await;
        gateway.shutdown().await;
        Ok(())
    }
}

async fn accept(
    listener: &TcpListener,
    front: &Arc<Front>,
    stopped: &watch::Receiver<()>,
    connections: &mut JoinSet<()>,
) -> Infallible {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // It is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return std::future::pending().await;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (front, stopped) = (Arc::clone(front), stopped.clone());
        connections.spawn(async move {
            if let Err(error) = converse(stream, front, stopped).await {
                tracing::debug!("a connection ended early: {error}");
            }
            drop(place);
        });
        // Those that have ended would otherwise be kept for somebody to look at.
        while connections.try_join_next().is_some() {}
    }
}

/// Answers everything that comes over one connection.
async fn converse(
    stream: TcpStream,
    front: Arc<Front>,
    mut stopped: watch::Receiver<()>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let here = stream.local_addr()?;
    stream.set_nodelay(true)?;
    let unread = u32::try_from(UNREAD_TIME.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(&stream, unread)?;
    let answer = service_fn(move |request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(front.answer(request, here).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_HEAD);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        // Nothing is ever sent: the other end is dropped.
        _ = stopped.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    Ok(connection.await?)
}
