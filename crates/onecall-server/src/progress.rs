//! Tells a client that asked for it how a program is getting on.

use std::convert::Infallible;
use std::time::Duration;

use onecall_core::{CallableName, ToolCall};
use onecall_runtime::Observer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;

/// A client is told at most this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// Counts calls for [`report`].
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

/// Sends a notification for each change, and never ends by itself: the program
/// goes on even if the client no longer listens.
pub(crate) async fn report(
    mut changes: watch::Receiver<Calls>,
    token: ProgressToken,
    client: Peer<RoleServer>,
) -> Infallible {
    while changes.changed().await.is_ok() {
        let Calls { made, last } = changes.borrow_and_update().clone();
        let last = last.map_or(String::new(), |last| format!(", last: {last}"));
        let calls = if made == 1 { "call" } else { "calls" };
        let message = format!("{made} tool {calls} made{last}");
        let progress =
            ProgressNotificationParam::new(token.clone(), f64::from(made)).with_message(message);
        if client.notify_progress(progress).await.is_err() {
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    std::future::pending().await
}
