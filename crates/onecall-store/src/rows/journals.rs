//! Batches of journal events on their way into a database.

use std::collections::BTreeMap;

use onecall_core::RunId;
use onecall_core::storage::JournalBatch;

use crate::encoding::journal_events::EncodedEvent;
use crate::encoding::journal_values::CompressedValue;

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

    /// About how many bytes the batch takes, of whose values these are new.
    pub(crate) fn stored_bytes(&self, new_values: &[&CompressedValue]) -> u64 {
        let events = self.events.iter().map(EncodedEvent::stored_bytes);
        let values = new_values.iter().map(|value| value.stored_bytes());
        events.chain(values).fold(0, u64::saturating_add)
    }
}
