//! What goes to the host, in the order in which it happened. A host that does not read
//! holds up its programs, and costs a bounded amount of memory.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of tool calls and outcomes that wait to be read; programs wait while there are more.
const ROOM: usize = 8 * 1024 * 1024;

/// Bytes of error messages likewise; the host is not listened to while there are more.
const ROOM_FOR_ERRORS: usize = 1024 * 1024;

/// Where messages for the host are left.
#[derive(Clone)]
pub(in crate::commands) struct Outbox {
    queue: UnboundedSender<Queued>,
    room: Arc<Semaphore>,
    room_for_errors: Arc<Semaphore>,
}

/// The other end of it.
pub(in crate::commands) struct Waiting(UnboundedReceiver<Queued>);

struct Queued {
    line: Vec<u8>,
    /// Given back when the line has been written.
    _place: Option<OwnedSemaphorePermit>,
}

/// A line and the room for it.
pub(in crate::commands) struct Reserved(Queued);

impl Outbox {
    pub(in crate::commands) fn new() -> (Self, Waiting) {
        let (queue, waiting) = unbounded_channel();
        let room = Arc::new(Semaphore::new(ROOM));
        let room_for_errors = Arc::new(Semaphore::new(ROOM_FOR_ERRORS));
        (Self { queue, room, room_for_errors }, Waiting(waiting))
    }

    /// Waits until there is room for a message.
    pub(in crate::commands) async fn reserve(&self, message: &impl Serialize) -> Reserved {
        reserve(&self.room, ROOM, message).await
    }

    /// Waits until there is room for an error.
    pub(in crate::commands) async fn reserve_error(&self, message: &impl Serialize) -> Reserved {
        reserve(&self.room_for_errors, ROOM_FOR_ERRORS, message).await
    }

    /// Leaves a message whose room was reserved.
    pub(in crate::commands) fn put(&self, reserved: Reserved) {
        // Nobody is left to read it if this fails, and the conversation is about to end.
        _ = self.queue.send(reserved.0);
    }

    /// Leaves a message that cannot wait. There is at most one for each that did.
    pub(in crate::commands) fn put_at_once(&self, message: &impl Serialize) {
        self.put(Reserved(Queued { line: line(message), _place: None }));
    }
}

async fn reserve(room: &Arc<Semaphore>, all: usize, message: &impl Serialize) -> Reserved {
    let line = line(message);
    // One that is larger than all room there is waits until it is alone.
    let wanted = u32::try_from(line.len().min(all)).unwrap_or(u32::MAX);
    let place = Arc::clone(room).acquire_many_owned(wanted).await.ok();
    Reserved(Queued { line, _place: place })
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    // Arguments and values are in it as a program wrote them, and between two tokens a
    // program may write a line break. Inside a string there can be none.
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
    line
}

impl Waiting {
    /// Writes messages as they come, until nobody is left who could send one.
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
