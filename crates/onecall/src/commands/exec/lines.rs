//! Cuts what the host writes into lines. A line over the limit costs no more memory than
//! its first bytes, and whatever follows it is read as if nothing had happened.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};

/// How much is kept of a line that is too long: enough to find out what it was.
const HEAD: usize = 1024;

/// A buffer that a long line has grown beyond this is given back.
const KEEP: usize = 1024 * 1024;

const CHUNK: usize = 64 * 1024;

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It was over the limit, and began like this.
    TooLong(&'a [u8]),
}

/// The lines of a stream.
pub(in crate::commands) struct Lines<R> {
    source: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// Whether the current line is over the limit.
    too_long: bool,
    /// Whether `line` was handed out and is to make room for the next.
    done: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(in crate::commands) fn new(source: R, limit: usize) -> Self {
        let source = BufReader::with_capacity(CHUNK, source);
        Self { source, limit, line: Vec::new(), too_long: false, done: false }
    }

    /// The next line; `None` at the end of the stream. What was read is not lost if the
    /// future is dropped.
    pub(in crate::commands) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if std::mem::take(&mut self.done) {
            self.too_long = false;
            self.line.clear();
            if self.line.capacity() > KEEP {
                self.line = Vec::new();
            }
        }
        loop {
            let read = self.source.fill_buf().await?;
            let at_end = read.is_empty();
            let newline = read.iter().position(|byte| *byte == b'\n');
            let (part, passed) = match newline {
                Some(length) => (read.get(..length).unwrap_or_default(), length + 1),
                None => (read, read.len()),
            };
            if !self.too_long {
                self.line.extend_from_slice(part);
                if self.line.len() > self.limit {
                    self.too_long = true;
                    self.line.truncate(HEAD);
                    self.line.shrink_to_fit();
                }
            }
            std::pin::Pin::new(&mut self.source).consume(passed);
            if newline.is_none() && !at_end {
                continue;
            }
            if at_end && self.line.is_empty() {
                return Ok(None);
            }
            self.done = true;
            return Ok(Some(match self.too_long {
                false => Line::Whole(&self.line),
                true => Line::TooLong(&self.line),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn split(limit: usize, text: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(text, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong(head) => format!("<{}", String::from_utf8_lossy(head)),
            });
        }
        found
    }

    #[tokio::test]
    async fn lines_end_at_newlines_and_at_the_end() {
        assert_eq!(split(9, b"one\n\ntwo\nthree").await, ["one", "", "two", "three"]);
        assert_eq!(split(9, b"").await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_to_its_newline() {
        assert_eq!(split(4, b"abcd\nabcde\nfg\n").await, ["abcd", "<abcde", "fg"]);
        assert_eq!(split(4, b"abcdefgh").await, ["<abcdefgh"]);
    }

    #[tokio::test]
    async fn a_long_line_costs_a_bounded_amount_of_memory() {
        let text = [vec![b'x'; 64 << 20], b"\nnext\n".to_vec()].concat();
        let mut lines = Lines::new(text.as_slice(), 1 << 20);
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong(&[b'x'; HEAD])));
        assert!(lines.line.capacity() <= 2 << 20);
        assert_eq!(lines.next().await.unwrap(), Some(Line::Whole(b"next")));
    }
}
