//! One server's life: started, ready, failed, and started again until it is
//! stopped. Its tools stay known while it is down, so that a call to them can say
//! what happened.

mod call;
mod changes;
mod install;
mod offer;

pub(crate) use call::CallError;
use install::Install;

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_catalog::ToolDefinition;
use onecall_config::{RemoteTransport, ServerConfig, Transport};
use onecall_core::text::plain;
use onecall_core::{ServerName, ToolName};
use onecall_login::Login;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use crate::error::StartError;
use crate::protocol::face::{Faces, ToolFace};
use crate::protocol::handshake::{self, Greeting};
use crate::protocol::listing::{self, Listed};
use crate::protocol::parameters::Parameters;
use crate::protocol::request::Era;
use crate::protocol::rpc::Peer;
use crate::protocol::subscription;
use crate::setting::Setting;
use crate::supervision::backoff::Backoff;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::start_timeout;
use crate::supervision::guard::Guard;
use crate::supervision::pins::Quarantined;
use crate::supervision::status::{
    AVAILABILITY_LOG_TARGET, LIFE_LOG_TARGET, ListingCut, NextStart, ServerState, ServerStatus,
    Trouble,
};
use crate::transport::connection::{Connection, Route};

/// The least time between two listings that a server asks for. However often it
/// says that its tools changed, this is how often we look.
const REFRESH_PAUSE: Duration = Duration::from_millis(500);

/// How long a server that nobody has logged in to is left alone: it may want no
/// login any more.
const LOGIN_PAUSE: Duration = Duration::from_secs(60);

/// How much of a reason is shown, in characters: a server may have its say in it.
const MAX_REASON: usize = 2_000;

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

/// How a server that was started came to its end.
enum Ended {
    Down { next_start: Instant },
    Stopped,
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

    /// Runs the server, and again whenever it ends, until `stop` says so; returns
    /// when it is gone.
    pub async fn live(&self, guard: Guard, mut stop: watch::Receiver<Stop>) {
        if let Transport::Unresolved(unresolved) = &self.config.transport {
            // A command that does not need the server has nothing to say about it.
            if self.setting.start == ServerStart::OnDemand {
                tokio::select! {
                    () = self.needed() => {}
                    why = stopped(&mut stop) => return self.become_stopped(why),
                }
            }
            let (reason, trouble) = (unresolved.to_string(), Trouble::Unresolved);
            self.become_failed(&reason, "", trouble, NextStart::AfterReload);
            return self.become_stopped(stopped(&mut stop).await);
        }
        tokio::select! {
            () = self.needed() => {}
            why = stopped(&mut stop) => return self.become_stopped(why),
        }
        let mut backoff = Backoff::new();
        while let Ended::Down { next_start } = self.start(&guard, &mut backoff, &mut stop).await {
            tokio::select! {
                () = sleep_until(next_start.into()) => {}
                () = self.logged_in() => {}
                _ = stopped(&mut stop) => break,
            }
            self.become_restarting();
        }
        self.become_stopped(stopped(&mut stop).await);
    }

    async fn needed(&self) {
        // We hold the sender, so there is no error.
        let _ = self.is_needed.subscribe().wait_for(|is_needed| *is_needed).await;
        self.announce_install();
    }

    /// Starts the server in whichever way it understands; returns when it has ended.
    async fn start(
        &self,
        guard: &Guard,
        backoff: &mut Backoff,
        stop: &mut watch::Receiver<Stop>,
    ) -> Ended {
        let Some((route, fallback)) = routes(&self.config.transport) else { return Ended::Stopped };
        let first = match self.run(route, guard.clone(), backoff, stop).await {
            Ok(ended) => return ended,
            Err(error) => error,
        };
        let may_fall_back = match &self.config.transport {
            Transport::Either { .. } => first.may_be_other_address(),
            _ => first.may_be_older_transport(),
        };
        let error = match fallback.filter(|_| may_fall_back) {
            None => first,
            Some(route) => match self.run(route, guard.clone(), backoff, stop).await {
                Ok(ended) => return ended,
                Err(second) => self.neither(first, second),
            },
        };
        if let Some(login) = self.login.as_ref().filter(|_| error.needs_login()) {
            return self.become_logged_out(login);
        }
        let next_start = Instant::now() + backoff.pause_after(Duration::ZERO);
        let (reason, last_words) = (error.to_string(), error.last_words());
        self.become_failed(&reason, last_words, error.trouble(), NextStart::At(next_start));
        Ended::Down { next_start }
    }

