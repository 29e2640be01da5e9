//! The exchange with a client while its program or direct call runs: progress and log notifications to
//! the client, and questions of bridged servers that the client answers.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use onecall_core::text::readable;
use onecall_core::{
    BoxFuture, CallableName, Caller, ClientId, ClientInput, LogChannel, LogLevel, ProgressChannel,
};
use onecall_runtime::{CallEvent, Observer};
use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::questions::{ClientQuestions, question_channel};
use crate::response_budget::ResponseBudget;
use crate::{client, trace};

/// The shortest time between two progress notifications.
const INTERVAL: Duration = Duration::from_millis(100);

/// How many messages of a server may wait for a client that is slow.
const MAX_WAITING_MESSAGES: usize = 256;

/// The longest log message of a server that a client gets, in bytes.
const MAX_LOG_BYTES: usize = 64 * 1024;

/// Tokens of a server's progress message that are passed on.
const MESSAGE_TOKENS: usize = 150;

/// Observes a program for the client that [`run_with_client`] exchanges messages with.
pub(crate) struct ClientProgress {
    caller: Arc<Caller>,
    /// The name that the client gives itself.
    name: String,
    budget: Arc<ResponseBudget>,
    /// The progress of a program; `None` for a direct call, about which only its server reports.
    state: Option<Arc<watch::Sender<ProgressState>>>,
}

/// The receiving end of a [`ClientProgress`]: notifications and questions for the client.
pub(crate) struct ClientChannel {
    state: watch::Receiver<ProgressState>,
    questions: ClientQuestions,
    messages: mpsc::Receiver<ServerMessage>,
}

/// A message of a server about a direct call, which the client gets as the server sent it.
enum ServerMessage {
    Progress(ServerReport),
    /// The parameters of a log notification.
    Log(Box<RawValue>),
}

#[derive(Clone, Default)]
struct ProgressState {
    /// How many changes there were. This is the `progress` value of the protocol, which must
    /// increase each time.
    count: u32,
    calls: u32,
    latest: LatestEvent,
}

#[derive(Clone, Default)]
enum LatestEvent {
    #[default]
    Nothing,
    /// The program is queued; so many others are ahead of it.
    Waiting(usize),
    Call(CallableName),
    Report(CallableName, String),
}

/// A progress report of a server.
#[derive(Deserialize)]
struct ServerReport {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl ClientProgress {
    /// Observes a program.
    pub(crate) fn new(
        client: ClientId,
        budget: Arc<ResponseBudget>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        let (state, changes) = watch::channel(ProgressState::default());
        let state = Arc::new(state);
        let (questions, question_receiver) = question_channel();
        let caller = Caller {
            capabilities: client::capabilities_of(
                context.client_capabilities().as_ref(),
                context.protocol_version().as_ref(),
            ),
            trace: trace::of_request(context).map(Arc::new),
            progress: wants_progress(context).then(|| sentence_channel(&state)),
            questions,
            ..Caller::silent(client)
        };
        // A program gets no messages of its servers.
        let (_, messages) = mpsc::channel(1);
        let channel = ClientChannel { state: changes, questions: question_receiver, messages };
        (Self::of_caller(caller, budget, Some(state), context), channel)
    }

    /// Observes a request that is passed on to a server: what the server reports and logs is passed on
    /// to the client, with long messages cut. `log_level` are the messages that the client has asked
    /// for before, and `input` are answers to questions that it got before.
    pub(crate) fn for_exposed(
        client: ClientId,
        budget: Arc<ResponseBudget>,
        log_level: Option<LogLevel>,
        input: ClientInput,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        let (sender, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        let (questions, question_receiver) = question_channel();
        let (_, changes) = watch::channel(ProgressState::default());
        let log_level = if client::answers_by_repeating(context) {
            client::log_level_of(context)
        } else {
            log_level
        };
        let mut caller = Caller {
            trace: trace::of_request(context).map(Arc::new),
            progress: wants_progress(context).then(|| report_channel(sender.clone())),
            log: log_level.map(|level| log_channel(level, sender)),
            ..Caller::silent(client)
        };
        if client::answers_by_repeating(context) {
            caller.capabilities = client::declared_capabilities(context);
            caller.input = Some(Arc::new(input));
        } else {
            let version = context.protocol_version();
            let declared = context.client_capabilities();
            caller.capabilities = client::capabilities_of(declared.as_ref(), version.as_ref());
            caller.questions = questions;
        }
        let channel = ClientChannel { state: changes, questions: question_receiver, messages };
        (Self::of_caller(caller, budget, None, context), channel)
    }

    fn of_caller(
        caller: Caller,
        budget: Arc<ResponseBudget>,
        state: Option<Arc<watch::Sender<ProgressState>>>,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let info = context.client_info();
        let name = info.map_or(String::new(), |info| format!("{} {}", info.name, info.version));
        Self { caller: Arc::new(caller), name, budget, state }
    }

    /// Updates the progress of the program, if the client has asked for progress.
    fn update(&self, change: impl FnOnce(&mut ProgressState)) {
        if let Some(state) = self.state.as_ref().filter(|_| self.caller.progress.is_some()) {
            state.send_modify(|state| {
                state.count = state.count.saturating_add(1);
                change(state);
            });
        }
    }
}

impl Observer for ClientProgress {
    fn queued(&self, before: usize) {
        self.update(|state| state.latest = LatestEvent::Waiting(before));
    }

