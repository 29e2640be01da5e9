//! Waits for a durable run on behalf of a client's request: until it ends, or until it has waited
//! for a person as long as the request may.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use onecall_config::ApprovalSettings;
use onecall_core::storage::StoreError;
use onecall_core::{ItemId, ServerName, ServerQuestion, ServerQuestionKind};
use onecall_gateway::{
    AcceptedConfiguration, Gateway, ResumeError, RunAnswer, RunStatus, RunWatch, WaitingRun,
};
use rmcp::RoleServer;
use rmcp::service::Peer;
use serde_json::Value;
use serde_json::value::to_raw_value;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::form::{Form, FormAnswer, by_client};
use crate::client;

/// How long the calls of a run have to stay the same before the client is asked about them, so that
/// parallel calls make one question, also on a busy machine. A person does not notice it.
const SETTLE_TIME: Duration = Duration::from_millis(250);

/// How a client can ask its user.
pub(crate) enum ClientForms {
    /// It cannot.
    None,
    /// By a request that it is sent while its own request is open.
    Requests,
    /// By a result that asks for input.
    InputRequired,
}

/// What a request is answered.
pub(crate) enum RunReply {
    /// The run has ended.
    Ended(Arc<RunAnswer>),
    /// The run waits for a person.
    Waiting(WaitingRun),
    /// The run waits for a person, and the client can ask its user.
    AskUser(Form),
}

/// Why a run has no state.
#[derive(Debug, Error)]
pub(crate) enum WaitError {
    /// No run has this identifier.
    #[error("there is no run '{0}' that waited for approval or could be continued")]
    Unknown(String),
    /// The run cannot be continued here.
    #[error("run {run} is not continued: {source}")]
    Resume {
        /// The identifier.
        run: String,
        /// The reason.
        source: Box<ResumeError>,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration has no durable runs.
    #[error("no approvals are configured, so no run can wait for one")]
    NotConfigured,
}

/// A question to the client's user. It is taken back when `stop` is dropped.
struct Exchange<F> {
    work: F,
    stop: oneshot::Sender<()>,
}

/// What waiting for a run needs.
pub(crate) struct RunWaiter<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) settings: &'a ApprovalSettings,
    pub(crate) forms: ClientForms,
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) client: &'a str,
}

/// Waits for a run.
pub(crate) async fn wait_for_run(
    waiter: &RunWaiter<'_>,
    mut watch: RunWatch,
) -> Result<RunReply, WaitError> {
    let mut remaining = waiter.settings.wait;
    let mut dismissed = HashSet::new();
    loop {
        match watch.status().await? {
            RunStatus::Ended(answer) => return Ok(RunReply::Ended(answer)),
            RunStatus::Unknown => return Err(WaitError::Unknown(watch.run().to_string())),
            RunStatus::Running => watch.changed().await,
            RunStatus::Interrupted(_) => waiter.resume(&mut watch).await?,
            RunStatus::Waiting(waiting) => {
                let Some(waiting) = settled(&mut watch, waiting).await? else { continue };
                let mut form = Form::about(&waiting);
                if let (ClientForms::InputRequired, Some(form)) = (&waiter.forms, &form) {
                    return Ok(RunReply::AskUser(form.clone()));
                }
                form.take_if(|form| form.items().iter().any(|it| dismissed.contains(&it.item)));
                let begun = Instant::now();
                let deadline = begun + remaining;
                let (stop, stopped) = oneshot::channel();
                let exchange = waiter.ask(form.as_ref(), &mut dismissed, stopped);
                let exchange = Exchange { work: exchange, stop };
                if !waits_until(waiter.gateway, &mut watch, &waiting, deadline, exchange).await? {
                    return Ok(RunReply::Waiting(waiting));
                }
                remaining = remaining.saturating_sub(begun.elapsed());
            }
        }
    }
}

/// Waits until the calls that a run waits for do not change any more; `None` if it does not wait
/// any more.
async fn settled(
    watch: &mut RunWatch,
    mut waiting: WaitingRun,
) -> Result<Option<WaitingRun>, StoreError> {
    loop {
        tokio::time::sleep(SETTLE_TIME).await;
        match watch.status().await? {
            RunStatus::Waiting(now) if now.items == waiting.items => return Ok(Some(now)),
            RunStatus::Waiting(now) => waiting = now,
            _ => return Ok(None),
        }
    }
}

/// Waits until the run waits for something else, while the client is asked. The result is `false` if
/// that has not happened by the deadline, or before this gateway ends.
async fn waits_until<F: Future<Output = ()>>(
    gateway: &Gateway,
    watch: &mut RunWatch,
    waiting: &WaitingRun,
    deadline: Instant,
    exchange: Exchange<F>,
) -> Result<bool, StoreError> {
    let Exchange { work, stop } = exchange;
    let mut work = pin!(work);
    let mut is_asking = true;
    let has_changed = loop {
        tokio::select! {
            () = watch.changed() => {}
            () = &mut work, if is_asking => is_asking = false,
            () = tokio::time::sleep_until(deadline) => break false,
            // Another gateway continues the run.
            () = gateway.draining() => break false,
        }
        match watch.status().await? {
            RunStatus::Waiting(now) if now.items == waiting.items => {}
            _ => break true,
        }
    };
    drop(stop);
    if is_asking {
        work.await;
    }
    Ok(has_changed)
}

impl RunWaiter<'_> {
    /// Continues a run that no process executes.
    async fn resume(&self, watch: &mut RunWatch) -> Result<(), WaitError> {
        match self.gateway.resume(watch.run(), AcceptedConfiguration::Same).await {
            // Either way, the run has another state now.
            Ok(()) | Err(ResumeError::Ended | ResumeError::InPlace(_)) => Ok(()),
            Err(ResumeError::OwnedByOther) => {
                watch.changed().await;
                Ok(())
            }
            Err(ResumeError::Store(error)) => Err(error.into()),
            Err(error) => {
                Err(WaitError::Resume { run: watch.run().to_string(), source: Box::new(error) })
            }
        }
    }

    /// Asks the client's user by a form, if the client has forms, and passes the decision on. The
    /// form is taken back when `stopped` completes.
    async fn ask(
        &self,
        form: Option<&Form>,
        dismissed: &mut HashSet<ItemId>,
        stopped: oneshot::Receiver<()>,
    ) {
        let stopped = async { _ = stopped.await };
        let (ClientForms::Requests, Some(form)) = (&self.forms, form) else {
            return stopped.await;
        };
        match self.elicit(form, stopped).await.map(|answer| form.read(&answer)) {
            Some(FormAnswer::Decided(decisions)) => {
                for (item, verdict) in decisions {
                    let answer = by_client(verdict, self.gateway.user(), self.client);
                    if let Err(error) = self.gateway.answer_question(item, answer).await {
                        tracing::warn!("the answer of the client is not stored: {error}");
                    }
                }
            }
            Some(FormAnswer::Dismissed | FormAnswer::Invalid) | None => {
                dismissed.extend(form.items().iter().map(|item| item.item.clone()));
            }
        }
    }

    /// Sends the form to the client, and cancels the request when `stopped` completes.
    async fn elicit(&self, form: &Form, stopped: impl Future<Output = ()>) -> Option<Value> {
        let question = ServerQuestion {
            server: ServerName::new("onecall"),
            kind: ServerQuestionKind::Elicitation,
            params: to_raw_value(&form.params()).ok()?,
        };
        let answer = client::ask(&self.peer, &question, stopped).await.inspect_err(|error| {
            tracing::debug!("the client has not answered the form: {error}");
        });
        serde_json::from_str(answer.ok()?.get()).ok()
    }
}
