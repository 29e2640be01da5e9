//! Reads the streams of child processes line by line.

use onecall_core::lines::{Line, LineSplitter};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads `source` to its end and passes every line to `each`.
pub(crate) async fn read_lines(
    mut source: impl AsyncRead + Unpin,
    limit: usize,
    mut each: impl FnMut(Line<'_>),
) {
    let mut splitter = LineSplitter::new(limit);
    // An error on a pipe means the same as its end: no more data will come.
    while let Ok(1..) = source.read_buf(splitter.read_buffer()).await {
        while let Some(line) = splitter.next_line() {
            each(line);
        }
    }
    if let Some(line) = splitter.last_line() {
        each(line);
    }
}
