//! The exchange with a client while its program runs: progress notifications to the client, and
//! questions of bridged servers that the client answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use onecall_core::text::readable;
use onecall_core::{
    BoxFuture, CallableName, Caller, ClientId, ProgressChannel, Question, QuestionChannel, Refusal,
};
use onecall_runtime::{CallEvent, Observer};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};

use crate::unread::Unread;
use crate::{client, trace};

/// The shortest time between two progress notifications.
const INTERVAL: Duration = Duration::from_millis(100);

/// Tokens of a server's progress message that are passed on.
const MESSAGE_TOKENS: usize = 150;

/// How many questions are put to a client at once, and how many more may wait.
const MAX_WAITING: usize = 16;

/// Observes a program for the client that [`run_with_client`] exchanges messages with.
pub(crate) struct Progress {
    caller: Arc<Caller>,
    /// The name that the client gives itself.
    name: String,
    unread: Arc<Unread>,
    told: Told,
    news: Arc<watch::Sender<News>>,
}

/// The receiving end of a [`Progress`]: notifications and questions for the client.
pub(crate) struct ClientChannel {
    news: watch::Receiver<News>,
    questions: mpsc::Receiver<ClientQuestion>,
}

#[derive(Clone, Default)]
struct News {
    /// How many changes there were. This is the `progress` value of the protocol, which must
    /// increase each time.
    count: u32,
    calls: u32,
    latest: Latest,
}

#[derive(Clone, Default)]
enum Latest {
    #[default]
    Nothing,
    /// The program is queued; so many others are ahead of it.
    Waiting(usize),
    Call(CallableName),
    Report(CallableName, String),
    Passed(Reported),
}

/// How progress of a call is reported to the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// As a sentence: which call of its program it is, and the server's message.
    InWords,
    /// As the server reported it.
    AsReported,
}

/// A progress report of a server.
#[derive(Clone, Deserialize)]
struct Reported {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// A question for the client, and where its answer goes.
struct ClientQuestion {
    question: Question,
    answer: oneshot::Sender<Result<Box<RawValue>, Refusal>>,
}

impl Progress {
    pub(crate) fn new(
        client: ClientId,
        unread: &Arc<Unread>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        Self::telling(Told::InWords, client, unread, context)
    }

    /// Observes a direct call of an exposed tool: reports of the server are passed on, with long
    /// messages cut.
    pub(crate) fn passed_on(
        client: ClientId,
        unread: &Arc<Unread>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        Self::telling(Told::AsReported, client, unread, context)
    }

    fn telling(
        told: Told,
        client: ClientId,
        unread: &Arc<Unread>,
        context: &RequestContext<RoleServer>,
    ) -> (Self, ClientChannel) {
        let (news, heard) = watch::channel(News::default());
        let news = Arc::new(news);
        let (questions, taken) = mpsc::channel(MAX_WAITING);
        let abilities = client::abilities(
            context.client_capabilities().as_ref(),
            context.protocol_version().as_ref(),
        );
        let wants_progress = context.meta.get_progress_token().is_some();
        let caller = Caller {
            client,
            abilities,
            trace: trace::of(context).map(Arc::new),
            progress: wants_progress.then(|| told.channel(&news)),
            questions: question_channel(questions),
        };
        let info = context.client_info();
        let name = info.map_or(String::new(), |info| format!("{} {}", info.name, info.version));
        let progress =
            Self { caller: Arc::new(caller), name, unread: Arc::clone(unread), told, news };
        (progress, ClientChannel { news: heard, questions: taken })
    }

    /// Updates the progress of the program, if the client has asked for progress.
    fn tell(&self, change: impl FnOnce(&mut News)) {
        if self.caller.progress.is_some() && self.told == Told::InWords {
            self.news.send_modify(|news| {
                news.count = news.count.saturating_add(1);
                change(news);
            });
        }
    }
}

impl Observer for Progress {
    fn waits(&self, before: usize) {
        self.tell(|news| news.latest = Latest::Waiting(before));
    }

