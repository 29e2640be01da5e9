//! The queue of messages to the host, in the order of events. A host that does not read blocks its
//! programs; the memory for its messages is limited.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of queued tool calls and outcomes; programs wait while there are more.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of queued error messages; while there are more, no message of the host is read.
const MAX_QUEUED_ERROR_BYTES: usize = 1024 * 1024;

/// The sending end of the queue.
#[derive(Clone)]
pub(in crate::commands) struct Outbox {
    queue: UnboundedSender<Queued>,
    room: Arc<Semaphore>,
    room_for_errors: Arc<Semaphore>,
}

/// The receiving end of the queue.
pub(in crate::commands) struct OutboxReceiver(UnboundedReceiver<Queued>);

struct Queued {
    line: Vec<u8>,
    /// Released when the line has been written.
    _permit: Option<OwnedSemaphorePermit>,
}

/// A message, with room reserved for it.
pub(in crate::commands) struct Reserved(Queued);

impl Outbox {
    pub(in crate::commands) fn new() -> (Self, OutboxReceiver) {
        let (queue, waiting) = unbounded_channel();
        let room = Arc::new(Semaphore::new(MAX_QUEUED_BYTES));
        let room_for_errors = Arc::new(Semaphore::new(MAX_QUEUED_ERROR_BYTES));
        (Self { queue, room, room_for_errors }, OutboxReceiver(waiting))
    }

    /// Waits until there is room for a message.
    pub(in crate::commands) async fn reserve(&self, message: &impl Serialize) -> Reserved {
        reserve(&self.room, MAX_QUEUED_BYTES, message).await
    }

    /// Waits until there is room for an error.
    pub(in crate::commands) async fn reserve_error(&self, message: &impl Serialize) -> Reserved {
        reserve(&self.room_for_errors, MAX_QUEUED_ERROR_BYTES, message).await
    }

    /// Queues a message for which room was reserved.
    pub(in crate::commands) fn send(&self, reserved: Reserved) {
        // This fails only if the writer is gone, and then the process is about to end.
        _ = self.queue.send(reserved.0);
    }

    /// Queues a message that cannot wait. There is at most one for each message that did wait.
    pub(in crate::commands) fn send_now(&self, message: &impl Serialize) {
        self.send(Reserved(Queued { line: line(message), _permit: None }));
    }
}

async fn reserve(room: &Arc<Semaphore>, all: usize, message: &impl Serialize) -> Reserved {
    let line = line(message);
    // A message that is larger than the whole queue waits until it is the only one.
    let wanted = u32::try_from(line.len().min(all)).unwrap_or(u32::MAX);
    let permit = Arc::clone(room).acquire_many_owned(wanted).await.ok();
    Reserved(Queued { line, _permit: permit })
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    // Arguments and values are kept as a program wrote them, so there can be line breaks between
    // two tokens. Inside a JSON string there are none.
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
    line
}

impl OutboxReceiver {
    /// Writes messages as they arrive, until all senders are dropped.
    pub(in crate::commands) async fn write_to(
        mut self,
        mut sink: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        while let Some(queued) = self.0.recv().await {
            sink.write_all(&queued.line).await?;
            if self.0.is_empty() {
                sink.flush().await?;
            }
        }
        sink.flush().await
    }
}
