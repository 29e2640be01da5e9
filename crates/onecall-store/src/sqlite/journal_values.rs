//! The large values of journals: stored once for each run by their digest, compressed, in parts, so
//! that a value can be larger than the largest blob of SQLite.

use onecall_core::Digest;
use rusqlite::{Connection, Transaction, params};

use super::{to_i64, to_u64};

/// The length of a part before it is compressed.
const PART_BYTES: usize = 4 * 1024 * 1024;

/// About how many bytes a part takes besides its data.
const PART_OVERHEAD: u64 = 96;

/// A value in its stored form.
pub(super) struct CompressedValue {
    pub(super) digest: Digest,
    parts: Vec<Part>,
}

struct Part {
    length: usize,
    data: Vec<u8>,
}

impl CompressedValue {
    pub(super) fn new(digest: Digest, content: &[u8]) -> Self {
        let parts = content.chunks(PART_BYTES).map(|part| {
            let compressed = lz4_flex::block::compress(part);
            // The length says which of the two it is.
            let data = if compressed.len() < part.len() { compressed } else { part.to_vec() };
            Part { length: part.len(), data }
        });
        Self { digest, parts: parts.collect() }
    }

    /// About how many bytes the value takes in the store.
    pub(super) fn stored_bytes(&self) -> u64 {
        let sizes =
            self.parts.iter().map(|part| u64::try_from(part.data.len()).unwrap_or(u64::MAX));
        sizes.fold(0, |sum, size| sum.saturating_add(size).saturating_add(PART_OVERHEAD))
    }

    pub(super) fn insert(&self, transaction: &Transaction<'_>, run: i64) -> rusqlite::Result<()> {
        let mut statement = transaction.prepare_cached(
            "INSERT INTO journal_values (run, digest, part, length, data)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (number, part) in (0_i64..).zip(&self.parts) {
            let length = to_i64(u64::try_from(part.length).unwrap_or(u64::MAX));
            statement.execute(params![run, self.digest.into_bytes(), number, length, part.data])?;
        }
        Ok(())
    }
}

/// Whether the run has a value with this digest.
pub(super) fn is_stored(
    connection: &Connection,
    run: i64,
    digest: Digest,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM journal_values WHERE run = ?1 AND digest = ?2")?
        .exists(params![run, digest.into_bytes()])
}

/// Reads a value; `None` if it is missing or damaged.
pub(super) fn read(
    connection: &Connection,
    run: i64,
    digest: Digest,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = connection.prepare_cached(
        "SELECT length, data FROM journal_values WHERE run = ?1 AND digest = ?2 ORDER BY part",
    )?;
    let mut rows = statement.query(params![run, digest.into_bytes()])?;
    let mut content = Vec::new();
    while let Some(row) = rows.next()? {
        let (Ok(length), Ok(data)) = (row.get(0).map(to_u64), row.get_ref(1)?.as_blob()) else {
            return Ok(None);
        };
        let Some(part) = decompress(length, data) else { return Ok(None) };
        content.extend_from_slice(&part);
    }
    Ok((Digest::of(&content) == digest).then_some(content))
}

/// The content of a part. A damaged length makes no large allocation.
fn decompress(length: u64, data: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok().filter(|length| *length <= PART_BYTES)?;
    if data.len() == length {
        return Some(data.to_vec());
    }
    lz4_flex::block::decompress(data, length).ok().filter(|part| part.len() == length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_part_is_none() {
        let data = lz4_flex::block::compress(&[7; 1000]);
        assert_eq!(decompress(1000, &data), Some(vec![7; 1000]));
        assert_eq!(decompress(4, b"abcd"), Some(b"abcd".to_vec()));
        for length in [0, 999, 1001, u64::MAX] {
            assert_eq!(decompress(length, &data), None, "{length}");
        }
        for cut in 0..data.len() {
            assert_eq!(decompress(1000, &data[..cut]), None, "{cut}");
        }
    }
}
