//! The requests of clients for exposed resources and prompts.

use std::sync::Arc;

use onecall_core::{ClientInput, LogLevel};
use onecall_gateway::{ExposedList, ResourceSubscription};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputResponses, Prompt, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Reference, SubscriptionFilter,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::subscriptions::{MAX_WATCHED, Watched};
use super::{ServerAnswer, definitions, protocol_error};
use crate::handler::Handler;
use crate::progress::{ClientChannel, ClientProgress, run_with_client};
use crate::resources::not_found;

/// The input that a request of a client brings for the server that it is meant for.
pub(crate) fn client_input(
    responses: Option<&InputResponses>,
    state: Option<&String>,
) -> ClientInput {
    let responses = responses.and_then(|responses| to_raw_value(responses).ok());
    ClientInput { responses, state: state.and_then(|state| to_raw_value(state).ok()) }
}

impl Handler {
    /// Observes a request that is meant for a server, and the channel to its client.
    pub(crate) fn exposed_progress(
        &self,
        input: ClientInput,
        context: &RequestContext<RoleServer>,
    ) -> (ClientProgress, ClientChannel) {
        let budget = self.budget_for(&context.extensions);
        ClientProgress::for_exposed(self.client(), budget, self.log_level(), input, context)
    }

    /// The exposed resources or resource templates.
    pub(crate) async fn list_exposed<T: DeserializeOwned>(
        &self,
        list: ExposedList,
        context: RequestContext<RoleServer>,
    ) -> Vec<T> {
        let gateway = self.gateway_for(&context.extensions).await;
        if !gateway.exposes_resources() {
            return Vec::new();
        }
        let (progress, channel) = self.exposed_progress(ClientInput::default(), &context);
        let listing = Box::pin(gateway.exposed_resources(list, &progress));
        definitions::entries(run_with_client(listing, channel, context).await)
    }

    /// The exposed prompts.
    pub(crate) async fn list_exposed_prompts(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Vec<Prompt> {
        let gateway = self.gateway_for(&context.extensions).await;
        if !gateway.exposes_prompts() {
            return Vec::new();
        }
        let (progress, channel) = self.exposed_progress(ClientInput::default(), &context);
        let listing = Box::pin(gateway.exposed_prompts(&progress));
        let prompts = run_with_client(listing, channel, context).await;
        prompts.into_iter().filter_map(definitions::prompt).collect()
    }

    /// Reads an exposed resource.
    pub(crate) async fn read_exposed(
        &self,
        request: &ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let input = client_input(request.input_responses.as_ref(), request.request_state.as_ref());
        let (progress, channel) = self.exposed_progress(input, &context);
        let reading = Box::pin(gateway.read_exposed(&request.uri, &progress));
        let read = run_with_client(reading, channel, context).await;
        let answer = read.map_err(|error| protocol_error(&error))?;
        let answer = answer.ok_or_else(|| not_found(&request.uri, None))?;
        complete_answer::<ReadResourceResult>(&answer).map(ServerAnswer::into_response)
    }

    /// Gets an exposed prompt.
    pub(crate) async fn get_exposed_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let input = client_input(request.input_responses.as_ref(), request.request_state.as_ref());
        let (progress, channel) = self.exposed_progress(input, &context);
        let arguments = request.arguments.map(Value::Object);
        let getting = Box::pin(gateway.get_exposed_prompt(&request.name, arguments, &progress));
        let got = run_with_client(getting, channel, context).await;
        let answer = got.map_err(|error| protocol_error(&error))?;
        let answer = answer.ok_or_else(|| no_prompt(&request.name))?;
        complete_answer::<GetPromptResult>(&answer).map(ServerAnswer::into_response)
    }

    /// Completes an argument of an exposed prompt or resource template; `None` if there is none.
    pub(crate) async fn complete_exposed(
        &self,
        request: &CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Option<CompleteResult>, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let (progress, channel) = self.exposed_progress(ClientInput::default(), &context);
        let argument = json!(request.argument);
        let known = request.context.as_ref().map(|context| json!(context));
        let completing = async {
            match &request.r#ref {
                Reference::Prompt(prompt) if gateway.exposes_prompts() => {
                    let name = prompt.name.as_str();
                    gateway.complete_exposed_prompt(name, argument, known, &progress).await
                }
                Reference::Resource(template) if gateway.exposes_resources() => {
                    let uri = template.uri.as_str();
                    gateway.complete_exposed_resource(uri, argument, known, &progress).await
                }
                _ => Ok(None),
            }
        };
        let completed = run_with_client(Box::pin(completing), channel, context).await;
        let Some(answer) = completed.map_err(|error| protocol_error(&error))? else {
            return Ok(None);
        };
        match complete_answer::<CompleteResult>(&answer)? {
            ServerAnswer::Complete(result) => Ok(Some(result)),
            ServerAnswer::InputRequired(_) => {
                Err(ErrorData::internal_error("the server asks for input here", None))
            }
        }
    }

    /// Subscribes the client of a connection to the changes of an exposed resource.
    pub(crate) async fn subscribe_exposed(
        &self,
        uri: &str,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscriptions().contains(uri) {
            return Ok(());
        }
        if self.subscriptions().is_full() {
            let message = format!("a client may subscribe to at most {MAX_WATCHED} resources");
            return Err(ErrorData::invalid_request(message, None));
        }
        let (gateway, peer) = (self.gateway_for(&context.extensions).await, context.peer.clone());
        let subscription = self.subscribe(uri, context).await?;
        self.subscriptions().add(subscription, gateway, peer);
        Ok(())
    }

    /// Subscribes to the resources that a request for notifications names. A resource that cannot be
    /// watched is left out.
    pub(crate) async fn subscribe_all(
        &self,
        filter: &SubscriptionFilter,
        context: &RequestContext<RoleServer>,
    ) -> Arc<Watched> {
        let mut watched = Vec::new();
        for uri in filter.resource_subscriptions.iter().flatten().take(MAX_WATCHED) {
            match self.subscribe(uri, context.clone()).await {
                Ok(subscription) => watched.push(subscription),
                Err(error) => tracing::debug!("a client cannot watch a resource: {error}"),
            }
        }
        Arc::new(watched.into_iter().collect())
    }

    async fn subscribe(
        &self,
        uri: &str,
        context: RequestContext<RoleServer>,
    ) -> Result<ResourceSubscription, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let (progress, channel) = self.exposed_progress(ClientInput::default(), &context);
        let subscribing = Box::pin(gateway.subscribe_exposed(uri, &progress));
        let subscribed = run_with_client(subscribing, channel, context).await;
        let subscription = subscribed.map_err(|error| protocol_error(&error))?;
        subscription.ok_or_else(|| not_found(uri, None))
    }

    /// Sets the least severe log messages of servers that the client gets.
    pub(crate) async fn want_log_messages(
        &self,
        level: LogLevel,
        context: &RequestContext<RoleServer>,
    ) {
        self.set_log_level(level);
        self.gateway_for(&context.extensions).await.want_log_messages(level).await;
    }
}

fn complete_answer<T: DeserializeOwned>(answer: &RawValue) -> Result<ServerAnswer<T>, ErrorData> {
    ServerAnswer::read(answer).map_err(|error| {
        let message = format!("the answer of the server is not valid MCP: {error}");
        ErrorData::internal_error(message, None)
    })
}

fn no_prompt(name: &str) -> ErrorData {
    let name: String = name.chars().take(200).collect();
    ErrorData::invalid_params(format!("there is no prompt '{name}'"), None)
}
