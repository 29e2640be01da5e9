//! Serves many clients over streamable HTTP. All of them share one gateway; each has its own
//! sessions, progress and cancellations. The number of connections, the sizes of requests and the
//! times they may take are bounded here, whatever clients do.

mod active_users;
mod allowed_names;
mod authorization;
mod connections;
mod cors;
mod departed_clients;
mod detached_requests;
mod forwarding;
mod html;
mod login_pages;
mod pending_requests;
mod request_body;
mod response;
mod router;
mod sessions;
mod socket;
mod streams;
mod system;
mod token;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use onecall_gateway::{Authenticator, Gateway};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use allowed_names::AllowedNames;
pub use allowed_names::{AllowedHostHeader, AllowedOrigin, InvalidName};
use authorization::UserAuthorization;
use connections::{Connections, HttpConnection};
pub(crate) use response::PlainBody;
use router::{Access, HttpRouter};
pub(crate) use sessions::CLIENT_HAS_LEFT;
use socket::{ClientSocket, WRITE_TIMEOUT};
pub use token::{BearerToken, InvalidToken};

use crate::page::PageSettings;

/// Timeout for the head of the first request on a connection.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout for the head of each later request on the same connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest head of a request in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// How many connections wait to be accepted. Beyond that, a connection attempt is dropped, and the
/// client's system retries a second later.
const BACKLOG: u32 = 4096;

/// How many bytes of an answer the operating system buffers for a client that does not read.
const SEND_BUFFER_BYTES: usize = 256 * 1024;

/// How much of the time that a gateway has to drain is kept for what it writes to the store at its end.
const STORE_TIME: Duration = Duration::from_secs(3);

/// How long a shutdown waits for answers to be sent.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, usually because of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where to listen, and which requests to accept.
pub struct HttpSettings {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The token that every request must contain; `None` requires none.
    pub token: Option<BearerToken>,
    /// Finds out which user a request comes from; then `token` is not used. `None` if there are no
    /// users.
    pub users: Option<Arc<Authenticator>>,
    /// Accepted values of the `Host` header, in addition to `localhost`, the loopback addresses and
    /// the address that a request arrived at.
    pub hosts: Vec<AllowedHostHeader>,
    /// Accepted values of the `Origin` header, in addition to `http://localhost` and the loopback
    /// addresses at the server's own port.
    pub origins: Vec<AllowedOrigin>,
    /// How long requests may take to finish after SIGTERM.
    pub drain: Duration,
    /// The page for people, if there is one.
    pub page: Option<PageSettings>,
}

/// Why HTTP cannot be served.
#[derive(Debug, Error)]
pub enum HttpServerError {
    /// Without a token, other machines could use the gateway.
    #[error(
        "{0} can be reached from other machines, from where anyone could run programs and call \
         your tools: give clients a token (--token-file FILE, or ONECALL_TOKEN), configure \
         `users`, or listen on 127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        reason: io::Error,
    },
    /// The signal handlers could not be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(#[from] io::Error),
}

/// A bound listener.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    names: AllowedNames,
    access: Access,
    drain: Duration,
    page: Option<PageSettings>,
    interrupt: Signal,
    terminate: Signal,
}

impl HttpServer {
    /// Binds the address, and starts to listen for clients and for signals. Must be called inside a tokio
    /// runtime.
    pub fn bind(settings: HttpSettings) -> Result<Self, HttpServerError> {
        let HttpSettings { address, token, users, hosts, origins, drain, page } = settings;
        let has_owner = page.as_ref().is_some_and(|page| page.owner.is_some());
        let access = match (users, token) {
            _ if has_owner => Access::Page,
            (Some(users), _) => Access::Users(UserAuthorization::new(users)),
            (None, Some(token)) => Access::Token(token),
            (None, None) if address.ip().is_loopback() => Access::Open,
            (None, None) => return Err(HttpServerError::NeedsToken(address)),
        };
        let listen = |reason| HttpServerError::Listen { address, reason };
        let listener = listen_on(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let names = AllowedNames { hosts, origins };
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { listener, address, names, access, drain, page, interrupt, terminate })
    }

    /// The URL at which MCP is served.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The address of the page.
    #[must_use]
    pub fn page_url(&self) -> String {
        format!("http://{}/page/", self.address)
    }

