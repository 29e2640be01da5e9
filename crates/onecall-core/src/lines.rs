//! Splits a byte stream into lines, however the bytes arrive. Every byte is examined once, and of a
//! line over the limit only its two ends are kept in memory. The reader of the stream appends to
//! [`LineSplitter::read_buffer`] and takes lines from [`LineSplitter::next_line`].

use std::io::BufRead;
use std::mem;

/// How many bytes are kept of each end of a line that is too long: enough to identify the message.
const KEPT_END_BYTES: usize = 4 * 1024;

/// The initial buffer size of a stream, and the smallest space offered to a read.
const READ_BYTES: usize = 16 * 1024;

/// A buffer that a long line has grown beyond this size is released.
const MAX_KEPT_CAPACITY: usize = 1024 * 1024;

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The complete line.
    Whole(&'a [u8]),
    /// The line was over the limit; only its ends were kept.
    TooLong(TruncatedLine),
}

/// The two ends of a line that was over the limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TruncatedLine {
    /// The first bytes of the line.
    pub head: Vec<u8>,
    /// The last bytes of the line, which may overlap the first ones.
    pub tail: Vec<u8>,
}

impl TruncatedLine {
    /// Adds the next bytes of the line.
    pub fn add(&mut self, bytes: &[u8]) {
        let missing = KEPT_END_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..missing).unwrap_or_default());
        let last = bytes.len().saturating_sub(KEPT_END_BYTES);
        self.tail.extend_from_slice(bytes.get(last..).unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(KEPT_END_BYTES));
    }
}

/// Splits the bytes it is given into lines.
pub struct LineSplitter {
    /// Unconsumed bytes from `start`; those before `scanned` hold no newline.
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    limit: usize,
    /// Set while inside a line that is over the limit.
    too_long: Option<TruncatedLine>,
}

impl LineSplitter {
    /// A splitter of lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, limit, too_long: None }
    }

    /// The buffer, with spare capacity to append the next read.
    pub fn read_buffer(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_KEPT_CAPACITY {
            self.buffer = Vec::new();
        }
        let capacity = self.buffer.capacity();
        if capacity - self.buffer.len() < READ_BYTES {
            // Doubling, but never much beyond the longest line allowed.
            let wanted = (capacity * 2).min(self.limit).max(self.buffer.len()) + READ_BYTES;
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        &mut self.buffer
    }

    /// How many bytes of an incomplete line are buffered.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Adds the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        // In pieces, so that the buffer grows by the rules of `read_buffer`.
        for piece in bytes.chunks(READ_BYTES) {
            self.read_buffer().extend_from_slice(piece);
        }
    }

    /// Whether a complete line is buffered, which [`next_line`](Self::next_line) will return.
    pub fn has_line(&mut self) -> bool {
        if let Some(length) = find_newline(self.buffer.get(self.scanned..).unwrap_or_default()) {
            self.scanned += length;
            return true;
        }
        self.scanned = self.buffer.len();
        if self.too_long.is_some() || self.scanned - self.start > self.limit {
            self.discard();
        }
        false
    }

    /// The next complete line, if one is buffered.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        if !self.has_line() {
            return None;
        }
        let (start, end) = (self.start, self.scanned);
        self.start = end + 1;
        self.scanned = self.start;
        let bytes = self.buffer.get(start..end).unwrap_or_default();
        if self.too_long.is_none() && bytes.len() <= self.limit {
            return Some(Line::Whole(bytes));
        }
        let mut truncated = self.too_long.take().unwrap_or_default();
        truncated.add(bytes);
        Some(Line::TooLong(truncated))
    }

    /// The bytes after the last newline, once the stream has ended.
    pub fn last_line(&mut self) -> Option<Line<'_>> {
        let start = mem::replace(&mut self.start, self.buffer.len());
        self.scanned = self.start;
        if let Some(truncated) = self.too_long.take() {
            return Some(Line::TooLong(truncated));
        }
        let bytes = self.buffer.get(start..).filter(|bytes| !bytes.is_empty())?;
        Some(Line::Whole(bytes))
    }

    /// Drops all of the current line except its ends.
    fn discard(&mut self) {
        let buffer = mem::take(&mut self.buffer);
        let truncated = self.too_long.get_or_insert_default();
        truncated.add(buffer.get(self.start..).unwrap_or_default());
        self.start = 0;
        self.scanned = 0;
        if buffer.capacity() <= MAX_KEPT_CAPACITY {
            self.buffer = buffer;
            self.buffer.clear();
        }
    }
}

