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

use crate::response_budget::ResponseBudget;

/// How long a client may leave its answer unread.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may leave its answer unread while other answers wait for room.
const WRITE_TIMEOUT_WHEN_FULL: Duration = Duration::from_secs(2);

/// How many bytes a client has to read within one of these timeouts, unless fewer are left.
const STEP_BYTES: usize = 64 * 1024;

/// How often a client that does not read is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// A connection with a timeout for writing.
pub(super) struct ClientSocket {
    stream: TcpStream,
    budget: Arc<ResponseBudget>,
    stalled: Option<Stalled>,
}

/// The state of a client that has not read everything.
struct Stalled {
    since: Instant,
    /// The bytes that the client has read since then.
    read: usize,
    timer: Pin<Box<Sleep>>,
}

impl ClientSocket {
    pub fn new(stream: TcpStream, budget: Arc<ResponseBudget>) -> Self {
        Self { stream, budget, stalled: None }
    }

    /// Checks the result of an attempt to write `wanted` bytes.
    fn check_write(
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
                self.stalled.get_or_insert_with(Stalled::new).progress(count);
                return Poll::Ready(Ok(count));
            }
            other => other,
        };
        if written.is_pending() {
            let stalled = self.stalled.get_or_insert_with(Stalled::new);
            ready!(stalled.poll_timed_out(&self.budget, context));
            let message = "the client does not read what it is sent";
            return Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, message)));
        }
        written
    }
}

impl Stalled {
    fn new() -> Self {
        Self { since: Instant::now(), read: 0, timer: Box::pin(sleep(CHECK_INTERVAL)) }
    }

    fn progress(&mut self, count: usize) {
        self.read = self.read.saturating_add(count);
        if self.read >= STEP_BYTES {
            (self.since, self.read) = (Instant::now(), 0);
        }
    }

    /// Completes when the client's time is over.
    fn poll_timed_out(&mut self, budget: &ResponseBudget, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let allowed =
                if budget.is_exhausted() { WRITE_TIMEOUT_WHEN_FULL } else { WRITE_TIMEOUT };
            if self.since.elapsed() >= allowed {
                return Poll::Ready(());
            }
            ready!(self.timer.as_mut().poll(context));
            self.timer.as_mut().reset(Instant::now() + CHECK_INTERVAL);
        }
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_write(written, bytes.len(), context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        let wanted = parts.iter().map(|part| part.len()).sum();
        self.check_write(written, wanted, context)
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
