//! The large values of journals: stored once for each run by their digest, compressed, in parts, so
//! that a value can be larger than the largest blob of a database.

use onecall_core::Digest;

use super::to_u64;

/// The length of a part before it is compressed.
const PART_BYTES: usize = 4 * 1024 * 1024;

/// About how many bytes a part takes besides its data.
const PART_OVERHEAD: u64 = 96;

/// A value in its stored form.
pub(crate) struct CompressedValue {
    pub(crate) digest: Digest,
    parts: Vec<ValuePart>,
}

/// A part of a value: its length before it was compressed, and its stored form.
pub(crate) struct ValuePart {
    pub(crate) length: i64,
    pub(crate) data: Vec<u8>,
}

impl CompressedValue {
    pub(crate) fn new(digest: Digest, content: &[u8]) -> Self {
        let parts = content.chunks(PART_BYTES).map(|part| {
            let compressed = lz4_flex::block::compress(part);
            // The length says which of the two it is.
            let data = if compressed.len() < part.len() { compressed } else { part.to_vec() };
            ValuePart { length: i64::try_from(part.len()).unwrap_or(i64::MAX), data }
        });
        Self { digest, parts: parts.collect() }
    }

    /// About how many bytes the value takes in the store.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let sizes =
            self.parts.iter().map(|part| u64::try_from(part.data.len()).unwrap_or(u64::MAX));
        sizes.fold(0, |sum, size| sum.saturating_add(size).saturating_add(PART_OVERHEAD))
    }

    /// The parts, in their order.
    pub(crate) fn parts(&self) -> &[ValuePart] {
        &self.parts
    }
}

/// The value with this digest, from its parts in their order, each with its length before it was
/// compressed; `None` if a part is missing or damaged.
pub(crate) fn decode(
    digest: Digest,
    parts: impl Iterator<Item = (i64, Vec<u8>)>,
) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    for (length, data) in parts {
        content.extend_from_slice(&decompress(to_u64(length), &data)?);
    }
    (Digest::of(&content) == digest).then_some(content)
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