    /// Why the server could be reached in neither of its two ways.
    fn neither(&self, first: StartError, second: StartError) -> StartError {
        let (first, second) = (Box::new(first), Box::new(second));
        match &self.config.transport {
            Transport::Either { http, sse } => {
                let urls = [http.url.clone(), sse.url.clone()];
                StartError::NeitherAddress { urls, first, second }
            }
            _ => StartError::NeitherTransport { first, second },
        }
    }

    /// Runs the server until it ends or `stop` says so; an error if it did not
    /// become usable.
    async fn run(
        &self,
        route: Route<'_>,
        guard: Guard,
        backoff: &mut Backoff,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Ended, StartError> {
        self.lock().transport = route.label();
        if let Some(login) = &self.login {
            login.begin();
        }
        let install = tokio::select! {
            install = Install::expected_of(&self.config, &self.setting) => install,
            why = stopped(stop) => {
                self.become_stopped(why);
                return Ok(Ended::Stopped);
            }
        };
        let (name, login) = (&self.config.name, self.login.clone());
        let mut connection = Connection::start(name, route, login, guard, &self.setting)?;
        info!(target: LIFE_LOG_TARGET, server = %name, "{}", connection.beginning());
        let peer = Arc::clone(connection.peer());
        let outcome = tokio::select! {
            outcome = self.serve(&mut connection, install, backoff) => outcome,
            outcome = peer.answer_questions(self.config.call_timeout) => outcome,
            why = stopped(stop) => {
                self.become_stopped(why);
                Ok(Ended::Stopped)
            }
        };
        peer.close(&format!("server '{}' {}", self.config.name, stop.borrow().farewell()));
        connection.stop().await;
        outcome
    }

    /// Brings the server up and keeps it until it ends.
    async fn serve(
        &self,
        connection: &mut Connection,
        install: Option<Install>,
        backoff: &mut Backoff,
    ) -> Result<Ended, StartError> {
        let started = Instant::now();
        let peer = Arc::clone(connection.peer());
        let greeting = self.greet(connection, install).await?;
        let announces_changes = greeting.announces_changes;
        self.become_ready(greeting, &peer, started.elapsed());
        let ready = Instant::now();
        let ending = tokio::select! {
            ending = connection.ended() => ending,
            ending = self.refresh_forever(&peer) => ending,
            ending = self.renew_forever(&peer) => ending,
            ending = subscription::keep(&peer), if announces_changes => ending,
            ending = peer.enforce_deadlines() => ending,
            login = self.login_lost() => {
                let ended = self.become_logged_out(login);
                peer.close(&self.not_running());
                return Ok(ended);
            }
        };
        let next_start = Instant::now() + backoff.pause_after(ready.elapsed());
        // First, so that whoever loses a call by this end knows what comes next.
        let (last_words, next) = (connection.last_words(), NextStart::At(next_start));
        self.become_failed(&ending, &last_words, Trouble::Ended, next);
        peer.close(&format!("server '{}' {ending}", self.config.name));
        Ok(Ended::Down { next_start })
    }

    async fn greet(
        &self,
        connection: &mut Connection,
        install: Option<Install>,
    ) -> Result<Greeting, StartError> {
        let peer = Arc::clone(connection.peer());
        let (download, turn) = Install::parts(install);
        let limit = start_timeout(&self.config, download.as_ref());
        let greeted = tokio::select! {
            greeting = timeout(limit, handshake::greet(&peer, &self.config.name)) => {
                let too_late =
                    |_| Err(StartError::TimedOut { limit, last_words: connection.last_words() });
                greeting.unwrap_or_else(too_late)
            }
            ending = connection.ended() => {
                Err(StartError::Ended { ending, last_words: connection.last_words() })
            }
            never = install::pass_on(turn) => never,
        };
        if let (Ok(_), Some(download)) = (&greeted, &download) {
            self.setting.downloads.remember(download);
        }
        greeted
    }

    /// Returns when the server is of no use before somebody logs in.
    async fn login_lost(&self) -> &Arc<Login> {
        match &self.login {
            Some(login) => {
                login.lost().await;
                login
            }
            None => std::future::pending().await,
        }
    }

    /// Whether it is down or still being installed, and has never told which tools it has.
    pub fn is_unheard(&self) -> bool {
        let now = self.lock();
        let is_down =
            matches!(now.state, ServerState::Failed { .. } | ServerState::Installing { .. });
        is_down && now.listed.is_empty()
    }

    /// Whether nothing is known about it, because nobody has logged in.
    fn waits_for_login(&self) -> bool {
        let state = &self.lock().state;
        matches!(state, ServerState::Failed { next_start: NextStart::AfterLogin, .. })
    }

    /// Returns when somebody has logged in to a server that waits for that.
    async fn logged_in(&self) {
        match self.login.as_ref().filter(|_| self.waits_for_login()) {
            Some(login) => login.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Introduces us again whenever the server has forgotten us.
    async fn renew_forever<T>(&self, peer: &Peer) -> T {
        let server = &self.config.name;
        loop {
            peer.forgotten().await;
            let limit = self.config.usual_connect_timeout();
            let greeting = timeout(limit, handshake::greet(peer, server)).await;
            match greeting.unwrap_or_else(|_| Err(too_late(limit))) {
                Ok(greeting) => {
                    info!(%server, "the server had forgotten us and knows us again");
                    self.update_tools(greeting.listed, peer);
                }
                Err(error) => {
                    warn!(%server, "the server has forgotten us: {error}");
                    peer.introduced(Err(&plain(&error.to_string(), MAX_REASON)));
                }
            }
        }
    }

    /// Lists the tools again whenever the server says that they changed.
    async fn refresh_forever<T>(&self, peer: &Peer) -> T {
        let server = &self.config.name;
        loop {
            peer.tools_changed().await;
            let limit = self.config.usual_connect_timeout();
            let listed = timeout(limit, listing::list(peer, server)).await;
            match listed.unwrap_or_else(|_| Err(too_late(limit))) {
                Ok(listed) => self.update_tools(listed, peer),
                Err(error) => warn!(%server, "the changed tools could not be listed: {error}"),
            }
            sleep(REFRESH_PAUSE).await;
        }
    }

    fn become_ready(&self, greeting: Greeting, peer: &Arc<Peer>, took: Duration) {
        let Greeting { server_name, server_version, protocol, listed, .. } = greeting;
        let (faces, cut) = (self.faces(listed.faces), listed.cut);
        let (tools, parameters) = self.with_parameters(listed.tools, peer);
        info!(
            server = %self.config.name, tools = tools.len(), took = ?took,
            "connected to {server_name} {server_version}"
        );
        let admitted = self.admit(tools);
        let mut now = self.lock();
        let tools = admitted.tools.len();
        now.state = ServerState::Ready { server_name, server_version, protocol, tools, took };
        now.take_in(admitted);
        now.faces = faces;
        now.parameters = parameters;
        now.cut = cut;
        now.peer = Some(Arc::clone(peer));
        drop(now);
        self.is_up.send_replace(true);
        self.changed.notify_one();
    }

    fn update_tools(&self, listed: Listed, peer: &Peer) {
        let (faces, cut) = (self.faces(listed.faces), listed.cut);
        let (listed, parameters) = self.with_parameters(listed.tools, peer);
        let admitted = self.admit(listed);
        let mut now = self.lock();
        now.take_in(admitted);
        now.faces = faces;
        now.parameters = parameters;
        now.cut = cut;
        drop(now);
        self.changed.notify_one();
    }

    /// Finds the arguments that go into headers. A tool that marks them wrongly is
    /// left out, as the protocol demands.
    fn with_parameters(
        &self,
        tools: Vec<ToolDefinition>,
        peer: &Peer,
    ) -> (Vec<ToolDefinition>, Option<Arc<Parameters>>) {
        let has_headers = !matches!(self.config.transport, Transport::Stdio(_));
        if !has_headers || peer.era() != Era::Stateless {
            return (tools, None);
        }
        let mut parameters = Parameters::default();
        let is_valid = |tool: &ToolDefinition| match parameters.add(tool) {
            Ok(()) => true,
            Err(why) => {
                let name = plain(tool.tool.as_str(), 100);
                warn!(server = %self.config.name, "the tool '{name}' was left out: {why}");
                false
            }
        };
        let tools = tools.into_iter().filter(is_valid).collect();
        (tools, parameters.into_shared())
    }

    fn become_logged_out(&self, login: &Login) -> Ended {
        self.become_failed(&login.advice(), "", Trouble::LoggedOut, NextStart::AfterLogin);
        Ended::Down { next_start: Instant::now() + LOGIN_PAUSE }
    }

    fn become_failed(
        &self,
        reason: &str,
        last_words: &str,
        trouble: Trouble,
        next_start: NextStart,
    ) {
        let (reason, last_words) = (plain(reason, MAX_REASON), plain(last_words, MAX_REASON));
        let mut now = self.lock();
        let is_news =
            !matches!(&now.state, ServerState::Failed { reason: old, .. } if *old == reason);
        let server = &self.config.name;
        let outlook = match next_start {
            NextStart::At(then) if self.setting.start.promises_restart() => {
                format!("; it is started again in {} s", seconds_until(then))
            }
            _ => String::new(),
        };
        warn!(target: LIFE_LOG_TARGET, %server, "not available: {reason}{outlook}");
        if is_news {
            warn!(
                target: AVAILABILITY_LOG_TARGET, %server,
                "the server is not available: {reason}{last_words}{outlook}"
            );
        } else {
            debug!(
                target: AVAILABILITY_LOG_TARGET, %server,
                "the server is still not available{outlook}"
            );
        }
        now.state = ServerState::Failed { reason, last_words, trouble, next_start };
        now.peer = None;
        drop(now);
        self.is_up.send_replace(false);
        self.changed.notify_one();
    }

    /// The reason of the last failure stays until the server is up.
    fn become_restarting(&self) {
        if let ServerState::Failed { next_start: next @ NextStart::At(_), .. } =
            &mut self.lock().state
        {
            *next = NextStart::Now;
        }
    }

    fn become_stopped(&self, why: Stop) {
        let mut now = self.lock();
        if let ServerState::Failed { next_start, .. } = &mut now.state {
            *next_start = NextStart::Never;
        } else {
            now.state = ServerState::Failed {
                reason: why.farewell().to_owned(),
                last_words: String::new(),
                trouble: Trouble::Other,
                next_start: NextStart::Never,
            };
        }
        let is_first = now.stopped == Stop::No;
        now.stopped = why;
        now.peer = None;
        drop(now);
        if is_first && self.is_needed() {
            info!(target: LIFE_LOG_TARGET, server = %self.config.name, "{}", why.farewell());
        }
        self.is_up.send_replace(false);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In whole seconds, and never none: it has not happened yet.
fn seconds_until(then: Instant) -> u64 {
    let wait = then.saturating_duration_since(Instant::now());
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// Of a server that is up, and logs what it says otherwise.
fn too_late(limit: Duration) -> StartError {
    StartError::TimedOut { limit, last_words: String::new() }
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

/// Returns once the server is to stop, or nobody is left who could say so.
async fn stopped(stop: &mut watch::Receiver<Stop>) -> Stop {
    stop.wait_for(|stop| *stop != Stop::No).await.map_or(Stop::Shutdown, |stop| *stop)
}
