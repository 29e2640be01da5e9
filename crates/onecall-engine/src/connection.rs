//! The gateway's end of a worker's socket.
//!
//! Reading and writing happen side by side, so that a worker which does not read
//! cannot keep us from hearing it, and no frame is lost when a wait is given up.

use std::io;

use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::protocol::{FromWorker, ProtocolError, ToWorker, frame_length};

/// Room for one read.
const READ_SIZE: usize = 64 * 1024;

/// With this much not yet written, the worker is too slow to be sent more.
const BACKED_UP: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    /// Where the first frame that was not yet taken begins.
    start: usize,
    outgoing: Vec<u8>,
    /// How much of `outgoing` has been written.
    written: usize,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, incoming: Vec::new(), start: 0, outgoing: Vec::new(), written: 0 }
    }

    /// Hands the next whole frame to `handle`, if there is one.
    pub(crate) fn take_frame<T>(
        &mut self,
        handle: impl FnOnce(FromWorker<'_>) -> T,
    ) -> Result<Option<T>, ProtocolError> {
        let pending = self.incoming.get(self.start..).unwrap_or_default();
        let Some(length) = frame_length(pending)? else { return Ok(None) };
        let frame = pending.get(..length).unwrap_or_default();
        let result = handle(FromWorker::decode(frame)?);
        self.start += length;
        if self.start == self.incoming.len() {
            self.start = 0;
            self.incoming.clear();
            self.incoming.shrink_to(READ_SIZE * 2);
        }
        Ok(Some(result))
    }

    /// Queues a frame and writes as much as the socket takes right now.
    pub(crate) fn send(&mut self, frame: &ToWorker<'_>) -> Result<(), ProtocolError> {
        frame.encode(&mut self.outgoing)?;
        // A closed socket shows when it is read.
        _ = self.write_some();
        Ok(())
    }

    /// Whether the worker leaves so much unread that it should get no more for now.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.outgoing.len() - self.written > BACKED_UP
    }

    /// Waits until something was read or written; `false` if the worker is gone.
    pub(crate) async fn exchange(&mut self) -> io::Result<bool> {
        self.exchange_when(true).await
    }

    /// As [`exchange`](Self::exchange), but reads only while `listening`. Nothing
    /// is lost when the future is dropped.
    pub(crate) async fn exchange_when(&mut self, listening: bool) -> io::Result<bool> {
        let writing = self.written < self.outgoing.len();
        let interest = match (listening, writing) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (true, false) => Interest::READABLE,
            (false, true) => Interest::WRITABLE,
            (false, false) => return std::future::pending().await,
        };
        let ready = self.stream.ready(interest).await?;
        if ready.is_writable() {
            self.write_some()?;
        }
        if listening && ready.is_readable() { self.read_some() } else { Ok(true) }
    }

    fn read_some(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.incoming.drain(..self.start);
            self.start = 0;
        }
        self.incoming.reserve(READ_SIZE);
        match self.stream.try_read_buf(&mut self.incoming) {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn write_some(&mut self) -> io::Result<()> {
        while let Some(rest) = self.outgoing.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.outgoing.shrink_to(READ_SIZE * 2);
        self.written = 0;
        Ok(())
    }
}
