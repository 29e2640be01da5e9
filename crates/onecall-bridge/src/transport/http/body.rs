//! Reads response bodies within the limits of the server. Only a few large answers are read at the
//! same time, so that memory stays bounded.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::text::one_line;
use onecall_login::http::shown_origin;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::failure::{HttpError, ServerText};
use crate::error::RequestError;

/// How much of the body of an error response is read, and how long that may take.
const MAX_ERROR_BODY: usize = 16 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);

/// The initial buffer size; the declared length of a body is not trusted.
const INITIAL_CAPACITY: usize = 64 * 1024;

/// An answer that grows beyond this size needs a permit: only a few such answers are in memory at
/// the same time.
const LARGE_ANSWER_BYTES: usize = 1024 * 1024;
const MAX_LARGE_ANSWERS: usize = 2;

/// The format of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    Json,
    Events,
}

/// The permits for large answers of one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LargeAnswers(Arc<Semaphore>);

impl Default for LargeAnswers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LARGE_ANSWERS)))
    }
}

impl LargeAnswers {
    /// The memory permit of one answer.
    pub fn memory_permit(&self) -> MemoryPermit {
        MemoryPermit { large: Arc::clone(&self.0), permit: None }
    }
}

/// Tracks the memory of an answer while it is read.
pub(crate) struct MemoryPermit {
    large: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl MemoryPermit {
    /// Waits until the answer may occupy this many bytes.
    pub async fn reserve(&mut self, bytes: usize) {
        if bytes < LARGE_ANSWER_BYTES {
            self.permit = None;
        } else if self.permit.is_none() {
            // The semaphore is never closed.
            self.permit = Arc::clone(&self.large).acquire_owned().await.ok();
        }
    }
}

impl Endpoint {
    /// Determines the format of a successful response.
    pub async fn body_format(
        &self,
        response: Response,
    ) -> Result<(Response, BodyFormat), HttpError> {
        let is = |wanted| media_type(&response).is_some_and(|it| it.eq_ignore_ascii_case(wanted));
        if is("application/json") {
            Ok((response, BodyFormat::Json))
        } else if is("text/event-stream") {
            Ok((response, BodyFormat::Events))
        } else {
            Err(self.not_mcp(response).await)
        }
    }

    /// Reads a body that contains one message.
    pub async fn body(&self, mut response: Response) -> Result<Vec<u8>, RequestError> {
        let max_message_bytes = self.max_message_bytes();
        let too_large = || RequestError::TooLarge { limit_bytes: max_message_bytes };
        let length = response.content_length().unwrap_or(0);
        if usize::try_from(length).is_ok_and(|length| length > max_message_bytes) {
            return Err(too_large());
        }
        let mut body =
            Vec::with_capacity(INITIAL_CAPACITY.min(usize::try_from(length).unwrap_or(0)));
        let mut memory = self.memory_permit();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len().saturating_add(chunk.len()) > max_message_bytes {
                return Err(too_large());
            }
            memory.reserve(body.len()).await;
            let wanted = body.len() + chunk.len();
            if wanted > body.capacity() {
                // Doubles the capacity, but never beyond the longest answer allowed.
                let doubled = (body.capacity() * 2).min(max_message_bytes).max(wanted);
                body.reserve_exact(doubled - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The next chunk of a body.
    pub async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, HttpError> {
        let chunk = response.chunk().await;
        chunk.map_err(|error| HttpError::from_client(&error, &shown_origin(self.url())))
    }

    /// The error for a successful response that is not MCP.
    pub async fn not_mcp(&self, response: Response) -> HttpError {
        let found = match media_type(&response) {
            Some(found) => one_line(found, 60),
            None => "content without a type".to_owned(),
        };
        let server_text = match self.quotes_responses() {
            true => ServerText::new(&self.error_text(response).await),
            false => ServerText::default(),
        };
        HttpError::NotMcp { found, server_text }
    }

    /// The text of a server's response for an error message.
    pub fn quote(&self, body: &[u8]) -> ServerText {
        if self.quotes_responses() {
            ServerText::new(&self.without_secrets(body))
        } else {
            ServerText::default()
        }
    }

    /// The beginning of the body of an error response, with secrets removed.
    pub async fn error_text(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        let _ = timeout(ERROR_BODY_TIMEOUT, async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() >= MAX_ERROR_BODY {
                    break;
                }
            }
        })
        .await;
        if self.quotes_responses() || is_json_rpc(&body) {
            self.without_secrets(&body)
        } else {
            String::new()
        }
    }

    fn without_secrets(&self, body: &[u8]) -> String {
        self.secrets().removed_from(body.get(..MAX_ERROR_BODY.min(body.len())).unwrap_or_default())
    }
}

/// Whether a body is a JSON-RPC message.
fn is_json_rpc(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Envelope {
        jsonrpc: String,
    }
    serde_json::from_slice::<Envelope>(body).is_ok_and(|it| it.jsonrpc == "2.0")
}

fn media_type(response: &Response) -> Option<&str> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim())
}
