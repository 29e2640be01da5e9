//! Reads request bodies with limits for their size, their speed, and the memory that all of them
//! take together. A short body never waits for a long one.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

/// The longest request body. Programs are written by models and are much shorter.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// A body up to this size does not wait for memory: the number of such bodies is bounded by the
/// number of connections.
const SMALL_BODY_BYTES: usize = 64 * 1024;

/// The memory that all longer bodies may take together.
const MAX_TOTAL_BYTES: usize = 8 * MAX_BODY_BYTES;

/// How long a client may take to send a body, and how long a long body waits for memory that others
/// hold.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take to send the next [`SMALL_BODY_BYTES`] bytes, or the end.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// The bytes that one permit of the semaphore stands for.
const BYTES_PER_PERMIT: usize = 1024;

/// The memory that long bodies share.
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A body, and the memory that is reserved for it.
#[derive(Default)]
pub(super) struct ReceivedBody {
    pub bytes: Bytes,
    pub reservation: MemoryReservation,
}

/// Reserved memory, released when dropped. Short bodies reserve none.
#[derive(Default)]
pub(super) struct MemoryReservation(Option<OwnedSemaphorePermit>);

/// How many bytes a client must have sent, and by when.
struct ReadDeadlines {
    end: Instant,
    step: Instant,
    bytes: usize,
}

impl BodyMemory {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_TOTAL_BYTES / BYTES_PER_PERMIT)))
    }

    /// Reads a body; an error is the status to refuse it with.
    pub async fn read(&self, mut body: Incoming) -> Result<ReceivedBody, StatusCode> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > MAX_BODY_BYTES {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let mut bytes = Vec::new();
        let mut reservation = MemoryReservation::default();
        let mut deadlines = ReadDeadlines::start(0);
        loop {
            let frame = timeout_at(deadlines.deadline(), body.frame()).await;
            let Some(frame) = frame.map_err(|_| StatusCode::REQUEST_TIMEOUT)? else { break };
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len().saturating_add(data.len());
            if length > MAX_BODY_BYTES {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            if length > SMALL_BODY_BYTES && reservation.0.is_none() {
                // All of it is reserved at once: two bodies that each wait for the rest of their
                // memory would wait for each other.
                let most = if announced > 0 { announced } else { MAX_BODY_BYTES };
                reservation = self.reserve(most).await?;
                deadlines = ReadDeadlines::start(length);
            }
            bytes.extend_from_slice(&data);
            deadlines.record_progress(length);
        }
        reservation.shrink_to(bytes.len());
        Ok(ReceivedBody { bytes: bytes.into(), reservation })
    }

    async fn reserve(&self, bytes: usize) -> Result<MemoryReservation, StatusCode> {
        let reserved = Arc::clone(&self.0).acquire_many_owned(permits(bytes));
        match timeout(BODY_TIMEOUT, reserved).await {
            // The semaphore is never closed.
            Ok(permit) => Ok(MemoryReservation(permit.ok())),
            Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}

impl MemoryReservation {
    fn shrink_to(&mut self, bytes: usize) {
        let Some(permit) = &mut self.0 else { return };
        let needed = usize::try_from(permits(bytes)).unwrap_or(usize::MAX);
        let rest = permit.num_permits().saturating_sub(needed);
        drop(permit.split(rest));
    }
}

impl ReadDeadlines {
    /// Starts the deadlines now, with so many bytes received.
    fn start(bytes: usize) -> Self {
        let now = Instant::now();
        Self { end: now + BODY_TIMEOUT, step: now + STEP_TIMEOUT, bytes }
    }

    fn deadline(&self) -> Instant {
        self.end.min(self.step)
    }

    fn record_progress(&mut self, bytes: usize) {
        if bytes >= self.bytes.saturating_add(SMALL_BODY_BYTES) {
            self.bytes = bytes;
            self.step = Instant::now() + STEP_TIMEOUT;
        }
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_PERMIT)).unwrap_or(u32::MAX)
}
