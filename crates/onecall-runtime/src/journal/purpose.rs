//! What the journal of a run is for, which decides where its events go.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use onecall_core::{InPlaceReason, JournalEvent};

use super::error::JournalError;
use super::writer::{JournalWriter, RunLink};

/// What a journal is for.
pub(super) enum JournalPurpose {
    /// Another process can continue the run: the events are written to the store.
    Continuation(Arc<JournalWriter>),
    /// The run can be replayed after it has ended: the events are only copied for its record.
    Record,
    /// A recorded run is replayed: there are no new events.
    Replay,
}

impl JournalPurpose {
    fn writer(&self) -> Option<&JournalWriter> {
        match self {
            Self::Continuation(writer) => Some(writer),
            Self::Record | Self::Replay => None,
        }
    }

    /// Appends an event to the store, if it goes there.
    pub(super) fn append(
        &self,
        run: &Arc<RunLink>,
        number: u64,
        event: JournalEvent,
        bytes: usize,
    ) {
        if let Some(writer) = self.writer() {
            writer.append(run, number, event, bytes);
        }
    }

    /// Writes all events soon, if they go to the store.
    pub(super) fn write_soon(&self) {
        if let Some(writer) = self.writer() {
            writer.write_soon();
        }
    }

    /// Waits until all events are on disk, if they go there; `appended` is how many there are.
    pub(super) async fn sync(&self, run: &Arc<RunLink>, appended: u64) -> Result<(), JournalError> {
        match self.writer() {
            Some(writer) => writer.sync(run, appended).await,
            None => Ok(()),
        }
    }

    /// Waits until there is room for more events.
    pub(super) async fn room(&self) {
        if let Some(writer) = self.writer() {
            writer.room().await;
        }
    }

    /// Frees the events of a closed journal that wait to be written.
    pub(super) fn free_events(&self, run: &Arc<RunLink>) {
        if let Some(writer) = self.writer() {
            writer.free_events(run);
        }
    }

    /// Notes in the store that only this process can continue the run, if another one could.
    pub(super) fn set_in_place(&self, run: &Arc<RunLink>, reason: InPlaceReason) {
        if let Some(writer) = self.writer() {
            writer.set_in_place(run, reason);
        }
    }
}

/// A seed for the random numbers of a program, from the operating system.
pub(super) fn random_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}
