//! The events of a journal that was loaded, sorted by calls.

use std::collections::HashMap;

use onecall_core::{JournalCall, JournalEvent, RunEngine, ToolError, ToolValue};

/// A call of an earlier process, as the journal has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedCall<'a> {
    pub(crate) call: &'a JournalCall,
    /// How often the call was about to be sent.
    pub(crate) attempts: u64,
    /// The result, if the call ended.
    pub(crate) end: Option<&'a Result<ToolValue, ToolError>>,
    /// Whether the program cancelled the call.
    pub(crate) is_cancelled: bool,
}

/// Everything that a journal says about an earlier process.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents {
    /// The engine that the program began on.
    pub(super) engine: Option<RunEngine>,
    events: Vec<JournalEvent>,
    calls: HashMap<u64, CallEvents>,
    /// The highest id of a call.
    pub(super) last_call: u64,
    /// What the worker observed, joined.
    pub(super) observations: Vec<u8>,
}

/// Where the events of a call are among all events.
#[derive(Debug, Default)]
struct CallEvents {
    called: usize,
    ended: Option<usize>,
    attempts: u64,
    is_cancelled: bool,
}

impl RecordedEvents {
    pub(super) fn of(events: Vec<JournalEvent>) -> Self {
        let mut recorded = Self::default();
        for (position, event) in events.iter().enumerate() {
            recorded.add(position, event);
        }
        Self { events, ..recorded }
    }

    fn add(&mut self, position: usize, event: &JournalEvent) {
        match event {
            JournalEvent::Engine(engine) => self.engine = Some(engine.clone()),
            JournalEvent::Called(call) => {
                self.last_call = self.last_call.max(call.id);
                let events = CallEvents { called: position, ..CallEvents::default() };
                self.calls.insert(call.id, events);
            }
            JournalEvent::Sent { call } => self.change(*call, |call| call.attempts += 1),
            JournalEvent::Ended { call, .. } => {
                self.change(*call, |call| call.ended = Some(position));
            }
            JournalEvent::Cancelled { call } => self.change(*call, |call| call.is_cancelled = true),
            JournalEvent::Observed { bytes } => self.observations.extend_from_slice(bytes),
        }
    }

    fn change(&mut self, call: u64, change: impl FnOnce(&mut CallEvents)) {
        if let Some(call) = self.calls.get_mut(&call) {
            change(call);
        }
    }

    /// The events, in their order.
    pub(super) fn events(&self) -> &[JournalEvent] {
        &self.events
    }

    /// How many events there are.
    pub(super) fn count(&self) -> u64 {
        u64::try_from(self.events.len()).unwrap_or(u64::MAX)
    }

    /// The ids of all calls, in no order.
    pub(super) fn call_ids(&self) -> impl Iterator<Item = u64> {
        self.calls.keys().copied()
    }

    /// The call with this id.
    pub(super) fn call(&self, id: u64) -> Option<RecordedCall<'_>> {
        let CallEvents { called, ended, attempts, is_cancelled } = *self.calls.get(&id)?;
        let JournalEvent::Called(call) = self.events.get(called)? else { return None };
        let end = ended.and_then(|ended| match self.events.get(ended) {
            Some(JournalEvent::Ended { result, .. }) => Some(result),
            _ => None,
        });
        Some(RecordedCall { call, attempts, end, is_cancelled })
    }
}