/// How many bytes come before the first newline.
fn find_newline(mut bytes: &[u8]) -> Option<usize> {
    let whole = bytes;
    // `skip_until` uses the standard library's fast byte search.
    let passed = bytes.skip_until(b'\n').ok()?;
    let last = passed.checked_sub(1)?;
    (whole.get(last) == Some(&b'\n')).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `chunks`, each of which arrives in a read of its own; a line
    /// that is too long as its two ends.
    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<String> {
        fn show(line: Line<'_>) -> String {
            match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong(truncated) => format!(
                    "<{}…{}>",
                    String::from_utf8_lossy(&truncated.head),
                    String::from_utf8_lossy(&truncated.tail)
                ),
            }
        }
        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.read_buffer().extend_from_slice(chunk);
            while let Some(line) = splitter.next_line() {
                lines.push(show(line));
            }
        }
        lines.extend(splitter.last_line().map(show));
        assert_eq!(splitter.last_line(), None);
        lines
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let text = b"one\n\ntwo and more\nthree";
        let expected = ["one", "", "two and more", "three"];
        assert_eq!(split(100, &[text]), expected);
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(split(100, &single), expected);
        assert_eq!(split(100, &[b"one\n\ntwo a", b"nd more", b"\nthree"]), expected);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_to_its_newline() {
        assert_eq!(split(4, &[b"abcd\n"]), ["abcd"]);
        assert_eq!(split(4, &[b"abcde\nfg\n"]), ["<abcde…abcde>", "fg"]);
        assert_eq!(
            split(4, &[b"ab", b"cde", b"fgh", b"ij\nk", b"l\n"]),
            ["<abcdefghij…abcdefghij>", "kl"]
        );
        assert_eq!(split(4, &[b"abcdefgh"]), ["<abcdefgh…abcdefgh>"]);
    }

    #[test]
    fn an_endless_line_costs_a_bounded_amount_of_memory() {
        let limit = 1 << 20;
        let mut splitter = LineSplitter::new(limit);
        splitter.read_buffer().extend_from_slice(b"start ");
        for _ in 0..2_000 {
            splitter.read_buffer().extend_from_slice(&[b'x'; READ_BYTES]);
            assert_eq!(splitter.next_line(), None);
            assert!(splitter.buffer.capacity() <= limit + 2 * READ_BYTES);
        }
        splitter.read_buffer().extend_from_slice(b" end\nnext\n");
        let Some(Line::TooLong(truncated)) = splitter.next_line() else { panic!("not too long") };
        assert!(truncated.head.starts_with(b"start xxx") && truncated.head.len() == KEPT_END_BYTES);
        assert!(truncated.tail.ends_with(b"xxx end") && truncated.tail.len() == KEPT_END_BYTES);
        assert_eq!(splitter.next_line(), Some(Line::Whole(b"next")));
    }

    #[test]
    fn the_buffer_of_a_huge_line_is_given_back() {
        let mut splitter = LineSplitter::new(64 << 20);
        splitter.read_buffer().extend_from_slice(&vec![b'x'; 8 << 20]);
        splitter.read_buffer().extend_from_slice(b"\n");
        assert!(matches!(splitter.next_line(), Some(Line::Whole(_))));
        assert!(splitter.read_buffer().capacity() <= MAX_KEPT_CAPACITY);
    }
}
