//! The events of a journal that was loaded, sorted by calls.

use std::collections::HashMap;

use onecall_core::{JournalCall, JournalEvent, RunEngine, ToolError, ToolValue};

/// A call of an earlier process, as the journal has it.
#[derive(Clone, Debug)]
pub(crate) struct RecordedCall {
    pub(crate) call: JournalCall,
    /// How often the call was about to be sent.
    pub(crate) attempts: u64,
    /// The result, if the call ended.
    pub(crate) end: Option<Result<ToolValue, ToolError>>,
    /// Whether the program cancelled the call.
    pub(crate) is_cancelled: bool,
}

/// Everything that a journal says about an earlier process.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents {
    /// The engine that the program began on.
    pub(super) engine: Option<RunEngine>,
    pub(super) calls: HashMap<u64, RecordedCall>,
    /// The highest id of a call.
    pub(super) last_call: u64,
    /// What the worker observed, joined.
    pub(super) observations: Vec<u8>,
    /// How many events there are.
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl RecordedEvents {
    pub(super) fn of(events: Vec<JournalEvent>) -> Self {
        let mut recorded = Self::default();
        for event in events {
            recorded.count += 1;
            recorded.bytes += event_bytes(&event);
            recorded.add(event);
        }
        recorded
    }

    fn add(&mut self, event: JournalEvent) {
        match event {
            JournalEvent::Engine(engine) => self.engine = Some(engine),
            JournalEvent::Called(call) => {
                let recorded = RecordedCall { call, attempts: 0, end: None, is_cancelled: false };
                self.last_call = self.last_call.max(recorded.call.id);
                self.calls.insert(recorded.call.id, recorded);
            }
            JournalEvent::Sent { call } => self.change(call, |call| call.attempts += 1),
            JournalEvent::Ended { call, result } => {
                self.change(call, |call| call.end = Some(result));
            }
            JournalEvent::Cancelled { call } => self.change(call, |call| call.is_cancelled = true),
            JournalEvent::Observed { bytes } => self.observations.extend_from_slice(&bytes),
        }
    }

    fn change(&mut self, call: u64, change: impl FnOnce(&mut RecordedCall)) {
        if let Some(call) = self.calls.get_mut(&call) {
            change(call);
        }
    }
}

/// The approximate size of an event in memory.
pub(super) fn event_bytes(event: &JournalEvent) -> u64 {
    const EVENT_BYTES: usize = 64;
    let content = match event {
        JournalEvent::Called(call) => call.arguments.len() + call.name.as_str().len(),
        JournalEvent::Ended { result: Ok(value), .. } => value.size(),
        JournalEvent::Ended { result: Err(error), .. } => error.to_string().len(),
        JournalEvent::Observed { bytes } => bytes.len(),
        JournalEvent::Engine(_) | JournalEvent::Sent { .. } | JournalEvent::Cancelled { .. } => 0,
    };
    u64::try_from(EVENT_BYTES + content).unwrap_or(u64::MAX)
}
