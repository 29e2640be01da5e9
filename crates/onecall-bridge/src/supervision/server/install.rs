//! The first start of a server whose command downloads what it runs. It may take minutes, so it
//! gets more time than other starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::ServerConfig;
use tokio::time::sleep;
use tracing::info;

use super::Server;
use crate::setting::Setting;
use crate::supervision::downloads::{Download, INSTALL_TIMEOUT, Turn};
use crate::supervision::status::ServerState;

/// A first start that has permission to run.
pub(super) struct Install {
    download: Download,
    turn: Turn,
}

impl Install {
    /// Waits for permission to start a server. Returns the first start, or `None` if nothing is
    /// downloaded.
    pub async fn expected_of(server: &ServerConfig, setting: &Setting) -> Option<Self> {
        let download = setting.downloads.expected_of(server)?;
        let turn = setting.downloads.turn().await;
        Some(Self { download, turn })
    }

    /// The download and the permission to run it, as separate values.
    pub fn parts(install: Option<Self>) -> (Option<Download>, Option<Turn>) {
        install.map(|Self { download, turn }| (download, turn)).unzip()
    }
}

/// Gives the permission to other first starts after a while. Never returns.
pub(super) async fn pass_on<T>(turn: Option<Turn>) -> T {
    match turn {
        Some(turn) => turn.pass_on().await,
        None => std::future::pending().await,
    }
}

/// The initial state of a server that is about to be started.
pub(super) fn starting(server: &ServerConfig, setting: &Setting) -> ServerState {
    match setting.downloads.expected_of(server) {
        Some(_) => ServerState::Installing { since: Instant::now() },
        None => ServerState::Connecting,
    }
}

impl Server {
    /// Changes the state of a lazy server that is about to be started.
    pub(super) fn leave_idle(&self) {
        let state = starting(&self.config, &self.setting);
        let mut now = self.lock();
        if now.state == ServerState::Idle {
            now.state = state;
        }
    }

    /// Logs that the server is being installed, if so. After the usual timeout it wakes the
    /// requests that wait, so that they check whether they still have to.
    pub(super) fn announce_install(&self) {
        if !self.is_installing() {
            return;
        }
        info!(server = %self.config.name, "installing for the first time");
        let (changed, timeout) = (Arc::clone(&self.changed), self.config.usual_connect_timeout());
        tokio::spawn(async move {
            sleep(timeout).await;
            changed.notify_one();
        });
    }

    /// Whether requests have stopped waiting for a server that is being installed.
    pub(super) fn is_left_behind(&self, since: Instant) -> bool {
        !self.setting.downloads.are_waited_for()
            && since.elapsed() >= self.config.usual_connect_timeout()
    }

    /// Whether the server is being installed.
    pub fn is_installing(&self) -> bool {
        matches!(self.lock().state, ServerState::Installing { .. })
    }

    /// How long a request waits for the server to start over one transport.
    pub(super) fn patience(&self) -> Duration {
        let usual = self.config.usual_connect_timeout();
        match self.is_installing() && self.setting.downloads.are_waited_for() {
            true => INSTALL_TIMEOUT.max(usual),
            false => usual,
        }
    }
}
