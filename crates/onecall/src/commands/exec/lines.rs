//! Reads the lines that the host writes.

use std::io;

use onecall_core::lines::{Line, LineSplitter};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The lines of a stream.
pub(in crate::commands) struct LineReader<R> {
    source: R,
    splitter: LineSplitter,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(in crate::commands) fn new(source: R, limit: usize) -> Self {
        Self { source, splitter: LineSplitter::new(limit) }
    }

    /// The next line; `None` at the end of the stream. Nothing that was read is lost if the future
    /// is dropped.
    pub(in crate::commands) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        while !self.splitter.has_line() {
            if self.source.read_buf(self.splitter.read_buffer()).await? == 0 {
                return Ok(self.splitter.last_line());
            }
        }
        Ok(self.splitter.next_line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn split(limit: usize, text: &[u8]) -> Vec<String> {
        let mut lines = LineReader::new(text, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong(edges) => format!("<{}", String::from_utf8_lossy(&edges.head)),
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
        let mut lines = LineReader::new(text.as_slice(), 1 << 20);
        let Some(Line::TooLong(edges)) = lines.next().await.unwrap() else { panic!("whole") };
        assert!(edges.head.starts_with(b"xxx") && edges.head.len() <= 8 << 10);
        assert!(lines.splitter.read_buffer().capacity() <= 2 << 20);
        assert_eq!(lines.next().await.unwrap(), Some(Line::Whole(b"next")));
    }
}
