//! What a server sends back: read within the limits of the server, and only as many large answers
//! at a time as fit into memory.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::text::plain;
use onecall_login::http::shown_origin;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::failure::{HttpError, Words};
use crate::error::RequestError;

/// How much of the body of a failure is read, and how long that may take.
const MAX_FAILURE: usize = 16 * 1024;
const FAILURE_TIME: Duration = Duration::from_secs(2);

/// What is read of a body before its size is trusted.
const FIRST_ROOM: usize = 64 * 1024;

/// An answer that grows beyond this takes its turn: only so many of them are in
/// memory at a time, whatever the server sends.
const LARGE: usize = 1024 * 1024;
const MAX_LARGE: usize = 2;

/// What the body of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Events,
}

/// The turns of large answers of one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LargeAnswers(Arc<Semaphore>);

impl Default for LargeAnswers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LARGE)))
    }
}

impl LargeAnswers {
    /// Room for one answer.
    pub fn room(&self) -> Room {
        Room { large: Arc::clone(&self.0), permit: None }
    }
}

/// The memory that an answer takes while it is read.
pub(crate) struct Room {
    large: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Waits until this much may be held.
    pub async fn hold(&mut self, bytes: usize) {
        if bytes < LARGE {
            self.permit = None;
        } else if self.permit.is_none() {
            // It is never closed.
            self.permit = Arc::clone(&self.large).acquire_owned().await.ok();
        }
    }
}

impl Endpoint {
    /// Finds out what a successful response holds.
    pub async fn content(&self, response: Response) -> Result<(Response, Content), HttpError> {
        let is = |wanted| media_type(&response).is_some_and(|it| it.eq_ignore_ascii_case(wanted));
        if is("application/json") {
            Ok((response, Content::Json))
        } else if is("text/event-stream") {
            Ok((response, Content::Events))
        } else {
            Err(self.not_mcp(response).await)
        }
    }

    /// Reads a body that is one message.
    pub async fn body(&self, mut response: Response) -> Result<Vec<u8>, RequestError> {
        let longest = self.longest();
        let too_large = || RequestError::TooLarge { limit_bytes: longest };
        let length = response.content_length().unwrap_or(0);
        if usize::try_from(length).is_ok_and(|length| length > longest) {
            return Err(too_large());
        }
        let mut body = Vec::with_capacity(FIRST_ROOM.min(usize::try_from(length).unwrap_or(0)));
        let mut room = self.room();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len().saturating_add(chunk.len()) > longest {
                return Err(too_large());
            }
            room.hold(body.len()).await;
            let wanted = body.len() + chunk.len();
            if wanted > body.capacity() {
                // Doubling, but never beyond the longest answer allowed.
                let doubled = (body.capacity() * 2).min(longest).max(wanted);
                body.reserve_exact(doubled - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The next piece of a body.
    pub async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, HttpError> {
        let chunk = response.chunk().await;
        chunk.map_err(|error| HttpError::from_client(&error, &shown_origin(self.url())))
    }

    /// Why a successful response is of no use.
    pub async fn not_mcp(&self, response: Response) -> HttpError {
        let found = match media_type(&response) {
            Some(found) => plain(found, 60),
            None => "something unnamed".to_owned(),
        };
        let words = match self.is_quoted() {
            true => Words::new(&self.words(response).await),
            false => Words::default(),
        };
        HttpError::NotMcp { found, words }
    }

    /// What a server said instead of an answer, for an error message.
    pub fn shown(&self, body: &[u8]) -> Words {
        if self.is_quoted() { Words::new(&self.without_secrets(body)) } else { Words::default() }
    }

    /// The beginning of what a failure says, without our secrets.
    pub async fn words(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        let _ = timeout(FAILURE_TIME, async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() >= MAX_FAILURE {
                    break;
                }
            }
        })
        .await;
        if self.is_quoted() || is_json_rpc(&body) {
            self.without_secrets(&body)
        } else {
            String::new()
        }
    }

    fn without_secrets(&self, body: &[u8]) -> String {
        self.secrets().removed_from(body.get(..MAX_FAILURE.min(body.len())).unwrap_or_default())
    }
}

/// Whether a body is a message of the protocol.
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
