//! Serves requests whose run may wait for a person.

use std::sync::Arc;

use onecall_core::{ApprovalWay, ClientInput, RunId};
use onecall_gateway::{Gateway, RunAnswer, RunFollower, RunRequest};
use onecall_runtime::Observer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::input_required::{InputError, InputState, state_owner};
use super::waiting::{ClientForms, RunReply, RunWaiter, WaitError, wait_for_run};
use super::waiting_text::waiting_text;
use crate::client;
use crate::definitions::OWN_TOOLS;
use crate::error::ToolRequestError;
use crate::exposed;
use crate::handler::Handler;
use crate::progress::{ClientChannel, ClientProgress, run_with_client};

impl Handler {
    /// Begins a run that may wait for a person, and waits for it.
    pub(crate) async fn begin_durable(
        &self,
        request: RunRequest,
        given: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let gateway = self.gateway_for(&context.extensions).await;
        let (progress, channel) = self.progress(&gateway, given, &context).await;
        let client = progress.client();
        // From here until `wait` has noted the run, no cancellation can come in between.
        if context.ct.is_cancelled() {
            return Ok(exposed::result_of_run(&RunAnswer::cancelled()).into());
        }
        let follower = gateway.begin_durable(request, Arc::new(progress))?;
        let state = InputState::first(follower.run().clone());
        let following = Following { client, follower, channel };
        self.wait(&gateway, state, following, given, context).await
    }

    /// Waits for a run that exists already.
    pub(crate) async fn continue_run(
        &self,
        run: &str,
        given: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let gateway = self.gateway_for(&context.extensions).await;
        let state = InputState::first(RunId::from_existing(run));
        if !gateway.owns_run(&state.run).await.map_err(WaitError::Store)? {
            return Err(WaitError::Unknown(run.to_owned()).into());
        }
        let (progress, channel) = self.progress(&gateway, given, &context).await;
        let following = follow(&gateway, &state.run, progress, channel)?;
        self.wait(&gateway, state, following, given, context).await
    }

    /// Continues an exchange in which the client was asked for input.
    ///
    /// # Errors
    /// If the state that the client sends is not valid.
    pub(crate) async fn continue_exchange(
        &self,
        sealed: &str,
        given: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Result<CallToolResponse, ToolRequestError>, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let (progress, channel) = self.progress(&gateway, given, &context).await;
        let owner = state_owner(gateway.user(), &progress.client(), given);
        let responses = given.input_responses.as_ref();
        let state = match InputState::open(&gateway, &owner, sealed, responses).await {
            Ok(state) => state,
            Err(InputError::Refused(refusal)) => {
                return Err(ErrorData::invalid_params(refusal.to_string(), None));
            }
            Err(InputError::Store(error)) => return Ok(Err(WaitError::Store(error).into())),
        };
        Ok(match follow(&gateway, &state.run, progress, channel) {
            Ok(following) => self.wait(&gateway, state, following, given, context).await,
            Err(error) => Err(error.into()),
        })
    }

    /// The progress of a request. That of an exposed tool is passed on as its server reports it.
    async fn progress(
        &self,
        gateway: &Gateway,
        given: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> (ClientProgress, ClientChannel) {
        let name = given.name.as_ref();
        let is_own = OWN_TOOLS.contains(&name);
        if !is_own && gateway.find_exposed(name, &OWN_TOOLS).await.is_some() {
            return self.exposed_progress(ClientInput::default(), context);
        }
        ClientProgress::new(self.client(), self.budget_for(&context.extensions), context)
    }

    async fn wait(
        &self,
        gateway: &Arc<Gateway>,
        state: InputState,
        following: Following,
        given: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let Following { client, follower, channel } = following;
        let request = self.durable_requests().begin(context.id.clone(), follower);
        let settings = gateway.approvals().unwrap_or_default();
        let watch = gateway.watch_run(&state.run).ok_or(WaitError::NotConfigured)?;
        let waiter = RunWaiter {
            gateway,
            settings: &settings,
            forms: match forms_of(&context, settings.allows(ApprovalWay::Client)) {
                ClientForms::InputRequired if !state.can_ask() => ClientForms::None,
                forms => forms,
            },
            peer: context.peer.clone(),
            client: &client,
        };
        let reply = run_with_client(wait_for_run(&waiter, watch), channel, context).await;
        request.answered();
        Ok(match reply? {
            RunReply::Ended(answer) => exposed::result_of_run(&answer).into(),
            RunReply::Waiting(waiting) => waits(waiting_text(&waiting, &settings)),
            RunReply::AskUser(form) => {
                let owner = state_owner(gateway.user(), &client, given);
                let asked = state.ask(gateway, &owner, &form).await.map_err(WaitError::Store)?;
                match asked {
                    Some(asked) => asked.into(),
                    None => waits(waiting_text(&form.waiting(&state.run), &settings)),
                }
            }
        })
    }
}

/// A request that follows a run.
struct Following {
    /// The name that the client gives itself.
    client: String,
    follower: RunFollower,
    /// Receives what the client gets while it waits.
    channel: ClientChannel,
}

/// Makes a request follow a run that exists already.
fn follow(
    gateway: &Gateway,
    run: &RunId,
    progress: ClientProgress,
    channel: ClientChannel,
) -> Result<Following, WaitError> {
    let client = progress.client();
    let follower = gateway.follow_run(run, Arc::new(progress));
    let follower = follower.ok_or(WaitError::NotConfigured)?;
    Ok(Following { client, follower, channel })
}

fn waits(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// How the client of a request can ask its user.
fn forms_of(context: &RequestContext<RoleServer>, is_allowed: bool) -> ClientForms {
    let capabilities = context.client_capabilities();
    if !is_allowed || !client::has_forms(capabilities.as_ref()) {
        return ClientForms::None;
    }
    let version = context.protocol_version();
    match version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        true => ClientForms::InputRequired,
        false => ClientForms::Requests,
    }
}
