//! The journals in records: all events of a run in one compressed blob, in the encoding of
//! `journal_events.rs`. A damaged blob makes a record that cannot be replayed; the rest of the record
//! can still be read.

use onecall_core::storage::{RecordedJournal, ReplayData, ReplayObstacle};
use onecall_core::{Digest, DigestBuilder, JournalEvent, RunId};

use super::journal_events::{EventParts, decode};
use super::to_u64;
use crate::rows::Columns;

/// About how many bytes a row takes besides its events.
const ROW_OVERHEAD: usize = 128;

/// Written in the place of the length of a part that an event does not have.
const ABSENT: u64 = u64::MAX;

/// The longest run of equal bytes that one byte of an LZ4 block stands for.
const HIGHEST_COMPRESSION: u64 = 255;

/// What a record has for a replay, in its stored form.
pub(crate) enum EncodedReplay {
    Journal { seed: [u8; 32], length: i64, events: Vec<u8>, checksum: [u8; 32] },
    Obstacle(String),
}

impl EncodedReplay {
    /// Encodes and compresses what a record has; `None` if it has nothing.
    pub(crate) fn new(run: &RunId, replay: &ReplayData) -> serde_json::Result<Option<Self>> {
        Ok(match replay {
            ReplayData::None => None,
            ReplayData::Impossible(obstacle) => {
                Some(Self::Obstacle(serde_json::to_string(obstacle)?))
            }
            ReplayData::Journal(RecordedJournal { seed, events }) => {
                let content = encode_events(events)?;
                Some(Self::Journal {
                    seed: *seed,
                    length: i64::try_from(content.len()).unwrap_or(i64::MAX),
                    events: lz4_flex::block::compress(&content),
                    checksum: checksum(run, seed, &content).into_bytes(),
                })
            }
        })
    }

    /// About how many bytes it takes in the store.
    pub(crate) fn stored_bytes(&self) -> usize {
        match self {
            Self::Journal { events, .. } => ROW_OVERHEAD + events.len(),
            Self::Obstacle(obstacle) => obstacle.len(),
        }
    }
}

/// The columns that [`read_replay`] reads, in its order.
pub(crate) const COLUMNS: &str = "obstacle, seed, length, events, checksum";

/// What a row of a run has for a replay.
pub(crate) fn read_replay(row: &impl Columns, run: &RunId) -> ReplayData {
    read_row(row, run).unwrap_or(ReplayData::Impossible(ReplayObstacle::Damaged))
}

/// Reads a row; `None` if it is damaged.
fn read_row(row: &impl Columns, run: &RunId) -> Option<ReplayData> {
    if let Some(obstacle) = row.optional_text(0).ok()? {
        return serde_json::from_str(&obstacle).ok().map(ReplayData::Impossible);
    }
    let seed: [u8; 32] = row.array(1).ok()?;
    let length = row.number(2).map(to_u64).ok()?;
    let stored: [u8; 32] = row.array(4).ok()?;
    let content = decompress(length, &row.bytes(3).ok()?)?;
    let is_intact = checksum(run, &seed, &content) == Digest::from_bytes(stored);
    let events = decode_events(&content).filter(|_| is_intact)?;
    Some(ReplayData::Journal(RecordedJournal { seed, events }))
}

/// The uncompressed events. A damaged length makes no large allocation.
fn decompress(length: u64, data: &[u8]) -> Option<Vec<u8>> {
    let longest = u64::try_from(data.len()).ok()?.saturating_mul(HIGHEST_COMPRESSION);
    let length = usize::try_from(length).ok().filter(|_| length <= longest)?;
    lz4_flex::block::decompress(data, length).ok().filter(|content| content.len() == length)
}

fn checksum(run: &RunId, seed: &[u8; 32], content: &[u8]) -> Digest {
    let mut digest = DigestBuilder::default();
    digest.add_part(run.as_str());
    digest.add(seed);
    digest.add_part(content);
    digest.finish()
}

fn encode_events(events: &[JournalEvent]) -> serde_json::Result<Vec<u8>> {
    let mut content = Vec::new();
    for event in events {
        let parts = EventParts::new(event)?;
        add_part(&mut content, Some(parts.kind.as_bytes()));
        add_part(&mut content, Some(parts.head.as_bytes()));
        add_part(&mut content, parts.content.as_deref());
    }
    Ok(content)
}

/// The events; `None` if they are malformed.
fn decode_events(content: &[u8]) -> Option<Vec<JournalEvent>> {
    let (mut rest, mut events) = (content, Vec::new());
    while !rest.is_empty() {
        let kind = str::from_utf8(take_part(&mut rest)??).ok()?;
        let head = str::from_utf8(take_part(&mut rest)??).ok()?;
        let content = take_part(&mut rest)?.map(<[u8]>::to_vec);
        events.push(decode(kind, head, content)?);
    }
    Some(events)
}

/// Adds the length of a part and the part.
fn add_part(content: &mut Vec<u8>, part: Option<&[u8]>) {
    let length = part.map_or(ABSENT, |part| u64::try_from(part.len()).unwrap_or(ABSENT));
    content.extend_from_slice(&length.to_le_bytes());
    content.extend_from_slice(part.unwrap_or_default());
}

/// Removes the first part from `rest`; the inner value is `None` if the event does not have the part,
/// the outer one if the bytes are malformed.
fn take_part<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (length, after) = rest.split_first_chunk()?;
    *rest = after;
    let length = u64::from_le_bytes(*length);
    if length == ABSENT {
        return Some(None);
    }
    let (part, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(part))
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallSite, CallableName, JournalCall, ToolError, ToolValue};

    use super::*;

    fn events() -> Vec<JournalEvent> {
        let name = CallableName::new("mcp__a__b");
        vec![
            JournalEvent::Observed { bytes: vec![0, 1, 255] },
            JournalEvent::Called(JournalCall {
                id: 3,
                name: name.clone(),
                site: Some(CallSite { task: "0.1".to_owned(), line: 2, column: 0 }),
                arguments: r#"{"a":"ä"}"#.to_owned(),
                definition: Some(Digest::of("definition")),
            }),
            JournalEvent::Sent { call: 3 },
            JournalEvent::Ended { call: 3, result: Ok(ToolValue::Nothing) },
            JournalEvent::Ended { call: 4, result: Err(ToolError::failed(&name, "no")) },
            JournalEvent::Cancelled { call: 5 },
        ]
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        let content = encode_events(&events()).unwrap();
        assert_eq!(decode_events(&content), Some(events()));
        for cut in 1..content.len() {
            assert_ne!(decode_events(&content[..cut]), Some(events()));
        }
        assert_eq!(decode_events(&[]), Some(Vec::new()));
    }

    #[test]
    fn a_damaged_blob_is_none() {
        let data = lz4_flex::block::compress(&[7; 1000]);
        assert_eq!(decompress(1000, &data), Some(vec![7; 1000]));
        for length in [0, 999, 1001, u64::MAX] {
            assert_eq!(decompress(length, &data), None, "{length}");
        }
        for cut in 0..data.len() {
            assert_eq!(decompress(1000, &data[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn no_damage_makes_the_reader_fail() {
        let content = encode_events(&events()).unwrap();
        for position in 0..content.len() {
            for bit in 0..8 {
                let mut damaged = content.clone();
                damaged[position] ^= 1 << bit;
                let _ = decode_events(&damaged);
            }
        }
    }
}
