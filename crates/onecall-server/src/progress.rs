//! The exchange with a client while its program runs: progress notifications to the client, and
//! questions of bridged servers that the client answers.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use onecall_core::text::readable;
use onecall_core::{BoxFuture, CallableName, Caller, ClientId, ProgressChannel};
use onecall_runtime::{CallEvent, Observer};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde::Deserialize;
use tokio::sync::watch;

use crate::questions::{ClientQuestions, question_channel};
use crate::response_budget::ResponseBudget;
use crate::{client, trace};

/// The shortest time between two progress notifications.
const INTERVAL: Duration = Duration::from_millis(100);

/// Tokens of a server's progress message that are passed on.
const MESSAGE_TOKENS: usize = 150;

/// Observes a program for the client that [`run_with_client`] exchanges messages with.
pub(crate) struct ClientProgress {
    caller: Arc<Caller>,
    /// The name that the client gives itself.
    name: String,
    budget: Arc<ResponseBudget>,
    form: ReportForm,
    state: Arc<watch::Sender<ProgressState>>,
}

/// The receiving end of a [`ClientProgress`]: notifications and questions for the client.
pub(crate) struct ClientChannel {
    state: watch::Receiver<ProgressState>,
    questions: ClientQuestions,
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
    FromServer(ServerReport),
}

/// How progress of a call is reported to the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportForm {
    /// As a sentence: which call of its program it is, and the server's message.
    AsSentence,
    /// As the server reported it.
    AsReported,
}

/// A progress report of a server.
#[derive(Clone, Deserialize)]
struct ServerReport {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl ClientProgress {
    pub(crate) fn new(
        client: ClientId,
        budget: Arc<ResponseBudget>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        Self::with_form(ReportForm::AsSentence, client, budget, context)
    }

    /// Observes a direct call of an exposed tool: reports of the server are passed on, with long
    /// messages cut.
    pub(crate) fn for_exposed_tool(
        client: ClientId,
        budget: Arc<ResponseBudget>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        Self::with_form(ReportForm::AsReported, client, budget, context)
    }

    fn with_form(
        form: ReportForm,
        client: ClientId,
        budget: Arc<ResponseBudget>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        let (state, receiver) = watch::channel(ProgressState::default());
        let state = Arc::new(state);
        let (questions, question_receiver) = question_channel();
        let abilities = client::capabilities_of(
            context.client_capabilities().as_ref(),
            context.protocol_version().as_ref(),
        );
        let wants_progress = context.meta.get_progress_token().is_some();
        let caller = Caller {
            client,
            capabilities: abilities,
            trace: trace::of_request(context).map(Arc::new),
            progress: wants_progress.then(|| form.channel(&state)),
            questions,
        };
        let info = context.client_info();
        let name = info.map_or(String::new(), |info| format!("{} {}", info.name, info.version));
        let progress = Self { caller: Arc::new(caller), name, budget, form, state };
        (progress, ClientChannel { state: receiver, questions: question_receiver })
    }

    /// Updates the progress of the program, if the client has asked for progress.
    fn update(&self, change: impl FnOnce(&mut ProgressState)) {
        if self.caller.progress.is_some() && self.form == ReportForm::AsSentence {
            self.state.send_modify(|state| {
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

impl ReportForm {
    /// A channel for the reports of servers, which turns them into notifications of this form.
    fn channel(self, state: &Arc<watch::Sender<ProgressState>>) -> ProgressChannel {
        let state = Arc::clone(state);
        Arc::new(move |report| match self {
            Self::AsSentence => state.send_modify(|state| {
                state.count = state.count.saturating_add(1);
                state.latest = LatestEvent::Report(report.name.clone(), report.message.to_owned());
            }),
            Self::AsReported => {
                if let Ok(mut reported) = serde_json::from_str::<ServerReport>(report.params.get())
                {
                    if let Some(message) = &mut reported.message {
                        *message = readable(message, MESSAGE_TOKENS);
                    }
                    state.send_modify(|state| state.latest = LatestEvent::FromServer(reported));
                }
            }
        })
    }
}

/// Runs `run` and meanwhile exchanges messages with the client. All of it is one task, because
/// transports find the client by the request that the task works on.
pub(crate) async fn run_with_client<T>(
    run: impl Future<Output = T>,
    channel: ClientChannel,
    context: RequestContext<RoleServer>,
) -> T {
    let ClientChannel { state, questions } = channel;
    let (running, is_running) = watch::channel(());
    let mut forwarding = pin!(questions.forward(&context, is_running));
    let ended = tokio::select! {
        ended = run => ended,
        never = send_progress(state, &context) => match never {},
        never = forever(forwarding.as_mut()) => match never {},
    };
    drop(running);
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
            LatestEvent::FromServer(reported) => reported.into_notification(token.clone()),
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
