//! The tool calls of all programs that wait for an answer of the host.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::message::{HostAnswer, MessageToHost};
use super::outbox::Outbox;

/// How many cancelled calls are remembered, so that their late answers are not reported as errors.
const MAX_CANCELLED: usize = 10_000;

/// The waiting calls by their ids.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<CallsState>>);

#[derive(Default)]
struct CallsState {
    waiting: HashMap<String, oneshot::Sender<HostAnswer>>,
    /// Cancelled calls, whose answers may still arrive.
    cancelled: HashSet<String>,
    /// The cancelled calls, oldest first.
    remembered: VecDeque<String>,
}

/// A call that waits for its answer. Dropping it cancels the call.
pub(super) struct PendingHostCall {
    calls: Calls,
    outbox: Outbox,
    run: String,
    id: String,
    sent: bool,
    answer: oneshot::Receiver<HostAnswer>,
}

impl Calls {
    /// Registers a call. This must happen before it is sent.
    pub(super) fn open(&self, run: &str, id: String, outbox: &Outbox) -> PendingHostCall {
        let (sender, answer) = oneshot::channel();
        self.state().waiting.insert(id.clone(), sender);
        let (calls, outbox, run) = (self.clone(), outbox.clone(), run.to_owned());
        PendingHostCall { calls, outbox, run, id, sent: false, answer }
    }

    /// Accepts an answer; an error if there was no such call.
    pub(super) fn answer(&self, id: &str, answer: HostAnswer) -> Result<(), String> {
        let mut state = self.state();
        if let Some(waiting) = state.waiting.remove(id) {
            _ = waiting.send(answer);
            return Ok(());
        }
        if state.cancelled.remove(id) {
            return Ok(());
        }
        Err(format!(
            "no tool call '{id}' waits for a result: the id is unknown, or the result has arrived already"
        ))
    }

    fn state(&self) -> MutexGuard<'_, CallsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallsState {
    fn remember_cancelled(&mut self, id: String) {
        if self.remembered.len() == MAX_CANCELLED
            && let Some(oldest) = self.remembered.pop_front()
        {
            self.cancelled.remove(&oldest);
        }
        self.remembered.push_back(id.clone());
        self.cancelled.insert(id);
    }
}

impl PendingHostCall {
    /// Notes that the call has been sent.
    pub(super) fn sent(&mut self) {
        self.sent = true;
    }

    /// Waits for the answer; `None` if there will never be one.
    pub(super) async fn answer(&mut self) -> Option<HostAnswer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingHostCall {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        if state.waiting.remove(&self.id).is_none() || !self.sent {
            return;
        }
        state.remember_cancelled(self.id.clone());
        self.outbox
            .send_now(&MessageToHost::ToolCancelled { id: &self.run, tool_call_id: &self.id });
    }
}
