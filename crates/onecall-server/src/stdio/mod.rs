//! Serves one client on the standard input and output of this process.

mod transport;

use std::sync::Arc;

use onecall_gateway::Gateway;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

use crate::handler::Handler;
use crate::response_budget::ResponseBudgets;
use transport::BoundedTransport;

/// The longest request in bytes: the largest program that a worker accepts, in JSON escapes. A
/// longer line is dropped and logged.
const MAX_REQUEST: usize = 128 * 1024 * 1024;

/// Why serving ended, if not because the client closed the connection.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The client did not begin with a valid handshake.
    #[error("the client did not begin with the MCP handshake: {0}")]
    Handshake(Box<ServerInitializeError>),
    /// The signal handlers could not be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(#[from] std::io::Error),
    /// The task of the service panicked.
    #[error("the server ended unexpectedly: {0}")]
    Crashed(#[from] tokio::task::JoinError),
}

/// Serves until the client closes stdin, or SIGINT or SIGTERM arrives; then stops every bridged
/// server.
pub async fn serve_stdio(gateway: Arc<Gateway>) -> Result<(), ServeError> {
    gateway.clients().expect_one();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    gateway.take_up_waiting_runs();
    let served = tokio::select! {
        served = serve(Arc::clone(&gateway)) => {
            gateway.all_clients_have_left();
            served
        }
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    gateway.shutdown().await;
    served
}

async fn serve(gateway: Arc<Gateway>) -> Result<(), ServeError> {
    let (reader, writer) = stdio_pipes();
    let transport = AsyncRwTransport::new(reader, writer).with_max_line_length(MAX_REQUEST);
    let budgets = ResponseBudgets::for_one_user();
    let transport = BoundedTransport::new(transport, Arc::clone(budgets.total()));
    match Handler::for_only_client(gateway, budgets).serve(transport).await {
        Ok(service) => {
            service.waiting().await?;
            Ok(())
        }
        // A client that disconnects before the handshake has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ServeError::Handshake(Box::new(error))),
    }
}