    fn call_event(&self, event: &CallEvent<'_>) {
        if let CallEvent::Intent(call) = event {
            // A request that follows the run since a later time has not seen the first calls.
            let number = call.log_index.0.and_then(|index| u32::try_from(index).ok());
            let calls = number.map_or(0, |number| number.saturating_add(1));
            self.update(|state| {
                state.calls = state.calls.saturating_add(1).max(calls);
                state.latest = LatestEvent::Call(call.name.clone());
            });
        }
    }

    fn client(&self) -> String {
        self.name.clone()
    }

    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.budget.wait_until_free())
    }

    fn caller(&self) -> Option<Arc<Caller>> {
        Some(Arc::clone(&self.caller))
    }
}

fn wants_progress(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get_progress_token().is_some()
}

/// A channel that turns reports of servers into sentences about a program.
fn sentence_channel(state: &Arc<watch::Sender<ProgressState>>) -> ProgressChannel {
    let state = Arc::clone(state);
    Arc::new(move |report| {
        state.send_modify(|state| {
            state.count = state.count.saturating_add(1);
            state.latest = LatestEvent::Report(report.name.clone(), report.message.to_owned());
        });
    })
}

/// A channel that passes reports of a server on. If the client is slow, further reports are dropped.
fn report_channel(messages: mpsc::Sender<ServerMessage>) -> ProgressChannel {
    Arc::new(move |report| {
        if let Ok(mut reported) = serde_json::from_str::<ServerReport>(report.params.get()) {
            if let Some(message) = &mut reported.message {
                *message = readable(message, MESSAGE_TOKENS);
            }
            let _ = messages.try_send(ServerMessage::Progress(reported));
        }
    })
}

/// A channel that passes log messages of a server on. If the client is slow, further messages are
/// dropped.
fn log_channel(level: LogLevel, messages: mpsc::Sender<ServerMessage>) -> LogChannel {
    let send = Arc::new(move |params: &RawValue| {
        if params.get().len() <= MAX_LOG_BYTES {
            let _ = messages.try_send(ServerMessage::Log(params.to_owned()));
        }
    });
    LogChannel { level, send }
}

/// Runs `run` and meanwhile exchanges messages with the client. All of it is one task, because
/// transports find the client by the request that the task works on.
pub(crate) async fn run_with_client<T>(
    run: impl Future<Output = T>,
    channel: ClientChannel,
    context: RequestContext<RoleServer>,
) -> T {
    let ClientChannel { state, questions, mut messages } = channel;
    let (running, is_running) = watch::channel(());
    let mut forwarding = pin!(questions.forward(&context, is_running));
    let ended = tokio::select! {
        ended = run => ended,
        never = send_progress(state, &context) => match never {},
        never = send_messages(&mut messages, &context) => match never {},
        never = forever(forwarding.as_mut()) => match never {},
    };
    drop(running);
    // What the server sent before its answer arrives before the answer.
    while let Ok(message) = messages.try_recv() {
        message.send(&context).await;
    }
    // The client must not be left with questions whose answers go nowhere.
    forwarding.await;
    ended
}

/// Polls a future that completes only after this one is dropped.
async fn forever(future: impl Future<Output = ()>) -> Infallible {
    future.await;
    std::future::pending().await
}

/// Sends progress notifications. Never completes: the program continues even if the client has
/// stopped listening.
async fn send_progress(
    mut changes: watch::Receiver<ProgressState>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    while changes.changed().await.is_ok() {
        let ProgressState { count, calls, latest } = changes.borrow_and_update().clone();
        let noun = if calls == 1 { "call" } else { "calls" };
        let progress = match latest {
            LatestEvent::Nothing => {
                notification(&token, count, format!("{calls} tool {noun} made"))
            }
            LatestEvent::Waiting(before) => notification(&token, count, queue_message(before)),
            LatestEvent::Call(name) => {
                notification(&token, count, format!("{calls} tool {noun} made, last: {name}"))
            }
            LatestEvent::Report(name, report) => {
                notification(&token, count, format!("{name}: {report}"))
            }
        };
        if context.peer.notify_progress(progress).await.is_err() {
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    std::future::pending().await
}

/// Passes messages of a server on to the client. Never completes.
async fn send_messages(
    messages: &mut mpsc::Receiver<ServerMessage>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    while let Some(message) = messages.recv().await {
        message.send(context).await;
    }
    std::future::pending().await
}

impl ServerMessage {
    /// Sends the message to the client. The call goes on even if the client has stopped listening.
    async fn send(self, context: &RequestContext<RoleServer>) {
        let sent = match self {
            Self::Progress(reported) => {
                let Some(token) = context.meta.get_progress_token() else { return };
                context.peer.notify_progress(reported.into_notification(token)).await
            }
            Self::Log(params) => {
                let params = serde_json::from_str(params.get()).ok();
                let notification = CustomNotification::new("notifications/message", params);
                let notification = ServerNotification::CustomNotification(notification);
                context.peer.send_notification(notification).await
            }
        };
        if let Err(error) = sent {
            tracing::debug!("a message of a server did not reach the client: {error}");
        }
    }
}

fn queue_message(before: usize) -> String {
    let others = "the program waits until others end";
    if before == 0 { others.to_owned() } else { format!("{others}; {before} wait before it") }
}

fn notification(token: &ProgressToken, count: u32, message: String) -> ProgressNotificationParam {
    ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(message)
}

impl ServerReport {
    fn into_notification(self, token: ProgressToken) -> ProgressNotificationParam {
        let mut progress = ProgressNotificationParam::new(token, self.progress);
        (progress.total, progress.message) = (self.total, self.message);
        progress
    }
}
