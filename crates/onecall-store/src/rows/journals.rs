//! Batches of journal events on their way into a database.

use std::collections::BTreeMap;

use onecall_core::RunId;
use onecall_core::storage::JournalBatch;

use crate::encoding::journal_events::EncodedEvent;
use crate::encoding::journal_values::CompressedValue;
use crate::encoding::to_i64;

/// A batch in its stored form.
pub(crate) struct EncodedBatch<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) fence: u64,
    pub(crate) first: u64,
    pub(crate) events: Vec<EncodedEvent>,
    /// The values of the events, each once.
    pub(crate) values: BTreeMap<[u8; 32], CompressedValue>,
}

impl<'a> EncodedBatch<'a> {
    /// Encodes several batches. Compressing takes time, so it is done before anything is locked.
    pub(crate) fn encode_all(batches: &'a [JournalBatch]) -> serde_json::Result<Vec<Self>> {
        batches.iter().map(Self::new).collect()
    }

    fn new(batch: &'a JournalBatch) -> serde_json::Result<Self> {
        let mut values = BTreeMap::new();
        let mut events = Vec::with_capacity(batch.events.len());
        for event in &batch.events {
            let (encoded, value) = EncodedEvent::new(event)?;
            events.push(encoded);
            values.extend(value.map(|value| (value.digest.into_bytes(), value)));
        }
        Ok(Self { run: &batch.run, fence: batch.fence, first: batch.first, events, values })
    }

    /// How many events at the beginning of the batch the journal must have already, whose next event has
    /// the number `expected`, for the rest to come next; `None` if the batch cannot come next.
    pub(crate) fn stored_before(&self, expected: u64) -> Option<usize> {
        let stored = usize::try_from(expected.checked_sub(self.first)?).ok()?;
        (stored <= self.events.len()).then_some(stored)
    }

    /// Whether these are the checksums of the first events of the batch, in the journal of the run with
    /// this number.
    pub(crate) fn begins_with(&self, run: i64, checksums: &[Vec<u8>]) -> bool {
        let numbers = to_i64(self.first)..;
        let own =
            self.events.iter().zip(numbers).map(|(event, number)| event.checksum(run, number));
        own.take(checksums.len()).eq(checksums.iter().map(Vec::as_slice))
    }

    /// Leaves the first events out.
    pub(crate) fn skip(&mut self, count: usize) {
        self.events.drain(..count);
        self.first = self.first.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// About how many bytes the batch takes, of whose values these are new.
    pub(crate) fn stored_bytes(&self, new_values: &[&CompressedValue]) -> u64 {
        let events = self.events.iter().map(EncodedEvent::stored_bytes);
        let values = new_values.iter().map(|value| value.stored_bytes());
        events.chain(values).fold(0, u64::saturating_add)
    }
}