    /// Serves until SIGINT or SIGTERM arrives; then stops every bridged server. After SIGTERM, requests
    /// have some time to finish, until another signal arrives.
    pub async fn serve(self, gateway: Arc<Gateway>) -> Result<(), HttpServerError> {
        // This has to happen first: bridged servers learn about it when they start.
        gateway.clients().expect_several();
        let (mut interrupt, mut terminate) = (self.interrupt, self.terminate);
        let router =
            Arc::new(HttpRouter::new(self.names, self.access, self.page, Arc::clone(&gateway)));
        if router.serves_mcp() {
            gateway.take_up_waiting_runs();
        }
        let (stop, stopped) = watch::channel(());
        let mut tasks = JoinSet::new();
        let mut drain_ends = None;
        tokio::select! {
            never = async {
                // What a client begins here is found through every other gateway.
                if let Some(fleet) = gateway.fleet() {
                    fleet.join().await;
                }
                accept(&self.listener, &router, &stopped, &mut tasks).await
            } => match never {},
            never = router.maintain() => match never {},
            _ = interrupt.recv() => {}
            () = async {
                _ = terminate.recv().await;
                drain_ends = Some(Instant::now() + self.drain);
                if !self.drain.is_zero() {
                    gateway.begin_drain();
                    // The rest of the time is for the store, which may not answer.
                    let for_requests = self.drain - STORE_TIME.min(self.drain / 4);
                    tokio::select! {
                        () = async {
                            router.all_answered().await;
                            gateway.durable_runs_settled().await;
                        } => {}
                        () = tokio::time::sleep(for_requests) => {}
                        _ = terminate.recv() => {}
                    }
                }
            } => {}
        }
        drop(self.listener);
        // First of all: a request that ends now does not cancel its run.
        gateway.stop_durable_runs();
        router.stop();
        drop(stop);
        let _ =
            timeout(SHUTDOWN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
        tasks.shutdown().await;
        match drain_ends {
            Some(end) if !self.drain.is_zero() => {
                let left = end.saturating_duration_since(Instant::now());
                gateway.shutdown_within(left.max(STORE_TIME / 2)).await;
            }
            _ => gateway.shutdown().await,
        }
        Ok(())
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // After a restart, old connections may still hold the port in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: &TcpListener,
    router: &Arc<HttpRouter>,
    stopped: &watch::Receiver<()>,
    tasks: &mut JoinSet<()>,
) -> Infallible {
    let connections = Arc::new(Connections::default());
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                connections.close_oldest_unadmitted();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = connections.open(peer.ip());
        let (router, stopped) = (Arc::clone(router), stopped.clone());
        tasks.spawn(async move {
            if let Err(error) = handle_connection(stream, connection, router, stopped).await {
                tracing::debug!("a connection ended early: {error}");
            }
        });
        // The set keeps the results of finished tasks until they are taken.
        while tasks.try_join_next().is_some() {}
    }
}

/// Serves all requests of one connection.
async fn handle_connection(
    stream: TcpStream,
    connection: Arc<HttpConnection>,
    router: Arc<HttpRouter>,
    mut stopped: watch::Receiver<()>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let local_address = stream.local_addr()?;
    stream.set_nodelay(true)?;
    system::limit_unacknowledged(&stream, WRITE_TIMEOUT)?;
    rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES)?;
    let socket = TokioIo::new(ClientSocket::new(stream, Arc::clone(router.response_budget())));
    let this_connection = Arc::clone(&connection);
    let answer = service_fn(move |request| {
        let (router, active_request) = (Arc::clone(&router), this_connection.begin_request());
        async move { Ok::<_, Infallible>(router.handle(request, local_address, active_request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    let mut exchange = std::pin::pin!(http.serve_connection(socket, answer));
    let first_request_timeout = async {
        tokio::time::sleep(FIRST_HEAD_TIMEOUT).await;
        if connection.has_received_request() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // A request that has arrived in time is read before the timeout is checked.
        biased;
        ended = exchange.as_mut() => return Ok(ended?),
        () = first_request_timeout => return Err("no request arrived in time".into()),
        () = connection.closed() => return Err("onecall closed it to make room for another connection".into()),
        // The channel carries no values; it closes when the other end is dropped.
        _ = stopped.changed() => {}
    }
    exchange.as_mut().graceful_shutdown();
    Ok(exchange.await?)
}
