//! A copy of the events of a run, which its record gets when the run has ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_core::storage::{RecordedJournal, ReplayData, ReplayObstacle};
use onecall_core::{InPlaceReason, JournalEvent};

/// Bytes of events that the record of one run may have.
const MAX_COPIED_BYTES: usize = 32 * 1024 * 1024;

/// The events of a run in memory. If they become too many, or the run cannot be repeated, they are
/// dropped, and only the reason is kept.
#[derive(Debug)]
pub(crate) struct EventCopy {
    state: Mutex<CopyState>,
}

#[derive(Debug)]
enum CopyState {
    Kept { seed: [u8; 32], events: Vec<JournalEvent>, bytes: usize },
    Dropped(ReplayObstacle),
}

impl EventCopy {
    /// An empty copy for a run whose random numbers come from this seed.
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        let kept = CopyState::Kept { seed, events: Vec::new(), bytes: 0 };
        Self { state: Mutex::new(kept) }
    }

    /// The copy of a run that has nothing to be copied, for this reason.
    pub(crate) fn impossible(obstacle: ReplayObstacle) -> Self {
        Self { state: Mutex::new(CopyState::Dropped(obstacle)) }
    }

    /// Adds an event of this size; `event` makes it, if there is room.
    pub(super) fn add(&self, event_bytes: usize, event: impl FnOnce() -> JournalEvent) {
        let mut state = self.lock();
        let CopyState::Kept { events, bytes, .. } = &mut *state else { return };
        *bytes = bytes.saturating_add(event_bytes);
        if *bytes > MAX_COPIED_BYTES {
            *state = CopyState::Dropped(InPlaceReason::JournalSize.into());
        } else {
            events.push(event());
        }
    }

    /// Drops all events, for this reason. Only the first reason counts.
    pub(super) fn drop_events(&self, obstacle: ReplayObstacle) {
        let mut state = self.lock();
        if matches!(*state, CopyState::Kept { .. }) {
            *state = CopyState::Dropped(obstacle);
        }
    }

    /// Takes the events out, for the record of the run.
    pub(crate) fn take(&self) -> ReplayData {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, CopyState::Dropped(InPlaceReason::NoJournal.into())) {
            CopyState::Kept { seed, events, .. } => {
                ReplayData::Journal(RecordedJournal { seed, events })
            }
            CopyState::Dropped(obstacle) => ReplayData::Impossible(obstacle),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CopyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(copy: &EventCopy) -> Result<usize, ReplayObstacle> {
        match copy.take() {
            ReplayData::Journal(journal) => Ok(journal.events.len()),
            ReplayData::Impossible(obstacle) => Err(obstacle),
            ReplayData::None => unreachable!("a copy always says something"),
        }
    }

    #[test]
    fn a_copy_that_becomes_too_large_is_dropped() {
        let event = || JournalEvent::Sent { call: 1 };
        let copy = EventCopy::new([0; 32]);
        copy.add(MAX_COPIED_BYTES - 1, event);
        copy.add(1, event);
        assert_eq!(kept(&copy), Ok(2));
        let copy = EventCopy::new([0; 32]);
        copy.add(MAX_COPIED_BYTES, event);
        copy.add(1, || unreachable!("there is no room"));
        copy.add(1, || unreachable!("the events were dropped"));
        copy.drop_events(ReplayObstacle::Damaged);
        assert_eq!(kept(&copy), Err(InPlaceReason::JournalSize.into()));
    }

    #[test]
    fn the_first_reason_counts() {
        let copy = EventCopy::new([0; 32]);
        copy.drop_events(InPlaceReason::Threads.into());
        copy.drop_events(InPlaceReason::Clock.into());
        assert_eq!(kept(&copy), Err(InPlaceReason::Threads.into()));
    }
}
