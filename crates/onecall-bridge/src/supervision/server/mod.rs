//! One server: what is known of it (here), how it lives (`life`, `install`), what becomes of it
//! (`state`, `changes`), and calls and other requests to it (`call`, `offer`). Its tools stay known
//! while it is down, so that a call to them can say what happened.

mod call;
mod changes;
mod install;
mod life;
mod offer;
mod state;

pub(crate) use call::CallError;

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_catalog::ToolDefinition;
use onecall_config::{RemoteTransport, ServerConfig, Transport};
use onecall_core::{ServerName, ToolName};
use onecall_login::Login;
use tokio::sync::{Notify, watch};

use crate::protocol::face::{Faces, ToolFace};
use crate::protocol::parameters::Parameters;
use crate::protocol::peer::Peer;
use crate::setting::Setting;
use crate::supervision::demand::ServerStart;
use crate::supervision::pins::Quarantined;
use crate::supervision::status::{ListingCut, ServerState, ServerStatus};
use crate::transport::connection::Route;

/// One configured server.
pub(crate) struct Server {
    config: ServerConfig,
    /// Who we are to it, if that can be found out by logging in.
    login: Option<Arc<Login>>,
    now: Mutex<Now>,
    /// Whether it is to be started at all; once true, always true.
    is_needed: watch::Sender<bool>,
    /// Whether its tools can be called.
    is_up: watch::Sender<bool>,
    /// Rung when the tools or the state change.
    changed: Arc<Notify>,
    /// How many warnings about its tools there were.
    warnings: AtomicUsize,
    setting: Setting,
}

/// What is true of a server at the moment.
struct Now {
    transport: &'static str,
    state: ServerState,
    stopped: Stop,
    /// Everything it listed.
    listed: Arc<Vec<ToolDefinition>>,
    /// What of that programs may call.
    tools: Arc<Vec<ToolDefinition>>,
    /// And what they may not until it is accepted.
    quarantined: Arc<Vec<Quarantined>>,
    /// What it says about tools for people to see, if anybody wants to know.
    faces: Arc<Faces>,
    /// Which arguments of which tools go into headers, if any do.
    parameters: Option<Arc<Parameters>>,
    /// Set if it has more tools than it could list.
    cut: Option<ListingCut>,
    peer: Option<Arc<Peer>>,
    /// Tools whose answers were not what their output schemas declare.
    breaking_schema: HashSet<ToolName>,
}

/// Whether a server is to stop, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// Everything stops.
    Shutdown,
    /// It is not in the configuration any more.
    Removed,
    /// Its entry in the configuration has changed.
    Replaced,
}

impl Stop {
    /// What happened to a server, for a sentence that begins with its name.
    fn farewell(self) -> &'static str {
        match self {
            Self::No | Self::Shutdown => "was stopped",
            Self::Removed => "was removed from the configuration",
            Self::Replaced => "restarts: its configuration has changed",
        }
    }
}

/// How far the first start of a server has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartProgress {
    /// It may still bring tools, and requests wait for it.
    Pending,
    /// It is being installed and may still bring tools, but requests no longer wait for it.
    LeftBehind,
    /// Its tools are known, or why there are none.
    Ended,
}

impl Server {
    pub fn new(config: ServerConfig, changed: Arc<Notify>, setting: Setting) -> Self {
        let is_idle = config.lazy || setting.start == ServerStart::OnDemand;
        let now = Now {
            transport: match (routes(&config.transport), &config.transport) {
                (Some((route, _)), _) => route.label(),
                (None, Transport::Unresolved(unresolved)) => unresolved.kind,
                (None, _) => "",
            },
            state: match is_idle {
                true => ServerState::Idle,
                false => install::starting(&config, &setting),
            },
            stopped: Stop::No,
            listed: Arc::default(),
            tools: Arc::default(),
            quarantined: Arc::default(),
            faces: Arc::default(),
            parameters: None,
            cut: None,
            peer: None,
            breaking_schema: HashSet::new(),
        };
        let is_needed = watch::Sender::new(!is_idle);
        let is_up = watch::Sender::new(false);
        let login = remote(&config.transport).and_then(|it| Login::new(&config.name, it));
        Self {
            config,
            login: login.map(Arc::new),
            now: Mutex::new(now),
            is_needed,
            is_up,
            changed,
            warnings: AtomicUsize::new(0),
            setting,
        }
    }

    pub fn name(&self) -> &ServerName {
        &self.config.name
    }

    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    pub fn status(&self) -> ServerStatus {
        let now = self.lock();
        ServerStatus {
            name: self.config.name.clone(),
            transport: now.transport,
            state: now.state.clone(),
            quarantined: now.quarantined.to_vec(),
            cut: now.cut.clone(),
        }
    }

    /// Whether it was tried, so that its tools are known if they ever will be.
    pub fn is_settled(&self) -> bool {
        self.start_progress() != StartProgress::Pending
    }

    /// How far its first start has come.
    pub fn start_progress(&self) -> StartProgress {
        match self.lock().state {
            ServerState::Ready { .. } | ServerState::Failed { .. } => StartProgress::Ended,
            ServerState::Installing { since } if self.is_left_behind(since) => {
                StartProgress::LeftBehind
            }
            ServerState::Idle
            | ServerState::Connecting
            | ServerState::Installing { .. }
            | ServerState::Local { .. } => StartProgress::Pending,
        }
    }

    /// Whether somebody has needed it, or it does not wait for that.
    pub fn is_needed(&self) -> bool {
        *self.is_needed.borrow()
    }

    /// Starts it if nobody has needed it before.
    pub fn need(&self) {
        if !self.is_needed() {
            self.leave_idle();
            self.is_needed.send_replace(true);
        }
    }

    /// Passes on that the folders the client works in have changed.
    pub fn roots_changed(&self) {
        if let Some(peer) = &self.lock().peer {
            peer.notify_roots_changed();
        }
    }

    pub fn tools(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.lock().tools)
    }

    /// Everything it listed, whether programs may call it or not.
    pub fn listed(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.lock().listed)
    }

    /// Everything it listed last, if it has ever listed its tools.
    pub fn last_listing(&self) -> Option<Arc<Vec<ToolDefinition>>> {
        let now = self.lock();
        let has_listed = matches!(now.state, ServerState::Ready { .. }) || !now.listed.is_empty();
        has_listed.then(|| Arc::clone(&now.listed))
    }

    /// What it says about a tool for people to see.
    pub fn face(&self, tool: &ToolName) -> ToolFace {
        self.lock().faces.get(tool).cloned().unwrap_or_default()
    }

    fn faces(&self, faces: Faces) -> Arc<Faces> {
        if self.setting.faces { Arc::new(faces) } else { Arc::default() }
    }

    pub fn quarantined(&self) -> Arc<Vec<Quarantined>> {
        Arc::clone(&self.lock().quarantined)
    }

    /// Whether it is down or still being installed, and has never told which tools it has.
    pub fn is_unheard(&self) -> bool {
        let now = self.lock();
        let is_down =
            matches!(now.state, ServerState::Failed { .. } | ServerState::Installing { .. });
        is_down && now.listed.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a server is reached, and how else if it does not understand that.
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

/// The address of a server that has one.
fn remote(transport: &Transport) -> Option<&RemoteTransport> {
    match transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => None,
        Transport::Auto(remote)
        | Transport::Either { http: remote, .. }
        | Transport::Http(remote)
        | Transport::Sse(remote) => Some(remote),
    }
}
