//! The socket of a client. A client that does not read what it is sent loses its connection; sooner
//! if other answers wait for the room that its answer takes.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::unread::Unread;

/// How long a client may leave its answer unread.
pub(super) const UNREAD_TIME: Duration = Duration::from_secs(30);

/// How long a client may leave its answer unread while other answers wait for room.
const SHORT_OF_ROOM: Duration = Duration::from_secs(2);

/// How many bytes a client has to read within `UNREAD_TIME` or `SHORT_OF_ROOM`, unless fewer are
/// left.
const STEP: usize = 64 * 1024;

/// How often a client that does not read is checked.
const ROUND: Duration = Duration::from_millis(500);

/// A connection with a timeout for writing.
pub(super) struct Socket {
    stream: TcpStream,
    unread: Arc<Unread>,
    stalled: Option<Stalled>,
}

/// The state of a client that has not read everything.
struct Stalled {
    since: Instant,
    /// The bytes that the client has read since then.
    read: usize,
    round: Pin<Box<Sleep>>,
}

impl Socket {
    pub fn new(stream: TcpStream, unread: Arc<Unread>) -> Self {
        Self { stream, unread, stalled: None }
    }

    /// Checks the result of an attempt to write `wanted` bytes.
    fn follow(
        &mut self,
        written: Poll<io::Result<usize>>,
        wanted: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let written = match written {
            Poll::Ready(Ok(count)) if count >= wanted => {
                self.stalled = None;
                return Poll::Ready(Ok(count));
            }
            Poll::Ready(Ok(count)) => {
                self.stalled.get_or_insert_with(Stalled::now).progress(count);
                return Poll::Ready(Ok(count));
            }
            other => other,
        };
        if written.is_pending() {
            let stalled = self.stalled.get_or_insert_with(Stalled::now);
            ready!(stalled.poll_gone(&self.unread, context));
            let words = "the client does not read what it is sent";
            return Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, words)));
        }
        written
    }
}

impl Stalled {
    fn now() -> Self {
        Self { since: Instant::now(), read: 0, round: Box::pin(sleep(ROUND)) }
    }

    fn progress(&mut self, count: usize) {
        self.read = self.read.saturating_add(count);
        if self.read >= STEP {
            (self.since, self.read) = (Instant::now(), 0);
        }
    }

    /// Completes when the client's time is over.
    fn poll_gone(&mut self, unread: &Unread, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let allowed = if unread.is_short() { SHORT_OF_ROOM } else { UNREAD_TIME };
            if self.since.elapsed() >= allowed {
                return Poll::Ready(());
            }
            ready!(self.round.as_mut().poll(context));
            self.round.as_mut().reset(Instant::now() + ROUND);
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.follow(written, bytes.len(), context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        let wanted = parts.iter().map(|part| part.len()).sum();
        self.follow(written, wanted, context)
    }

    // Only if this is true, hyper queues large chunks without copying them, and drops each when it
    // is written.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
