//! What the thread of a [`JournalWriter`](super::JournalWriter) does: it sorts the items of the queue
//! by run, and writes what belongs to all runs together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_core::storage::{
    DurableRun, DurableState, DurableStore, JournalBatch, JournalRefusal, StoreError,
};
use onecall_core::{InPlaceReason, RunId, Timestamp};
use tokio::sync::oneshot;

use super::super::error::JournalError;
use super::{KEPT_CAPACITY, MAX_UNWRITTEN_BYTES, QueueItem, RunLink, Shared};

/// The thread, with the events that it has taken and not yet written.
pub(super) struct WriterThread<'a> {
    store: &'a dyn DurableStore,
    shared: &'a Shared,
    runs: HashMap<RunId, Unwritten>,
}

/// The unwritten events of a run.
struct Unwritten {
    link: Arc<RunLink>,
    /// The run itself, if the store does not have it yet.
    beginning: Option<Box<DurableRun>>,
    batch: JournalBatch,
    bytes: usize,
    in_place: Option<InPlaceReason>,
    /// Why the last write failed.
    error: Option<JournalError>,
}

impl Unwritten {
    fn new(link: &Arc<RunLink>, first: u64) -> Self {
        let (run, fence, events) = (link.run.clone(), link.fence, Vec::new());
        let batch = JournalBatch { run, fence, first, events };
        let link = Arc::clone(link);
        Self { link, beginning: None, batch, bytes: 0, in_place: None, error: None }
    }

    /// Notes that the store has the run. One that was stored together with its end has no journal.
    fn end_beginning(&mut self) {
        let run = self.beginning.take();
        if run.is_some_and(|run| matches!(run.state, DurableState::Ended(_))) {
            self.batch.events.clear();
            self.in_place = None;
        }
    }

    /// Whether there is something to be written, now or with the next events.
    fn is_pending(&self) -> bool {
        let has_content =
            self.beginning.is_some() || self.in_place.is_some() || !self.batch.events.is_empty();
        has_content && self.link.failed.get().is_none()
    }
}

/// A run that waits for its events to be on disk.
type WaitingSync = (Arc<RunLink>, oneshot::Sender<Result<(), JournalError>>);

impl<'a> WriterThread<'a> {
    /// Creates the thread's state; `run` does the work.
    pub(super) fn new(store: &'a dyn DurableStore, shared: &'a Shared) -> Self {
        Self { store, shared, runs: HashMap::new() }
    }

    /// Writes until the writer is closed and everything is written.
    pub(super) fn run(&mut self) {
        // An error that repeats is logged once.
        let mut last_logged = None;
        let mut items = Vec::new();
        while self.shared.take(&mut items) {
            let syncs = self.sort(items.drain(..));
            items.shrink_to(KEPT_CAPACITY);
            let error = self.write().err();
            if let Some(error) = &error
                && last_logged.as_ref() != Some(error)
            {
                tracing::warn!("journals cannot be written: {error}");
            }
            last_logged = error;
            self.drop_excess();
            for (run, done) in syncs {
                let error = run.failed.get().cloned();
                let unwritten = self.runs.get(&run.run).and_then(|it| it.error.clone());
                _ = done.send(error.or(unwritten).map_or(Ok(()), Err));
            }
            self.shared.written.notify_waiters();
        }
    }

    /// Adds events to the batches of their runs, and returns the syncs.
    fn sort(&mut self, items: impl Iterator<Item = QueueItem>) -> Vec<WaitingSync> {
        let mut syncs = Vec::new();
        for item in items {
            match item {
                QueueItem::Begin { run, bytes, .. } | QueueItem::Event { run, bytes, .. }
                    if run.failed.get().is_some() =>
                {
                    self.shared.free(bytes);
                }
                QueueItem::Begin { run, stored, bytes } => {
                    let unwritten = self.unwritten(&run, 0);
                    unwritten.beginning = Some(stored);
                    unwritten.bytes += bytes;
                }
                QueueItem::Event { run, number, event, bytes } => {
                    let unwritten = self.unwritten(&run, number);
                    unwritten.batch.events.push(event);
                    unwritten.bytes += bytes;
                }
                QueueItem::InPlace { run, reason } => {
                    let first = run.durable.load(Ordering::Acquire);
                    self.unwritten(&run, first).in_place = Some(reason);
                }
                QueueItem::Sync { run, done } => syncs.push((run, done)),
            }
        }
        syncs
    }

    fn unwritten(&mut self, link: &Arc<RunLink>, number: u64) -> &mut Unwritten {
        let entry = self.runs.entry(link.run.clone());
        let unwritten = entry.or_insert_with(|| Unwritten::new(link, number));
        if unwritten.link.fence != link.fence {
            // This process continues the run under a newer lease.
            self.shared.free(unwritten.bytes);
            *unwritten = Unwritten::new(link, number);
        }
        if unwritten.batch.events.is_empty() {
            unwritten.batch.first = number;
        }
        unwritten
    }

