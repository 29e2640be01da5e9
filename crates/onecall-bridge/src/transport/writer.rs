//! Writes to the stdin of a child process. A line is accepted as a whole or not at all, without
//! waiting, so a caller that is cancelled cannot leave half a line behind.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;

use crate::error::SendError;
use crate::protocol::peer::{MessageSender, Outgoing, Purpose};

/// The largest backlog for a server that does not read its input.
const MAX_BACKLOG: usize = 64 * 1024 * 1024;

/// The largest backlog to which automatic answers may be added: a server that sends many requests
/// and never reads must not use up the space for tool calls.
const MAX_AUTOMATIC_REPLY_BACKLOG: usize = 1024 * 1024;

/// The writing end of the pipe. Cheap to clone; all clones write to the same pipe.
#[derive(Clone)]
pub(crate) struct PipeWriter(Arc<SharedPipe>);

struct SharedPipe {
    state: Mutex<PipeState>,
    /// Notified when there is a backlog to write, and when the pipe is closed.
    flush: Notify,
}

struct PipeState {
    /// `None` once the pipe is closed from either side.
    pipe: Option<Arc<Sender>>,
    /// The bytes that the pipe has not accepted yet, in order.
    backlog: VecDeque<u8>,
}

impl PipeWriter {
    /// Takes ownership of the writing end. Must be called inside a tokio runtime.
    pub fn new(pipe: OwnedFd) -> io::Result<Self> {
        let pipe = Arc::new(Sender::from_owned_fd(pipe)?);
        let state = PipeState { pipe: Some(pipe), backlog: VecDeque::new() };
        let writer = Self(Arc::new(SharedPipe { state: Mutex::new(state), flush: Notify::new() }));
        tokio::spawn(flush_forever(writer.clone()));
        Ok(writer)
    }

    /// Closes the pipe, so that the child sees the end of its input. A remaining backlog is
    /// dropped.
    pub fn close(&self) {
        self.lock().close();
        self.0.flush.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageSender for PipeWriter {
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        let limit_bytes = match message.purpose {
            Purpose::AutomaticReply => MAX_AUTOMATIC_REPLY_BACKLOG,
            Purpose::Request { .. }
            | Purpose::Initialized
            | Purpose::Cancellation { .. }
            | Purpose::Forwarded => MAX_BACKLOG,
        };
        self.write(&message.line, limit_bytes)
    }
}

impl PipeWriter {
    /// Writes a line unless the backlog would exceed the limit.
    fn write(&self, line: &[u8], limit_bytes: usize) -> Result<(), SendError> {
        let mut state = self.lock();
        let Some(pipe) = &state.pipe else { return Err(SendError::Closed) };
        if state.backlog.len().saturating_add(line.len()) > limit_bytes {
            return Err(SendError::Backlog { limit_bytes });
        }
        let mut rest = line;
        if state.backlog.is_empty() {
            // In most cases the pipe takes the whole line, and no task has to wake up.
            match pipe.try_write(line) {
                Ok(written) => rest = line.get(written..).unwrap_or_default(),
                Err(error) if is_temporary(&error) => {}
                Err(_) => {
                    state.close();
                    return Err(SendError::Closed);
                }
            }
        }
        if !rest.is_empty() {
            state.backlog.extend(rest);
            self.0.flush.notify_one();
        }
        Ok(())
    }
}

impl PipeState {
    fn close(&mut self) {
        self.pipe = None;
        self.backlog = VecDeque::new();
    }

    /// Writes as much as the pipe accepts. Returns false if the pipe is closed or not writable now.
    fn flush(&mut self) -> bool {
        while let Some(pipe) = &self.pipe {
            let (front, _) = self.backlog.as_slices();
            if front.is_empty() {
                self.backlog = VecDeque::new();
                return true;
            }
            match pipe.try_write(front) {
                Ok(written) => drop(self.backlog.drain(..written)),
                Err(error) if is_temporary(&error) => return false,
                Err(_) => self.close(),
            }
        }
        false
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Writes the backlog whenever there is one, until the pipe is closed.
async fn flush_forever(writer: PipeWriter) {
    loop {
        let pipe = {
            let mut state = writer.lock();
            if state.flush() { None } else { Some(state.pipe.clone()) }
        };
        match pipe {
            None => writer.0.flush.notified().await,
            Some(None) => return,
            Some(Some(pipe)) => tokio::select! {
                ready = pipe.writable() => if ready.is_err() {
                    writer.lock().close();
                },
                // Either there is more to write, which changes nothing, or the pipe was closed.
                () = writer.0.flush.notified() => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::unix::pipe;

    fn pair() -> (PipeWriter, pipe::Receiver) {
        let (reading, writing) = io::pipe().unwrap();
        let writer = PipeWriter::new(writing.into()).unwrap();
        (writer, pipe::Receiver::from_owned_fd(reading.into()).unwrap())
    }

    #[tokio::test]
    async fn lines_arrive_whole_and_in_order_however_long_they_are() {
        let (writer, mut reading) = pair();
        let mut expected = Vec::new();
        for index in 0..200_u32 {
            let mut line = format!("{index} ").repeat(3_000).into_bytes();
            line.push(b'\n');
            expected.extend_from_slice(&line);
            writer.write(&line, MAX_BACKLOG).unwrap();
        }
        let mut seen = vec![0; expected.len()];
        reading.read_exact(&mut seen).await.unwrap();
        assert!(seen == expected);
    }

    #[tokio::test]
    async fn a_server_that_never_reads_cannot_make_the_backlog_grow() {
        let (writer, _reading) = pair();
        let line = vec![b'x'; 1 << 20];
        let sent = (0..100).take_while(|_| writer.write(&line, MAX_BACKLOG).is_ok()).count();
        assert!((63..=65).contains(&sent), "{sent} MiB were taken");
        assert_eq!(
            writer.write(b"pong\n", MAX_AUTOMATIC_REPLY_BACKLOG),
            Err(SendError::Backlog { limit_bytes: MAX_AUTOMATIC_REPLY_BACKLOG })
        );
    }

    #[tokio::test]
    async fn closing_reaches_the_other_side_even_with_a_backlog() {
        let (writer, mut reading) = pair();
        writer.write(&vec![b'x'; 1 << 20], MAX_BACKLOG).unwrap();
        tokio::task::yield_now().await;
        writer.close();
        let mut rest = Vec::new();
        reading.read_to_end(&mut rest).await.unwrap();
        assert!(rest.len() < 1 << 20);
        assert_eq!(writer.write(b"x\n", MAX_BACKLOG), Err(SendError::Closed));
    }

    #[tokio::test]
    async fn a_closed_reading_end_is_an_error_of_the_next_line() {
        let (writer, reading) = pair();
        drop(reading);
        // The first line may still be on its way when the end is noticed.
        while writer.write(b"x\n", MAX_BACKLOG).is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(writer.write(b"x\n", MAX_BACKLOG), Err(SendError::Closed));
    }
}
