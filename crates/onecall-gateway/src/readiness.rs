//! Whether the gateway can take requests, for the load balancer in front of it.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::Gateway;

/// How long a result is used again: anybody may ask, as often as they like.
const MAX_AGE: Duration = Duration::from_secs(1);

/// How long the store or a worker may take to respond.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Why the gateway cannot take requests. The texts are for everybody, so they name no details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotReady {
    /// The gateway is about to end.
    #[error("this gateway is stopping")]
    Stopping,
    /// No worker can be started, or its sandbox does not hold.
    #[error("no program can run; the log says why")]
    NoWorkers,
    /// The store does not respond.
    #[error("the store cannot be reached; the log says why")]
    Store,
}

/// The last result, and when it was found.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Result<(), NotReady>)>>);

impl Gateway {
    /// Checks whether the gateway can take requests.
    ///
    /// # Errors
    /// If it cannot.
    pub async fn check_ready(&self) -> Result<(), NotReady> {
        if self.is_draining() {
            return Err(NotReady::Stopping);
        }
        let mut last = self.shared.readiness.0.lock().await;
        if let Some((at, result)) = *last
            && at.elapsed() < MAX_AGE
        {
            return result;
        }
        let result = match self.has_workers().await {
            true => self.reaches_store().await,
            false => Err(NotReady::NoWorkers),
        };
        *last = Some((Instant::now(), result));
        result
    }

    async fn has_workers(&self) -> bool {
        match timeout(RESPONSE_TIMEOUT, self.shared.engines.warm_up()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!("not ready, because no program can run: {error}");
                false
            }
            Err(_) => {
                tracing::warn!("not ready, because no worker has started in time");
                false
            }
        }
    }

    async fn reaches_store(&self) -> Result<(), NotReady> {
        let Some(store) = self.store.as_ref().map(|writer| Arc::clone(writer.store())) else {
            return Ok(());
        };
        let read = tokio::task::spawn_blocking(move || store.check());
        let problem = match timeout(RESPONSE_TIMEOUT, read).await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(_)) | Err(_) => "it does not respond".to_owned(),
        };
        tracing::warn!("not ready, because of the store: {problem}");
        Err(NotReady::Store)
    }
}
