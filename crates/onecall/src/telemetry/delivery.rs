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

use super::complaint::Complaint;
use super::destination::Destination;

/// The pauses before a batch is sent again that the collector could not accept.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// How many bytes of a response are read, so that its connection can be reused.
const MAX_ANSWER: usize = 64 * 1024;

/// The connection to one collector.
pub(super) struct Delivery {
    client: Client,
    destination: Destination,
    /// A runtime for the client, because the sending thread has none. It only runs while that
    /// thread waits for it.
    runtime: Runtime,
    /// Whether the process is about to end, so that there is no time for pauses.
    leaving: watch::Receiver<bool>,
    complaint: Arc<Complaint>,
}

/// Why a batch was not delivered.
enum Failure {
    /// The collector could not be reached.
    Unreachable(String),
    /// The collector did not respond in time.
    Late(Duration),
    /// The collector refused the batch.
    Status(StatusCode),
}

impl Failure {
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            // The collector has already had its full timeout.
            Self::Late(_) => false,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(formatter, "it cannot be reached: {why}"),
            Self::Late(limit) => write!(formatter, "no answer within {}s", limit.as_secs_f64()),
            Self::Status(status) => write!(formatter, "it answers {status}"),
        }
    }
}

impl Delivery {
    pub fn new(
        destination: Destination,
        leaving: watch::Receiver<bool>,
        complaint: Arc<Complaint>,
    ) -> anyhow::Result<Self> {
        let client = onecall_login::http::client(&destination.url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, destination, runtime, leaving, complaint })
    }

    async fn deliver(&self, batch: Request<Bytes>) -> Result<(), Failure> {
        let mut leaving = self.leaving.clone();
        let mut pauses = PAUSES.iter();
        loop {
            let Err(failure) = self.attempt(batch.clone()).await else { return Ok(()) };
            let pause = pauses.next().filter(|_| failure.is_passing());
            let Some(pause) = pause else { return Err(failure) };
            // The sender lives longer than this, so the channel cannot be closed.
            if timeout(*pause, leaving.wait_for(|leaving| *leaving)).await.is_ok() {
                return Err(failure);
            }
        }
    }

    async fn attempt(&self, batch: Request<Bytes>) -> Result<(), Failure> {
        let exchange = async {
            let request = reqwest::Request::try_from(batch)?;
            let mut response = self.client.execute(request).await?;
            let mut read = 0;
            while read < MAX_ANSWER
                && let Some(chunk) = response.chunk().await?
            {
                read += chunk.len();
            }
            Ok::<_, reqwest::Error>(response.status())
        };
        match timeout(self.destination.patience, exchange).await {
            Ok(Ok(status)) if status.is_success() => Ok(()),
            Ok(Ok(status)) => Err(Failure::Status(status)),
            Ok(Err(error)) => Err(Failure::Unreachable(innermost(&error))),
            Err(_) => Err(Failure::Late(self.destination.patience)),
        }
    }
}

impl HttpClient for Delivery {
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
                    self.complaint.tell(&failure);
                    Err(failure.to_string().into())
                }
            }
        })
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Delivery").field(&self.destination.origin()).finish()
    }
}

/// The innermost cause of an error. The outer ones contain the URL, which may contain a password.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if innermost.is::<reqwest::Error>() {
        return "the exchange failed".to_owned();
    }
    innermost.to_string()
}
