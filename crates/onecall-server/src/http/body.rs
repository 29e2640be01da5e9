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
pub(super) const MAX_BODY: usize = 4 * 1024 * 1024;

/// A body up to this size does not wait for memory: the number of such bodies is bounded by the
/// number of connections.
const SHORT: usize = 64 * 1024;

/// The memory that all longer bodies may take together.
const MAX_TOGETHER: usize = 8 * MAX_BODY;

/// How long a client may take to send a body, and how long a long body waits for memory that others
/// hold.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How long a client may take to send the next [`SHORT`] bytes, or the end.
const STEP_TIME: Duration = Duration::from_secs(5);

/// The bytes that one permit of the semaphore stands for.
const UNIT: usize = 1024;

/// The memory that long bodies share.
pub(super) struct Memory(Arc<Semaphore>);

/// A body, and the memory that is reserved for it.
pub(super) struct Read {
    pub bytes: Bytes,
    pub share: Share,
}

/// Reserved memory, released when dropped. Short bodies reserve none.
#[derive(Default)]
pub(super) struct Share(Option<OwnedSemaphorePermit>);

/// How many bytes a client must have sent, and by when.
struct Pace {
    end: Instant,
    step: Instant,
    bytes: usize,
}

impl Memory {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_TOGETHER / UNIT)))
    }

    /// Reads a body; an error is the status to refuse it with.
    pub async fn read(&self, mut body: Incoming) -> Result<Read, StatusCode> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > MAX_BODY {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let mut bytes = Vec::new();
        let mut share = Share::default();
        let mut pace = Pace::from(0);
        loop {
            let frame = timeout_at(pace.deadline(), body.frame()).await;
            let Some(frame) = frame.map_err(|_| StatusCode::REQUEST_TIMEOUT)? else { break };
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len().saturating_add(data.len());
            if length > MAX_BODY {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            if length > SHORT && share.0.is_none() {
                // All of it is reserved at once: two bodies that each wait for the rest of their
                // memory would wait for each other.
                let most = if announced > 0 { announced } else { MAX_BODY };
                share = self.reserve(most).await?;
                pace = Pace::from(length);
            }
            bytes.extend_from_slice(&data);
            pace.arrived(length);
        }
        share.shrink_to(bytes.len());
        Ok(Read { bytes: bytes.into(), share })
    }

    async fn reserve(&self, bytes: usize) -> Result<Share, StatusCode> {
        let reserved = Arc::clone(&self.0).acquire_many_owned(units(bytes));
        match timeout(BODY_TIME, reserved).await {
            // The semaphore is never closed.
            Ok(permit) => Ok(Share(permit.ok())),
            Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}

impl Share {
    fn shrink_to(&mut self, bytes: usize) {
        let Some(permit) = &mut self.0 else { return };
        let needed = usize::try_from(units(bytes)).unwrap_or(usize::MAX);
        let rest = permit.num_permits().saturating_sub(needed);
        drop(permit.split(rest));
    }
}

impl Pace {
    /// Starts the deadlines now, with so many bytes received.
    fn from(bytes: usize) -> Self {
        let now = Instant::now();
        Self { end: now + BODY_TIME, step: now + STEP_TIME, bytes }
    }

    fn deadline(&self) -> Instant {
        self.end.min(self.step)
    }

    fn arrived(&mut self, bytes: usize) {
        if bytes >= self.bytes.saturating_add(SHORT) {
            self.bytes = bytes;
            self.step = Instant::now() + STEP_TIME;
        }
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}
