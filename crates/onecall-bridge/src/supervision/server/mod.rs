//! One configured server: its data (here), its main loop (`lifecycle`, `install`), its state changes
//! (`state`, `changes`), and calls and other requests to it (`call`, `resources`, `client_state`). Its tools stay known
//! while it is down, so that a call to one of them can report the reason. A server of one user runs only
//! while it is used (`on_demand`, `access`).

mod access;
mod call;
mod changes;
mod client_state;
mod install;
mod lifecycle;
mod on_demand;
mod resources;
mod state;

pub(crate) use call::CallError;

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_catalog::ToolDefinition;
use onecall_config::{RemoteTransport, ServerConfig, Transport};
use onecall_core::{LogLevel, ServerName, ToolName};
use onecall_login::Login;
use tokio::sync::{Notify, watch};

use crate::connection_options::ConnectionOptions;
use crate::protocol::display_metadata::{DisplayMetadataByTool, ToolDisplayMetadata};
use crate::protocol::handshake::{KnownMode, ServerOffers};
use crate::protocol::header_parameters::HeaderParameters;
use crate::protocol::peer::Peer;
use crate::protocol::subscription::WatchedResources;
use crate::supervision::demand::ServerStart;
use crate::supervision::fleet::ServerEntry;
use crate::supervision::pins::QuarantinedTool;
use crate::supervision::status::{ListingCut, ServerState, ServerStatus};
use crate::transport::connection::Route;
use crate::users::processes::Place;
use crate::users::{ServerOwner, UserCredentials};

/// One configured server.
pub(crate) struct Server {
    config: ServerConfig,
    /// The user that the server belongs to; `None` if all users share it.
    owner: Option<ServerOwner>,
    /// The login for the server, if its transport supports one.
    login: Option<Arc<Login>>,
    data: Mutex<ServerData>,
    /// Whether the server is to be started. Once true, it stays true, except for a server of a user,
    /// which runs only while it is used.
    is_needed: watch::Sender<bool>,
    /// Whether its tools can be called.
    is_up: watch::Sender<bool>,
    /// Notified when the tools or the state change.
    changed: Arc<Notify>,
    /// Notified when a server of a user is to stop, because it is not used.
    is_unused: Notify,
    /// The place of a running server of a user.
    place: Mutex<Option<Place>>,
    /// How many warnings about its tools were logged.
    warnings: AtomicUsize,
    /// The resources that clients have subscribed to.
    watched: watch::Sender<WatchedResources>,
    /// The watched resources that a server without a handshake has acknowledged or refused.
    settled: watch::Sender<Vec<String>>,
    options: ConnectionOptions,
}

/// The current state of a server.
struct ServerData {
    transport: &'static str,
    state: ServerState,
    stopped: StopReason,
    /// Whether it has ever listed its tools.
    has_listed: bool,
    /// All tools that it listed.
    listed: Arc<Vec<ToolDefinition>>,
    /// The listed tools that programs may call.
    tools: Arc<Vec<ToolDefinition>>,
    /// The listed tools that programs may not call until the user accepts them.
    quarantined: Arc<Vec<QuarantinedTool>>,
    /// The display metadata of its tools, if it is kept.
    display_metadata: Arc<DisplayMetadataByTool>,
    /// The arguments that are repeated in headers, if there are any.
    parameters: Option<Arc<HeaderParameters>>,
    /// How often it was started again after a failure.
    restarts: u64,
    /// Set if its tool list was cut at a limit.
    cut: Option<ListingCut>,
    peer: Option<Arc<Peer>>,
    usage: Usage,
    /// The tools that have sent an answer that violates their output schema.
    breaking_schema: HashSet<ToolName>,
    /// The messages that it declares to send besides answers.
    offers: ServerOffers,
    /// Whether it is known to use a handshake.
    known_mode: KnownMode,
    /// The least severe log messages that a client wants.
    log_level: Option<LogLevel>,
}

/// How a server of a user is used.
struct Usage {
    /// The number of requests that need the server.
    requests: usize,
    last_used: Instant,
    /// Whether the next request starts the server, which is not running.
    may_start: bool,
}

