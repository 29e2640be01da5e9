//! Sends batches of spans to a collector. Problems with the collector delay only the thread that
//! sends, and are logged once.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::{Client, StatusCode};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;

use super::destination::Destination;
use super::problem_log::ProblemLog;

/// The pauses before a batch is sent again that the collector could not accept.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// How many bytes of a response are read, so that its connection can be reused.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// The connection to one collector.
pub(super) struct CollectorClient {
    client: Client,
    destination: Destination,
    /// A runtime for the client, because the sending thread has none. It only runs while that
    /// thread waits for it.
    runtime: Runtime,
    /// Whether the process is about to end, so that there is no time for pauses.
    shutting_down: watch::Receiver<bool>,
    problem_log: Arc<ProblemLog>,
}

/// Why a batch was not delivered.
enum DeliveryError {
    /// The collector could not be reached.
    Unreachable(String),
    /// The collector did not respond in time.
    TimedOut(Duration),
    /// The collector refused the batch.
    Status(StatusCode),
}

impl DeliveryError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            // The collector has already had its full timeout.
            Self::TimedOut(_) => false,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(formatter, "it cannot be reached: {why}"),
            Self::TimedOut(limit) => write!(formatter, "no answer within {}s", limit.as_secs_f64()),
            Self::Status(status) => write!(formatter, "it answers {status}"),
        }
    }
}

impl CollectorClient {
    pub fn new(
        destination: Destination,
        shutting_down: watch::Receiver<bool>,
        problem_log: Arc<ProblemLog>,
    ) -> anyhow::Result<Self> {
        let client = onecall_login::http::client(&destination.url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, destination, runtime, shutting_down, problem_log })
    }

    async fn deliver(&self, batch: Request<Bytes>) -> Result<(), DeliveryError> {
        let mut shutting_down = self.shutting_down.clone();
        let mut pauses = RETRY_DELAYS.iter();
        loop {
            let Err(failure) = self.attempt(batch.clone()).await else { return Ok(()) };
            let pause = pauses.next().filter(|_| failure.is_transient());
            let Some(pause) = pause else { return Err(failure) };
            // The sender lives longer than this, so the channel cannot be closed.
            if timeout(*pause, shutting_down.wait_for(|shutting_down| *shutting_down)).await.is_ok()
            {
                return Err(failure);
            }
        }
    }

    async fn attempt(&self, batch: Request<Bytes>) -> Result<(), DeliveryError> {
        let exchange = async {
            let request = reqwest::Request::try_from(batch)?;
            let mut response = self.client.execute(request).await?;
            let mut read = 0;
            while read < MAX_RESPONSE_BYTES
                && let Some(chunk) = response.chunk().await?
            {
                read += chunk.len();
            }
            Ok::<_, reqwest::Error>(response.status())
        };
        match timeout(self.destination.timeout, exchange).await {
            Ok(Ok(status)) if status.is_success() => Ok(()),
            Ok(Ok(status)) => Err(DeliveryError::Status(status)),
            Ok(Err(error)) => Err(DeliveryError::Unreachable(innermost(&error))),
            Err(_) => Err(DeliveryError::TimedOut(self.destination.timeout)),
        }
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'a, 'b>(
        &'a self,
        batch: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            match self.runtime.block_on(self.deliver(batch)) {
                // The content of the response is not needed.
                Ok(()) => Ok(Response::new(Bytes::new())),
                Err(failure) => {
                    self.problem_log.log_once(&failure);
                    Err(failure.to_string().into())
                }
            }
        })
    }
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CollectorClient").field(&self.destination.origin()).finish()
    }
}

/// The innermost cause of an error. The outer ones contain the URL, which may contain a password.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if innermost.is::<reqwest::Error>() {
        return "the request failed".to_owned();
    }
    innermost.to_string()
}
