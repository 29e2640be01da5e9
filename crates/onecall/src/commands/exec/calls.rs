//! The tool calls of all programs that wait for an answer of the host.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::message::{Answer, Outgoing};
use super::outbox::Outbox;

/// How many cancelled calls are remembered, so that their late answers are not reported as errors.
const MAX_REMEMBERED: usize = 10_000;

/// The waiting calls by their ids.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: HashMap<String, oneshot::Sender<Answer>>,
    /// Cancelled calls, whose answers may still arrive.
    given_up: HashSet<String>,
    /// The cancelled calls, oldest first.
    remembered: VecDeque<String>,
}

/// A call that waits for its answer. Dropping it cancels the call.
pub(super) struct Waiting {
    calls: Calls,
    outbox: Outbox,
    run: String,
    id: String,
    sent: bool,
    answer: oneshot::Receiver<Answer>,
}

impl Calls {
    /// Registers a call. This must happen before it is sent.
    pub(super) fn open(&self, run: &str, id: String, outbox: &Outbox) -> Waiting {
        let (sender, answer) = oneshot::channel();
        self.state().waiting.insert(id.clone(), sender);
        let (calls, outbox, run) = (self.clone(), outbox.clone(), run.to_owned());
        Waiting { calls, outbox, run, id, sent: false, answer }
    }

    /// Accepts an answer; an error if there was no such call.
    pub(super) fn answer(&self, id: &str, answer: Answer) -> Result<(), String> {
        let mut state = self.state();
        if let Some(waiting) = state.waiting.remove(id) {
            _ = waiting.send(answer);
            return Ok(());
        }
        if state.given_up.remove(id) {
            return Ok(());
        }
        Err(format!("no tool call '{id}' waits for an answer: there was none, or it has one"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn give_up(&mut self, id: String) {
        if self.remembered.len() == MAX_REMEMBERED
            && let Some(oldest) = self.remembered.pop_front()
        {
            self.given_up.remove(&oldest);
        }
        self.remembered.push_back(id.clone());
        self.given_up.insert(id);
    }
}

impl Waiting {
    /// Notes that the call has been sent.
    pub(super) fn sent(&mut self) {
        self.sent = true;
    }

    /// Waits for the answer; `None` if there will never be one.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        if state.waiting.remove(&self.id).is_none() || !self.sent {
            return;
        }
        state.give_up(self.id.clone());
        self.outbox.put_at_once(&Outgoing::ToolCancelled { id: &self.run, tool_call_id: &self.id });
    }
}
