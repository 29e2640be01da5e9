//! Announces questions to a web address. The request is signed, so that its receiver can check who
//! sent it; it never delays a run, and it cannot answer a question.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use onecall_core::text::{cut, visible_json};
use onecall_core::{ApprovalQuestion, ItemId, RunId, Secret, Timestamp};
use onecall_runtime::Redactor;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lock;

/// The header with the time of the request in seconds since 1970.
const TIMESTAMP_HEADER: &str = "onecall-timestamp";

/// The header with the signature: HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal
/// digits.
const SIGNATURE_HEADER: &str = "onecall-signature";

/// The time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pauses before further attempts of one delivery.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// The longest arguments in an announcement, in tokens.
const ARGUMENT_TOKENS: usize = 500;

/// How many announcements may be on their way at once; further ones are made later.
const MAX_PENDING: usize = 64;

/// A web address that questions are announced to.
pub(crate) struct Webhook {
    client: reqwest::Client,
    url: Url,
    secret: Secret,
    redactor: Redactor,
    pending: Arc<Semaphore>,
    /// The questions that are being announced.
    under_way: Arc<Mutex<HashSet<ItemId>>>,
}

/// Questions of a run that are being announced by this process, until this is dropped.
pub(crate) struct Delivery {
    run: RunId,
    questions: Vec<ApprovalQuestion>,
    under_way: Arc<Mutex<HashSet<ItemId>>>,
    _permit: OwnedSemaphorePermit,
}

impl Webhook {
    /// Announces questions to `url`; `redactor` removes the secrets of the configuration from their
    /// arguments. `None` if no HTTP client can be made, which is logged.
    pub(crate) fn new(url: &str, secret: Secret, redactor: Redactor) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let client = onecall_login::http::client(&url)
            .inspect_err(|error| tracing::warn!("approvals.webhook cannot be used: {error}"))
            .ok()?;
        let (pending, under_way) = (Arc::new(Semaphore::new(MAX_PENDING)), Arc::default());
        Some(Self { client, url, secret, redactor, pending, under_way })
    }

    /// Begins to announce questions of a run, except those that are being announced already; `None` if there are
    /// no others, or too many announcements are on their way.
    pub(super) fn begin(&self, run: &RunId, questions: Vec<ApprovalQuestion>) -> Option<Delivery> {
        let permit = Arc::clone(&self.pending).try_acquire_owned().ok()?;
        let mut under_way = lock(&self.under_way);
        let questions: Vec<_> =
            questions.into_iter().filter(|it| under_way.insert(it.item.clone())).collect();
        drop(under_way);
        if questions.is_empty() {
            return None;
        }
        let under_way = Arc::clone(&self.under_way);
        Some(Delivery { run: run.clone(), questions, under_way, _permit: permit })
    }

    /// Posts an announcement, more than once if that fails. The error says why the last attempt has failed.
    pub(super) async fn deliver(&self, delivery: &Delivery) -> Result<(), String> {
        let body = announcement(&delivery.run, &delivery.questions, &self.redactor).to_string();
        let mut delays = RETRY_DELAYS.iter();
        loop {
            let problem = match self.post(&body).await {
                Ok(status) if status.is_success() => return Ok(()),
                Ok(status) => status.to_string(),
                Err(error) => onecall_login::http::cause(&error),
            };
            let Some(delay) = delays.next() else { return Err(problem) };
            tokio::time::sleep(*delay).await;
        }
    }

    async fn post(&self, body: &str) -> reqwest::Result<reqwest::StatusCode> {
        let timestamp = Timestamp::now().0.div_euclid(1_000).to_string();
        let request = self
            .client
            .post(self.url.clone())
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .header(SIGNATURE_HEADER, signature(self.secret.reveal(), &timestamp, body))
            .header(TIMESTAMP_HEADER, timestamp)
            .body(body.to_owned());
        Ok(request.send().await?.status())
    }
}

impl Delivery {
    /// The questions that are announced.
    pub(super) fn items(&self) -> Vec<ItemId> {
        self.questions.iter().map(|question| question.item.clone()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// Leaves out all questions but these.
    pub(super) fn retain(&mut self, items: &[ItemId]) {
        let mut under_way = lock(&self.under_way);
        self.questions.retain(|question| {
            let is_kept = items.contains(&question.item);
            if !is_kept {
                under_way.remove(&question.item);
            }
            is_kept
        });
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        for question in &self.questions {
            under_way.remove(&question.item);
        }
    }
}

/// The body of an announcement.
fn announcement(run: &RunId, items: &[ApprovalQuestion], redactor: &Redactor) -> Value {
    let item = |question: &ApprovalQuestion| {
        let arguments = redactor.redact(question.arguments.clone());
        json!({
            "item": question.item.as_str(),
            "name": question.name.as_str(),
            "line": question.line,
            "rule": question.rule,
            "kind": question.kind,
            "arguments": cut(&visible_json(&arguments), ARGUMENT_TOKENS),
            "asked": question.asked.to_string(),
            "expires": question.expires.to_string(),
        })
    };
    json!({
        "event": "approval_requested",
        "run": run.as_str(),
        "items": items.iter().map(item).collect::<Vec<_>>(),
    })
}

fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    [timestamp, ".", body].iter().for_each(|part| mac.update(part.as_bytes()));
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_other_programs_compute() {
        // printf '1.{}' | openssl dgst -sha256 -hmac key
        let known = "1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224";
        assert_eq!(signature("key", "1", "{}"), known);
    }
}
