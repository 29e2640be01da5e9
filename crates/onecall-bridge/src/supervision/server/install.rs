//! The first start of a server whose command downloads what it runs. It may take minutes, so it
//! gets more time than other starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::ServerConfig;
use tokio::time::sleep;
use tracing::info;

use super::Server;
use crate::connection_options::ConnectionOptions;
use crate::supervision::downloads::{Download, INSTALL_TIMEOUT, InstallPermit};
use crate::supervision::status::ServerState;

/// A first start that has permission to run.
pub(super) struct FirstStart {
    download: Download,
    permit: InstallPermit,
}

impl FirstStart {
    /// Waits for permission to start a server. Returns the first start, or `None` if nothing is
    /// downloaded.
    pub async fn acquire(server: &ServerConfig, options: &ConnectionOptions) -> Option<Self> {
        let download = options.downloads.expected_download(server)?;
        let permit = options.downloads.acquire_permit().await;
        Some(Self { download, permit })
    }

    /// The download and the permission to run it, as separate values.
    pub fn into_parts(install: Option<Self>) -> (Option<Download>, Option<InstallPermit>) {
        install.map(|Self { download, permit }| (download, permit)).unzip()
    }
}

/// Gives the permission to other first starts after a while. Never returns.
pub(super) async fn release_after_delay<T>(permit: Option<InstallPermit>) -> T {
    match permit {
        Some(permit) => permit.release_after_delay().await,
        None => std::future::pending().await,
    }
}

/// The initial state of a server that is about to be started.
pub(super) fn initial_state(server: &ServerConfig, options: &ConnectionOptions) -> ServerState {
    match options.downloads.expected_download(server) {
        Some(_) => ServerState::Installing { since: Instant::now() },
        None => ServerState::Connecting,
    }
}

impl Server {
    /// Changes the state of a lazy server that is about to be started.
    pub(super) fn leave_idle(&self) {
        let state = initial_state(&self.config, &self.options);
        let mut data = self.lock();
        if data.state == ServerState::Idle {
            data.state = state;
        }
    }

    /// Logs that the server is being installed, if so. After the usual timeout it wakes the
    /// requests that wait, so that they check whether they still have to.
    pub(super) fn announce_install(&self) {
        if !self.is_installing() {
            return;
        }
        info!(
            server = %self.config.name, user = self.options.user_field(),
            "installing for the first time"
        );
        let (changed, timeout) =
            (Arc::clone(&self.changed), self.config.connect_timeout_or_default());
        tokio::spawn(async move {
            sleep(timeout).await;
            changed.notify_one();
        });
    }

    /// Whether requests have stopped waiting for a server that is being installed.
    pub(super) fn is_no_longer_awaited(&self, since: Instant) -> bool {
        !self.options.downloads.block_requests()
            && since.elapsed() >= self.config.connect_timeout_or_default()
    }

    /// Whether the server is being installed.
    pub fn is_installing(&self) -> bool {
        matches!(self.lock().state, ServerState::Installing { .. })
    }

    /// How long a request waits for the server to start over one transport.
    pub(super) fn start_wait(&self) -> Duration {
        let usual = self.config.connect_timeout_or_default();
        match self.is_installing() && self.options.downloads.block_requests() {
            true => INSTALL_TIMEOUT.max(usual),
            false => usual,
        }
    }
}
