//! Tells a client that asked for it how a program is getting on.

use std::convert::Infallible;
use std::time::Duration;

use onecall_core::{CallableName, ToolCall};
use onecall_runtime::Observer;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::watch;

/// A client is told at most this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// Counts calls for [`told`].
pub(crate) struct Progress(watch::Sender<Calls>);

#[derive(Clone, Default)]
pub(crate) struct Calls {
    made: u32,
    last: Option<CallableName>,
}

impl Progress {
    pub(crate) fn new() -> (Self, watch::Receiver<Calls>) {
        let (sender, receiver) = watch::channel(Calls::default());
        (Self(sender), receiver)
    }
}

impl Observer for Progress {
    fn call_started(&self, call: &ToolCall) {
        self.0.send_modify(|calls| {
            calls.made = calls.made.saturating_add(1);
            calls.last = Some(call.name.clone());
        });
    }
}

/// Waits for what runs with a [`Progress`], and meanwhile tells the client that
/// asked for it of every change.
pub(crate) async fn told<T>(
    run: impl Future<Output = T>,
    calls: watch::Receiver<Calls>,
    context: RequestContext<RoleServer>,
) -> T {
    tokio::select! {
        ended = run => ended,
        never = report(calls, context) => match never {},
    }
}

/// Never ends by itself: the program goes on even if the client no longer listens.
async fn report(
    mut changes: watch::Receiver<Calls>,
    context: RequestContext<RoleServer>,
) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    while changes.changed().await.is_ok() {
        let Calls { made, last } = changes.borrow_and_update().clone();
        let last = last.map_or(String::new(), |last| format!(", last: {last}"));
        let calls = if made == 1 { "call" } else { "calls" };
        let message = format!("{made} tool {calls} made{last}");
        let progress =
            ProgressNotificationParam::new(token.clone(), f64::from(made)).with_message(message);
        if context.peer.notify_progress(progress).await.is_err() {
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    std::future::pending().await
}
