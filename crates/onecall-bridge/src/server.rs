//! One server's life, from its start to its end: connecting, ready, failed. Its
//! tools stay known after its death, so that a call to them can say what happened.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_catalog::ToolDefinition;
use onecall_config::{ServerConfig, Transport};
use onecall_core::{AnswerForm, ServerName, ToolName, ToolValue};
use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::connection::{Connection, Route};
use crate::error::StartError;
use crate::guard::Guard;
use crate::handshake::{self, Greeting};
use crate::listing;
use crate::parameters::Parameters;
use crate::plain::plain;
use crate::request::{Era, Request};
use crate::result::{tool_value, whole_answer};
use crate::rpc::Peer;
use crate::status::{ServerState, ServerStatus};
use crate::subscription;

/// The least time between two listings that a server asks for. However often it
/// says that its tools changed, this is how often we look.
const REFRESH_PAUSE: Duration = Duration::from_millis(500);

/// How much of a reason is shown, in characters: a server may have its say in it.
const MAX_REASON: usize = 2_000;

/// One configured server.
pub(crate) struct Server {
    config: ServerConfig,
    now: Mutex<Now>,
    /// Rung when the tools or the state change.
    changed: Arc<Notify>,
}

/// What is true of a server at the moment.
struct Now {
    transport: &'static str,
    state: ServerState,
    tools: Arc<Vec<ToolDefinition>>,
    /// Which arguments of which tools go into headers, if any do.
    parameters: Option<Arc<Parameters>>,
    peer: Option<Arc<Peer>>,
}

impl Server {
    pub fn new(config: ServerConfig, changed: Arc<Notify>) -> Self {
        let now = Now {
            transport: routes(&config.transport).0.label(),
            state: ServerState::Connecting,
            tools: Arc::default(),
            parameters: None,
            peer: None,
        };
        Self { config, now: Mutex::new(now), changed }
    }

    pub fn name(&self) -> &ServerName {
        &self.config.name
    }

