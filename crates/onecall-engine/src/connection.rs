//! The gateway's end of a worker's socket.
//!
//! Reading and writing are independent: a worker that does not read cannot keep the gateway from
//! reading, and no frame is lost when a wait is cancelled.

use std::io;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::protocol::{FromWorker, ProtocolError, ToWorker, announced_length, frame_length};

/// The least free room in the buffer for one read.
const READ_SIZE: usize = 64 * 1024;

/// If this many bytes are unwritten, the worker is too slow to be sent more.
const MAX_UNWRITTEN: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    /// The offset of the first frame that has not been taken yet.
    start: usize,
    outgoing: Vec<u8>,
    /// How many bytes of `outgoing` have been written.
    written: usize,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, incoming: Vec::new(), start: 0, outgoing: Vec::new(), written: 0 }
    }

    /// Passes the next complete frame to `handle`, if there is one.
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

    /// Queues a frame and writes as much as the socket accepts right now.
    pub(crate) fn send(&mut self, frame: &ToWorker<'_>) -> Result<(), ProtocolError> {
        frame.encode(&mut self.outgoing)?;
        self.write_some();
        Ok(())
    }

    /// Whether so much is unwritten that the worker should get no more for now.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.outgoing.len() - self.written > MAX_UNWRITTEN
    }

    /// Whether the worker has closed the socket and everything from it has been read. The kernel is
    /// asked directly, because the tokio runtime may learn of it later.
    pub(crate) fn is_closed(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.stream, &mut [0_u8], flags) {
            Ok((count, _)) => count == 0,
            Err(error) => error != Errno::AGAIN,
        }
    }

    /// Waits until something has been read or written; `false` if the worker has closed the socket
    /// and everything from it has been read.
    pub(crate) async fn exchange(&mut self) -> bool {
        self.exchange_when(true).await
    }

    /// Like [`exchange`](Self::exchange), but reads only while `listening`. Nothing is lost when
    /// the future is dropped.
    pub(crate) async fn exchange_when(&mut self, listening: bool) -> bool {
        let writing = self.written < self.outgoing.len();
        if listening && self.start > 0 {
            self.incoming.drain(..self.start);
            self.start = 0;
        }
        let (mut reader, writer) = self.stream.split();
        let arrived = self.incoming.len();
        if self.incoming.capacity() - arrived < READ_SIZE {
            // Doubles the buffer, but not beyond what the frame needs. The announced length is not
            // trusted: memory is reserved only in proportion to what has arrived.
            let missing = announced_length(&self.incoming).saturating_sub(arrived);
            self.incoming.reserve_exact(missing.min(arrived).max(READ_SIZE));
        }
        tokio::select! {
            // A worker that exits with unread data resets the connection, which counts as closed.
            received = reader.read_buf(&mut self.incoming), if listening => {
                received.is_ok_and(|count| count > 0)
            }
            ready = writer.writable(), if writing => {
                if ready.is_ok() {
                    self.write_some();
                } else {
                    self.discard_outgoing();
                }
                true
            }
            else => std::future::pending().await,
        }
    }

    /// The capacity of the buffer for incoming frames.
    #[cfg(test)]
    pub(crate) fn incoming_capacity(&self) -> usize {
        self.incoming.capacity()
    }

    /// Writes as much as the socket accepts right now. If the worker has exited, the data is
    /// dropped: its last frames will show how it ended.
    fn write_some(&mut self) {
        while let Some(rest) = self.outgoing.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.discard_outgoing();
    }

    fn discard_outgoing(&mut self) {
        self.outgoing.clear();
        self.outgoing.shrink_to(READ_SIZE * 2);
        self.written = 0;
    }
}