    fn call_event(&self, event: &CallEvent<'_>) {
        if let CallEvent::Intent(call) = event {
            self.tell(|news| {
                news.calls = news.calls.saturating_add(1);
                news.latest = Latest::Call(call.name.clone());
            });
        }
    }

    fn client(&self) -> String {
        self.name.clone()
    }

    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.unread.settled())
    }

    fn caller(&self) -> Option<Arc<Caller>> {
        Some(Arc::clone(&self.caller))
    }
}

impl Told {
    /// A channel for the reports of servers, which turns them into notifications of this form.
    fn channel(self, news: &Arc<watch::Sender<News>>) -> ProgressChannel {
        let news = Arc::clone(news);
        Arc::new(move |report| match self {
            Self::InWords => news.send_modify(|news| {
                news.count = news.count.saturating_add(1);
                news.latest = Latest::Report(report.name.clone(), report.message.to_owned());
            }),
            Self::AsReported => {
                if let Ok(mut reported) = serde_json::from_str::<Reported>(report.params.get()) {
                    if let Some(message) = &mut reported.message {
                        *message = readable(message, MESSAGE_TOKENS);
                    }
                    news.send_modify(|news| news.latest = Latest::Passed(reported));
                }
            }
        })
    }
}

fn question_channel(questions: mpsc::Sender<ClientQuestion>) -> QuestionChannel {
    Arc::new(move |question| {
        let questions = questions.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let over = Refusal::Nobody("the program that made the call has ended");
            if questions.send(ClientQuestion { question, answer }).await.is_err() {
                return Err(over);
            }
            answered.await.unwrap_or(Err(over))
        })
    })
}

/// Runs `run` and meanwhile exchanges messages with the client. All of it is one task, because
/// transports find the client by the request that the task works on.
pub(crate) async fn run_with_client<T>(
    run: impl Future<Output = T>,
    channel: ClientChannel,
    context: RequestContext<RoleServer>,
) -> T {
    let ClientChannel { news, questions } = channel;
    tokio::select! {
        ended = run => ended,
        never = report(news, &context) => match never {},
        never = ask(questions, &context) => match never {},
    }
}

/// Sends progress notifications. Never completes: the program continues even if the client has
/// stopped listening.
async fn report(
    mut changes: watch::Receiver<News>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    while changes.changed().await.is_ok() {
        let News { count, calls, latest } = changes.borrow_and_update().clone();
        let noun = if calls == 1 { "call" } else { "calls" };
        let progress = match latest {
            Latest::Passed(reported) => reported.about(token.clone()),
            Latest::Nothing => told(&token, count, format!("{calls} tool {noun} made")),
            Latest::Waiting(before) => told(&token, count, waiting(before)),
            Latest::Call(name) => {
                told(&token, count, format!("{calls} tool {noun} made, last: {name}"))
            }
            Latest::Report(name, report) => told(&token, count, format!("{name}: {report}")),
        };
        if context.peer.notify_progress(progress).await.is_err() {
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    std::future::pending().await
}

fn waiting(before: usize) -> String {
    let others = "the program waits until others end";
    if before == 0 { others.to_owned() } else { format!("{others}; {before} wait before it") }
}

fn told(token: &ProgressToken, count: u32, message: String) -> ProgressNotificationParam {
    ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(message)
}

impl Reported {
    fn about(self, token: ProgressToken) -> ProgressNotificationParam {
        let mut progress = ProgressNotificationParam::new(token, self.progress);
        (progress.total, progress.message) = (self.total, self.message);
        progress
    }
}

/// Sends each question to the client, and returns its answer to the server that asked.
async fn ask(
    mut questions: mpsc::Receiver<ClientQuestion>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(ClientQuestion { question, mut answer }) = questions.recv(), if open.len() < MAX_WAITING => {
                open.push(async move {
                    let answered =
                        client::put(&context.peer, &question, answer.closed()).await;
                    // The call that caused the question may have ended.
                    let _ = answer.send(answered);
                });
            }
            Some(()) = open.next() => {}
            else => return std::future::pending().await,
        }
    }
}