    /// Writes all batches in one transaction. What was not written stays for the next time.
    fn write(&mut self) -> Result<(), JournalError> {
        let begun = self.write_beginnings();
        let written = self.write_in_place_reasons().and_then(|()| self.write_batches());
        if let Err(error) = &written {
            self.runs.values_mut().for_each(|unwritten| unwritten.error = Some(error.clone()));
        }
        let mut freed = 0;
        self.runs.retain(|_, unwritten| {
            let is_pending = unwritten.is_pending();
            freed += if is_pending { 0 } else { unwritten.bytes };
            is_pending
        });
        self.shared.free(freed);
        begun.and(written)
    }

    /// Adds all runs to the store that it does not have yet: in one transaction, or each by itself if
    /// one of them cannot be stored. The error is that of the first one.
    fn write_beginnings(&mut self) -> Result<(), JournalError> {
        let is_new = |it: &&mut Unwritten| it.is_pending() && it.beginning.is_some();
        let mut runs: Vec<&mut Unwritten> = self.runs.values_mut().filter(is_new).collect();
        if runs.is_empty() || write_beginnings_of(self.store, &mut runs).is_ok() {
            return Ok(());
        }
        let mut result = Ok(());
        for run in runs.chunks_mut(1) {
            result = result.and(write_beginnings_of(self.store, run));
        }
        result
    }

    fn write_in_place_reasons(&mut self) -> Result<(), JournalError> {
        for unwritten in self.runs.values_mut() {
            let Some(reason) = unwritten.in_place.filter(|_| unwritten.beginning.is_none()) else {
                continue;
            };
            let link = &unwritten.link;
            if !self.store.set_in_place(&link.run, link.fence, reason).map_err(store_error)? {
                link.fail(&JournalRefusal::LeaseLost.into());
            }
            unwritten.in_place = None;
        }
        Ok(())
    }

    fn write_batches(&mut self) -> Result<(), JournalError> {
        let has_events = |it: &&mut Unwritten| {
            it.is_pending() && it.beginning.is_none() && !it.batch.events.is_empty()
        };
        let mut runs: Vec<&mut Unwritten> = self.runs.values_mut().filter(has_events).collect();
        if runs.is_empty() {
            return Ok(());
        }
        let empty = |batch: &JournalBatch| JournalBatch {
            run: batch.run.clone(),
            fence: batch.fence,
            first: batch.first,
            events: Vec::new(),
        };
        let batches: Vec<JournalBatch> = runs
            .iter_mut()
            .map(|it| {
                let empty = empty(&it.batch);
                std::mem::replace(&mut it.batch, empty)
            })
            .collect();
        let written = self.store.append(&batches).map_err(store_error);
        let results = written.as_ref().map_or(&[][..], Vec::as_slice);
        for (index, (unwritten, batch)) in runs.into_iter().zip(batches).enumerate() {
            match results.get(index) {
                Some(Ok(())) => {
                    let count = u64::try_from(batch.events.len()).unwrap_or(u64::MAX);
                    unwritten.batch.first = batch.first.saturating_add(count);
                    unwritten.link.durable.store(unwritten.batch.first, Ordering::Release);
                }
                Some(Err(
                    refusal @ (JournalRefusal::LeaseLost | JournalRefusal::OutOfOrder { .. }),
                )) => unwritten.link.fail(&refusal.clone().into()),
                Some(Err(refusal @ JournalRefusal::Full { .. })) => {
                    unwritten.error = Some(refusal.clone().into());
                    unwritten.batch = batch;
                }
                None => unwritten.batch = batch,
            }
        }
        written.map(|_| ())
    }

    /// Gives up the events of runs that could not be written, if they take too much memory.
    fn drop_excess(&mut self) {
        let bytes: usize = self.runs.values().map(|it| it.bytes).sum();
        if bytes <= MAX_UNWRITTEN_BYTES {
            return;
        }
        for unwritten in self.runs.values() {
            unwritten.link.fail(unwritten.error.as_ref().unwrap_or(&JournalError::Closed));
        }
        self.runs.clear();
        self.shared.free(bytes);
    }
}

/// Adds runs to the store in one transaction.
fn write_beginnings_of(
    store: &dyn DurableStore,
    runs: &mut [&mut Unwritten],
) -> Result<(), JournalError> {
    // The store may have been unreachable for a while; other processes would take the runs over.
    let now = Timestamp::now();
    for unwritten in runs.iter_mut() {
        if let Some(run) = &mut unwritten.beginning {
            run.renew_lease(now);
            unwritten.link.store_state.begin_adding(run);
        }
    }
    let beginnings: Vec<&DurableRun> =
        runs.iter().filter_map(|it| it.beginning.as_deref()).collect();
    let written = store.add_durable_runs(&beginnings);
    runs.iter().for_each(|it| it.link.store_state.end_adding(&written));
    let written = written.map_err(store_error);
    for unwritten in runs {
        match &written {
            Ok(()) => unwritten.end_beginning(),
            Err(error) => unwritten.error = Some(error.clone()),
        }
    }
    written
}

fn store_error(error: StoreError) -> JournalError {
    JournalError::Store { reason: error.to_string() }
}
