//! What happens between a program that runs and the client it runs for: the client is told
//! how it is getting on, and asked what the servers it uses want to know.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use onecall_core::{
    Abilities, BoxFuture, CallableName, Caller, ClientId, Question, Refusal, ToolCall, TraceContext,
};
use onecall_runtime::Observer;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{client, trace};

/// A client is told at most this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// Questions that wait for a client that is busy with others.
const MAX_WAITING: usize = 16;

/// Watches a program for the client that [`accompany`] speaks to.
pub(crate) struct Progress(Arc<Companion>);

/// The other end of a [`Progress`].
pub(crate) struct Companionship {
    news: watch::Receiver<News>,
    errands: mpsc::Receiver<Errand>,
}

/// What the calls of one program carry along.
struct Companion {
    client: ClientId,
    /// What the client calls itself.
    name: String,
    abilities: Abilities,
    wants_progress: bool,
    trace: Option<TraceContext>,
    told: Told,
    news: watch::Sender<News>,
    errands: mpsc::Sender<Errand>,
}

#[derive(Clone, Default)]
struct News {
    /// How often there was something to tell: what the protocol calls progress, which
    /// only ever grows.
    count: u32,
    calls: u32,
    latest: Latest,
}

#[derive(Clone, Default)]
enum Latest {
    #[default]
    Nothing,
    Call(CallableName),
    Report(CallableName, String),
    Passed(Reported),
}

/// What a client is told of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Which call of its program it is, and what the server says in words.
    InWords,
    /// What the server says, as it said it.
    AsReported,
}

/// What a server reported.
#[derive(Clone, Deserialize)]
struct Reported {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// A question on its way to the client.
struct Errand {
    question: Question,
    answer: oneshot::Sender<Result<Box<RawValue>, Refusal>>,
}

impl Progress {
    pub(crate) fn new(
        client: ClientId,
        context: &RequestContext<RoleServer>,
    ) -> (Self, Companionship) {
        Self::telling(Told::InWords, client, context)
    }

    /// The same for a call that the client makes itself.
    pub(crate) fn passed_on(
        client: ClientId,
        context: &RequestContext<RoleServer>,
    ) -> (Self, Companionship) {
        Self::telling(Told::AsReported, client, context)
    }

    fn telling(
        told: Told,
        client: ClientId,
        context: &RequestContext<RoleServer>,
    ) -> (Self, Companionship) {
        let (news, heard) = watch::channel(News::default());
        let (errands, taken) = mpsc::channel(MAX_WAITING);
        let abilities = client::abilities(
            context.client_capabilities().as_ref(),
            context.protocol_version().as_ref(),
        );
        let wants_progress = context.meta.get_progress_token().is_some();
        let info = context.client_info();
        let name = info.map_or(String::new(), |info| format!("{} {}", info.name, info.version));
        let trace = trace::of(context);
        let companion =
            Companion { client, name, abilities, wants_progress, trace, told, news, errands };
        (Self(Arc::new(companion)), Companionship { news: heard, errands: taken })
    }
}

impl Observer for Progress {
    fn call_started(&self, call: &ToolCall) {
        if !self.0.wants_progress {
            return;
        }
        self.0.news.send_modify(|news| {
            news.count = news.count.saturating_add(1);
            news.calls = news.calls.saturating_add(1);
            news.latest = Latest::Call(call.name.clone());
        });
    }

    fn client(&self) -> String {
        self.0.name.clone()
    }

    fn caller(&self) -> Option<Arc<dyn Caller>> {
        Some(Arc::clone(&self.0) as Arc<dyn Caller>)
    }
}

impl Caller for Companion {
    fn client(&self) -> ClientId {
        self.client
    }

    fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    fn progress(&self, name: &CallableName, report: &str) {
        if self.told == Told::AsReported {
            return;
        }
        self.news.send_modify(|news| {
            news.count = news.count.saturating_add(1);
            news.latest = Latest::Report(name.clone(), report.to_owned());
        });
    }

    fn reported(&self, params: &RawValue) {
        if self.told == Told::AsReported
            && let Ok(reported) = serde_json::from_str(params.get())
        {
            self.news.send_modify(|news| news.latest = Latest::Passed(reported));
        }
    }

    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Box<RawValue>, Refusal>> {
        let errands = self.errands.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let over = Refusal::Nobody("the program that made the call has ended");
            if errands.send(Errand { question, answer }).await.is_err() {
                return Err(over);
            }
            answered.await.unwrap_or(Err(over))
        })
    }
}

impl fmt::Debug for Companion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Companion").field(&self.client).finish()
    }
}

/// Waits for what runs with a [`Progress`], and meanwhile speaks to its client. All of it
/// is one task: transports find the way to the client by the request that it works on.
pub(crate) async fn accompany<T>(
    run: impl Future<Output = T>,
    companionship: Companionship,
    context: RequestContext<RoleServer>,
) -> T {
    let Companionship { news, errands } = companionship;
    tokio::select! {
        ended = run => ended,
        never = report(news, &context) => match never {},
        never = ask(errands, &context) => match never {},
    }
}

/// Never ends by itself: the program goes on even if the client no longer listens.
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

/// Puts every question to the client and brings its answer back.
async fn ask(
    mut errands: mpsc::Receiver<Errand>,
    context: &RequestContext<RoleServer>,
) -> Infallible {
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(Errand { question, mut answer }) = errands.recv(), if open.len() < MAX_WAITING => {
                open.push(async move {
                    let answered =
                        client::put(&context.peer, &question, answer.closed()).await;
                    // Whoever asked may be gone.
                    let _ = answer.send(answered);
                });
            }
            Some(()) = open.next() => {}
            else => return std::future::pending().await,
        }
    }
}