/// Whether a server is to stop, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    NotStopping,
    /// The whole bridge stops.
    Shutdown,
    /// The server was removed from the configuration.
    Removed,
    /// The entry in the configuration has changed.
    Replaced,
}

impl StopReason {
    /// The end of a sentence about the server that begins with its name.
    fn status_phrase(self) -> &'static str {
        match self {
            Self::NotStopping | Self::Shutdown => "was stopped",
            Self::Removed => "was removed from the configuration",
            Self::Replaced => "restarts: its configuration has changed",
        }
    }
}

/// The progress of a server's first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartProgress {
    /// The tools of the server may still arrive, and requests wait for them.
    Pending,
    /// The server is being installed and its tools may still arrive, but requests no longer wait.
    NoLongerAwaited,
    /// The tools of the server are known, or the reason why there are none.
    Ended,
}

impl Server {
    pub fn new(entry: ServerEntry, changed: Arc<Notify>, options: ConnectionOptions) -> Self {
        let ServerEntry { config, owner } = entry;
        let is_idle = config.lazy || owner.is_some() || options.start == ServerStart::OnDemand;
        let data = ServerData {
            transport: match (routes(&config.transport), &config.transport) {
                (Some((route, _)), _) => route.label(),
                (None, Transport::Unresolved(unresolved)) => unresolved.kind,
                (None, _) => "",
            },
            state: match is_idle {
                true => {
                    let unusable = owner.as_ref().map(|it| access::unusable_state(&config, it));
                    unusable.flatten().unwrap_or(ServerState::Idle)
                }
                false => install::initial_state(&config, &options),
            },
            stopped: StopReason::NotStopping,
            has_listed: false,
            listed: Arc::default(),
            tools: Arc::default(),
            quarantined: Arc::default(),
            display_metadata: Arc::default(),
            parameters: None,
            restarts: 0,
            cut: None,
            peer: None,
            usage: Usage { requests: 0, last_used: Instant::now(), may_start: true },
            breaking_schema: HashSet::new(),
            offers: ServerOffers::default(),
            known_mode: KnownMode::Unknown,
            log_level: None,
        };
        let is_needed = watch::Sender::new(!is_idle);
        let is_up = watch::Sender::new(false);
        let login = match owner.as_ref().map(|owner| &owner.credentials) {
            // The login of another person must never be used for a user.
            Some(UserCredentials::InEntry | UserCredentials::Missing) => None,
            Some(UserCredentials::Login(login)) => Some(Arc::clone(login)),
            None => remote(&config.transport)
                .and_then(|it| Login::new(&config.name, it, options.vault.as_ref()))
                .map(Arc::new),
        };
        Self {
            config,
            owner,
            login,
            data: Mutex::new(data),
            is_needed,
            is_up,
            changed,
            is_unused: Notify::new(),
            place: Mutex::new(None),
            warnings: AtomicUsize::new(0),
            watched: watch::Sender::default(),
            settled: watch::Sender::default(),
            options,
        }
    }

    pub fn name(&self) -> &ServerName {
        &self.config.name
    }

    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Whether the server was started from such an entry.
    pub fn is_same_entry(&self, entry: &ServerEntry) -> bool {
        let is_same_owner = match (&self.owner, &entry.owner) {
            (None, None) => true,
            (Some(own), Some(other)) => own.has_same_credentials(&other.credentials),
            (None, Some(_)) | (Some(_), None) => false,
        };
        is_same_owner && self.config == entry.config
    }

    pub fn status(&self) -> ServerStatus {
        let data = self.lock();
        let status = ServerStatus {
            name: self.config.name.clone(),
            user: self.options.user.clone(),
            transport: data.transport,
            state: data.state.clone(),
            quarantined: data.quarantined.to_vec(),
            restarts: data.restarts,
            cut: data.cut.clone(),
        };
        drop(data);
        ServerStatus { state: self.with_access_hint(status.state), ..status }
    }

    /// Whether it did not start, or has ended since.
    pub fn has_failed(&self) -> bool {
        matches!(self.lock().state, ServerState::Failed { .. })
    }

