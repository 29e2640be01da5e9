//! A connection to a server over any transport. It ends when the server ends or when it is stopped.

use std::sync::Arc;

use onecall_config::{RemoteTransport, StdioTransport};
use onecall_core::ServerName;
use onecall_login::Login;

use crate::connection_options::ConnectionOptions;
use crate::error::StartError;
use crate::protocol::peer::Peer;
use crate::supervision::guard::Guard;
use crate::transport::http::{SseConnection, StreamableConnection};
use crate::transport::stdio::StdioConnection;

/// A transport over which a server can be reached.
#[derive(Clone, Copy)]
pub(crate) enum Route<'a> {
    Stdio(&'a StdioTransport),
    Http(&'a RemoteTransport),
    Sse(&'a RemoteTransport),
}

impl Route<'_> {
    /// The name of the transport for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }
}

/// An open connection. Dropping it ends it without waiting.
pub(crate) enum Connection {
    Stdio(Box<StdioConnection>),
    Http(StreamableConnection),
    Sse(SseConnection),
}

impl Connection {
    /// Starts the connection. Errors that only show in communication are reported by the handshake.
    /// Must be called inside a tokio runtime.
    pub fn start(
        server: &ServerName,
        route: Route<'_>,
        login: Option<Arc<Login>>,
        guard: Guard,
        options: &ConnectionOptions,
    ) -> Result<Self, StartError> {
        Ok(match route {
            Route::Stdio(transport) => {
                Self::Stdio(Box::new(StdioConnection::start(server, transport, guard, options)?))
            }
            Route::Http(transport) => {
                Self::Http(StreamableConnection::start(server, transport, login, options)?)
            }
            Route::Sse(transport) => {
                Self::Sse(SseConnection::start(server, transport, login, options)?)
            }
        })
    }

    /// A description of how the connection began, for the log.
    pub fn start_description(&self) -> String {
        match self {
            Self::Stdio(connection) => format!("started as process {}", connection.process()),
            Self::Http(_) => "connecting over HTTP".to_owned(),
            Self::Sse(_) => "connecting over HTTP with SSE".to_owned(),
        }
    }

    /// The peer that sends requests over the connection.
    pub fn peer(&self) -> &Arc<Peer> {
        match self {
            Self::Stdio(connection) => connection.peer(),
            Self::Http(connection) => connection.peer(),
            Self::Sse(connection) => connection.peer(),
        }
    }

    /// Returns when the server has ended, with the reason. It may be dropped and called again.
    pub async fn ended(&mut self) -> String {
        match self {
            Self::Stdio(connection) => connection.ended().await,
            // There is no permanent connection: each message shows whether the server is reachable.
            Self::Http(_) => std::future::pending().await,
            Self::Sse(connection) => connection.ended().await,
        }
    }

    /// The last output of the server besides answers, for the end of an error message.
    pub fn stderr_tail(&self) -> String {
        match self {
            Self::Stdio(connection) => connection.stderr_tail(),
            Self::Http(_) | Self::Sse(_) => String::new(),
        }
    }

    /// Ends the connection gracefully if possible; returns when it is closed.
    pub async fn stop(self) {
        match self {
            Self::Stdio(connection) => connection.stop().await,
            Self::Http(connection) => connection.stop().await,
            Self::Sse(connection) => connection.stop().await,
        }
    }
}
