//! Compression with the program `gzip`, without names and times, so that equal input gives equal
//! output.

use super::filter::pipe_through;

/// How much time to spend on compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Little,
    Most,
}

/// The bytes of a gzip header without a name.
const HEADER: usize = 10;

/// The bytes of the checksum and the length at the end.
const TRAILER: usize = 8;

/// The input as a gzip file.
pub fn compress(bytes: &[u8], effort: Effort) -> Result<Vec<u8>, String> {
    let level = match effort {
        Effort::Little => "-1",
        Effort::Most => "-9",
    };
    pipe_through("gzip", &["--no-name", "--stdout", level], bytes)
}

/// The input as a raw deflate stream and its CRC-32, as zip archives have them.
pub fn deflate(bytes: &[u8], effort: Effort) -> Result<(Vec<u8>, u32), String> {
    let mut stream = compress(bytes, effort)?;
    let unexpected = || "gzip wrote something that is no gzip file".to_owned();
    let end =
        stream.len().checked_sub(TRAILER).filter(|end| *end >= HEADER).ok_or_else(unexpected)?;
    let sum = stream.get(end..).and_then(<[u8]>::first_chunk).ok_or_else(unexpected)?;
    let sum = u32::from_le_bytes(*sum);
    stream.truncate(end);
    stream.drain(..HEADER);
    Ok((stream, sum))
}
