//! Reads the bodies of requests: none too long, none too slowly, and all of them
//! together within a fixed share of memory.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The longest request. Programs are written by models, which write less.
pub(super) const MAX_BODY: usize = 4 * 1024 * 1024;

/// How much of all requests together may be in memory.
const MAX_TOGETHER: usize = 8 * MAX_BODY;

/// How long a client may take to send a request's body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// What of that memory is counted as one.
const UNIT: usize = 1024;

/// The memory that requests share.
pub(super) struct Memory(Arc<Semaphore>);

/// A body, and the part of the memory that it takes.
pub(super) struct Read {
    pub bytes: Bytes,
    pub share: Share,
}

/// A part of the memory, given back when dropped.
#[derive(Default)]
pub(super) struct Share(Option<OwnedSemaphorePermit>);

impl Memory {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_TOGETHER / UNIT)))
    }

    /// Reads a body, or says with which status to refuse it.
    pub async fn read(&self, body: Incoming) -> Result<Read, StatusCode> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > MAX_BODY {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        match timeout(BODY_TIME, self.collect(body)).await {
            Ok(read) => read,
            Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
        }
    }

    async fn collect(&self, mut body: Incoming) -> Result<Read, StatusCode> {
        let mut bytes = Vec::new();
        let mut share = Share::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len().saturating_add(data.len()) > MAX_BODY {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            share.grow(&self.0, data.len()).await;
            bytes.extend_from_slice(&data);
        }
        Ok(Read { bytes: bytes.into(), share })
    }
}

impl Share {
    /// Waits for the memory that others hold, at most until the body has to be there.
    async fn grow(&mut self, memory: &Arc<Semaphore>, bytes: usize) {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // It is never closed.
        let Ok(more) = Arc::clone(memory).acquire_many_owned(units).await else { return };
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
    }
}