    pub fn status(&self) -> ServerStatus {
        let now = self.lock();
        ServerStatus {
            name: self.config.name.clone(),
            transport: now.transport,
            state: now.state.clone(),
        }
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.lock().state, ServerState::Connecting)
    }

    pub fn tools(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.lock().tools)
    }

    /// Calls one of its tools; an error is what the program reads.
    pub async fn call(
        &self,
        tool: &ToolName,
        arguments: &RawValue,
        form: AnswerForm,
    ) -> Result<ToolValue, String> {
        let (peer, parameters) = {
            let now = self.lock();
            (now.peer.clone(), now.parameters.clone())
        };
        let Some(peer) = peer else {
            return Err(format!("server '{}' is not connected", self.config.name));
        };
        let mirrored = parameters.map(|parameters| parameters.mirrored(tool, arguments));
        let mirrored = mirrored.as_deref().unwrap_or_default();
        let request = Request::CallTool { tool, arguments, mirrored };
        let decode = match form {
            AnswerForm::Value => tool_value,
            AnswerForm::Whole => whole_answer,
        };
        match peer.request(request, Some(self.config.call_timeout), decode).await {
            Ok(value) => value,
            Err(error) => Err(error.to_string()),
        }
    }

    /// Runs the server until it ends or `stop` says so; returns when it is gone.
    pub async fn live(&self, guard: Guard, mut stop: watch::Receiver<bool>) {
        let (route, fallback) = routes(&self.config.transport);
        let first = match self.run(route, guard.clone(), &mut stop).await {
            Ok(()) => return,
            Err(error) => error,
        };
        let error = match fallback.filter(|_| first.may_be_older_transport()) {
            None => first,
            Some(route) => match self.run(route, guard, &mut stop).await {
                Ok(()) => return,
                Err(second) => {
                    let (first, second) = (Box::new(first), Box::new(second));
                    StartError::NeitherTransport { first, second }
                }
            },
        };
        self.fail(&error.to_string());
    }

    /// Runs the server until it ends or `stop` says so; an error if it did not
    /// become usable.
    async fn run(
        &self,
        route: Route<'_>,
        guard: Guard,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), StartError> {
        self.lock().transport = route.label();
        let mut connection = Connection::start(&self.config.name, route, guard)?;
        let peer = Arc::clone(connection.peer());
        let outcome = tokio::select! {
            outcome = self.serve(&mut connection) => outcome.map(|reason| self.fail(&reason)),
            () = stopped(stop) => {
                self.become_failed("was stopped");
                Ok(())
            }
        };
        peer.close(&format!("server '{}' was stopped", self.config.name));
        connection.stop().await;
        outcome
    }

    /// Brings the server up and keeps it until it ends; says why it did.
    async fn serve(&self, connection: &mut Connection) -> Result<String, StartError> {
        let started = Instant::now();
        let peer = Arc::clone(connection.peer());
        let greeting = self.greet(connection).await?;
        let announces_changes = greeting.announces_changes;
        self.become_ready(greeting, &peer, started.elapsed());
        let ending = tokio::select! {
            ending = connection.ended() => ending,
            ending = self.refresh_forever(&peer) => ending,
            ending = self.renew_forever(&peer) => ending,
            ending = subscription::keep(&peer), if announces_changes => ending,
            ending = peer.enforce_deadlines() => ending,
        };
        peer.close(&format!("server '{}' {ending}", self.config.name));
        Ok(format!("{ending}{}", connection.last_words()))
    }

    async fn greet(&self, connection: &mut Connection) -> Result<Greeting, StartError> {
        let peer = Arc::clone(connection.peer());
        let limit = self.config.connect_timeout;
        tokio::select! {
            greeting = timeout(limit, handshake::greet(&peer, &self.config.name)) => {
                greeting.unwrap_or(Err(StartError::TimedOut { limit }))
            }
            ending = connection.ended() => {
                Err(StartError::Ended { ending, last_words: connection.last_words() })
            }
        }
    }

    /// Introduces us again whenever the server has forgotten us.
    async fn renew_forever<T>(&self, peer: &Peer) -> T {
        let server = &self.config.name;
        loop {
            peer.forgotten().await;
            let limit = self.config.connect_timeout;
            let greeting = timeout(limit, handshake::greet(peer, server)).await;
            match greeting.unwrap_or(Err(StartError::TimedOut { limit })) {
                Ok(greeting) => {
                    info!(%server, "the server had forgotten us and knows us again");
                    self.update_tools(greeting.tools, peer);
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
            let limit = self.config.connect_timeout;
            let listed = timeout(limit, listing::list(peer, server)).await;
            match listed.unwrap_or(Err(StartError::TimedOut { limit })) {
                Ok(tools) => {
                    info!(%server, tools = tools.len(), "the server changed its tools");
                    self.update_tools(tools, peer);
                }
                Err(error) => warn!(%server, "the changed tools could not be listed: {error}"),
            }
            sleep(REFRESH_PAUSE).await;
        }
    }

    fn become_ready(&self, greeting: Greeting, peer: &Arc<Peer>, took: Duration) {
        let Greeting { server_name, server_version, protocol, tools, .. } = greeting;
        let (tools, parameters) = self.with_parameters(tools, peer);
        info!(
            server = %self.config.name, tools = tools.len(), took = ?took,
            "connected to {server_name} {server_version}"
        );
        let mut now = self.lock();
        let count = tools.len();
        now.state =
            ServerState::Ready { server_name, server_version, protocol, tools: count, took };
        now.tools = Arc::new(tools);
        now.parameters = parameters;
        now.peer = Some(Arc::clone(peer));
        drop(now);
        self.changed.notify_one();
    }

    fn update_tools(&self, listed: Vec<ToolDefinition>, peer: &Peer) {
        let (listed, parameters) = self.with_parameters(listed, peer);
        let mut now = self.lock();
        if let ServerState::Ready { tools, .. } = &mut now.state {
            *tools = listed.len();
        }
        now.tools = Arc::new(listed);
        now.parameters = parameters;
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

    fn fail(&self, reason: &str) {
        let reason = plain(reason, MAX_REASON);
        warn!(server = %self.config.name, "the server is not available: {reason}");
        self.become_failed(&reason);
    }

    fn become_failed(&self, reason: &str) {
        self.lock().state = ServerState::Failed { reason: reason.to_owned() };
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a server is reached, and how else if it does not understand that.
fn routes(transport: &Transport) -> (Route<'_>, Option<Route<'_>>) {
    match transport {
        Transport::Stdio(transport) => (Route::Stdio(transport), None),
        Transport::Auto(transport) => (Route::Http(transport), Some(Route::Sse(transport))),
        Transport::Http(transport) => (Route::Http(transport), None),
        Transport::Sse(transport) => (Route::Sse(transport), None),
    }
}

/// Returns once everything is to stop, or nobody is left who could say so.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