    /// Whether requests need not wait for its first start any more.
    pub fn is_settled(&self) -> bool {
        self.start_progress() != StartProgress::Pending
    }

    /// The progress of its first start.
    pub fn start_progress(&self) -> StartProgress {
        let data = self.lock();
        match data.state {
            ServerState::Ready { .. } | ServerState::Failed { .. } => StartProgress::Ended,
            // A server of a user that was stopped: its tools are known.
            _ if data.has_listed => StartProgress::Ended,
            ServerState::Installing { since } if self.is_no_longer_awaited(since) => {
                StartProgress::NoLongerAwaited
            }
            ServerState::Idle
            | ServerState::Connecting
            | ServerState::Installing { .. }
            | ServerState::Local { .. } => StartProgress::Pending,
        }
    }

    /// Whether the server was needed, or starts without being needed.
    pub fn is_needed(&self) -> bool {
        *self.is_needed.borrow()
    }

    /// Whether the server belongs to a user.
    pub fn is_owned(&self) -> bool {
        self.owner.is_some()
    }

    /// Whether the server does not start before it is needed.
    pub fn is_lazy(&self) -> bool {
        self.config.lazy || self.owner.is_some()
    }

    /// Starts the server if it is idle. A server of a user whose tools are known is only started by a
    /// request to it.
    pub fn start_if_idle(&self) {
        if self.owner.is_some() {
            if !self.lock().has_listed {
                self.demand();
            }
        } else if !self.is_needed() {
            self.leave_idle();
            self.is_needed.send_replace(true);
        }
    }

    /// Notifies the server that the client's list of root folders has changed.
    pub fn roots_changed(&self) {
        if let Some(peer) = &self.lock().peer {
            peer.notify_roots_changed();
        }
    }

    pub fn tools(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.lock().tools)
    }

    /// All tools that it listed, whether programs may call them or not.
    pub fn listed(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.lock().listed)
    }

    /// The last tool list, if the server has ever listed its tools.
    pub fn last_listing(&self) -> Option<Arc<Vec<ToolDefinition>>> {
        let data = self.lock();
        data.has_listed.then(|| Arc::clone(&data.listed))
    }

    /// The display metadata of a tool.
    pub fn display_metadata(&self, tool: &ToolName) -> ToolDisplayMetadata {
        self.lock().display_metadata.get(tool).cloned().unwrap_or_default()
    }

    fn kept_display_metadata(
        &self,
        display_metadata: DisplayMetadataByTool,
    ) -> Arc<DisplayMetadataByTool> {
        if self.options.keeps_display_metadata {
            Arc::new(display_metadata)
        } else {
            Arc::default()
        }
    }

    pub fn quarantined(&self) -> Arc<Vec<QuarantinedTool>> {
        Arc::clone(&self.lock().quarantined)
    }

    /// Whether it is down or being installed, and has never listed its tools.
    pub fn is_unlisted(&self) -> bool {
        let data = self.lock();
        let is_down =
            matches!(data.state, ServerState::Failed { .. } | ServerState::Installing { .. });
        is_down && data.listed.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, ServerData> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The transport to use for a server, and the one to fall back to.
fn routes(transport: &Transport) -> Option<(Route<'_>, Option<Route<'_>>)> {
    Some(match transport {
        Transport::Stdio(transport) => (Route::Stdio(transport), None),
        Transport::Auto(transport) => (Route::Http(transport), Some(Route::Sse(transport))),
        Transport::Either { http, sse } => (Route::Http(http), Some(Route::Sse(sse))),
        Transport::Http(transport) => (Route::Http(transport), None),
        Transport::Sse(transport) => (Route::Sse(transport), None),
        Transport::Unresolved(_) => return None,
    })
}

/// The address of a remote server; `None` for a local process.
pub(crate) fn remote(transport: &Transport) -> Option<&RemoteTransport> {
    match transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => None,
        Transport::Auto(remote)
        | Transport::Either { http: remote, .. }
        | Transport::Http(remote)
        | Transport::Sse(remote) => Some(remote),
    }
}
