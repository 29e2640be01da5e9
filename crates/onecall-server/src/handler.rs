//! The MCP request handler: answers tool, resource and completion requests of one client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use onecall_catalog::describe;
use onecall_config::OptionalTool;
use onecall_core::text::{readable, visible_json};
use onecall_core::{ClientId, LogLevel};
use onecall_gateway::{
    ClientRegistration, ExposedList, Gateway, RunAnswer, RunRequest, is_sealed_state,
};
use onecall_runtime::PlanRequest;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, ContentBlock, Extensions, GetPromptRequestMethod,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptsCapability,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SubscribeRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestMethod,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::value::to_raw_value;

use crate::approvals::DurableRequests;
use crate::arguments::OwnToolArguments;
use crate::client;
use crate::definitions::{
    Approvals, CONTINUE_PROGRAM, EXECUTE_PROGRAM, INSPECT_TOOL, INSTRUCTIONS, LIST_CALLABLE_TOOLS,
    OWN_TOOLS, PROGRAMMATIC_TOOL_CALLING, PROXY, SEARCH_TOOLS, definitions,
};
use crate::error::ToolRequestError;
use crate::exposed::{self, ResourceUpdates, ServerAnswer, Subscriptions, client_input};
use crate::http::CLIENT_HAS_LEFT;
use crate::list_notifier::{ListChangesFromNow, ListNotifier};
use crate::principal::principal;
use crate::progress::{ClientProgress, run_with_client};
use crate::resources;
use crate::response_budget::{ResponseBudget, ResponseBudgets};
use crate::search_text::{format_search_results, listed_names};

/// Longest error text in tokens, for errors that do not come from a program.
pub(crate) const FAILURE_TOKENS: usize = 4_000;

/// The MCP server for one client.
pub(crate) struct Handler {
    gateway: Arc<Gateway>,
    /// The client that this handler serves.
    client: ClientId,
    /// Whether later requests of the same client reach this handler as well. Over HTTP, only a
    /// client that did the `initialize` handshake has a handler of its own; otherwise each request
    /// has a new handler, and clients cannot be identified.
    is_persistent: AtomicBool,
    budgets: Arc<ResponseBudgets>,
    list_notifier: ListNotifier,
    durable_requests: DurableRequests,
    /// The resources of servers that the client watches.
    subscriptions: Subscriptions,
    /// The least severe log messages of servers that the client wants, if it wants any.
    log_level: Mutex<Option<LogLevel>>,
    /// Makes the client answer questions of the servers that run for its user.
    registration: Mutex<Option<ClientRegistration>>,
}

impl Handler {
    /// A handler for one request, or for the client that does the handshake with it.
    pub(crate) fn new(gateway: Arc<Gateway>, budgets: Arc<ResponseBudgets>) -> Self {
        let list_notifier = ListNotifier::default();
        let client = client::next_id();
        let is_persistent = AtomicBool::new(false);
        let durable_requests = DurableRequests::default();
        Self {
            gateway,
            client,
            is_persistent,
            budgets,
            list_notifier,
            durable_requests,
            subscriptions: Subscriptions::default(),
            log_level: Mutex::default(),
            registration: Mutex::default(),
        }
    }

    /// A handler for a transport with a single client.
    pub(crate) fn for_only_client(gateway: Arc<Gateway>, budgets: Arc<ResponseBudgets>) -> Self {
        Self { is_persistent: AtomicBool::new(true), ..Self::new(gateway, budgets) }
    }

    /// The gateway as the user of a request with these extensions sees it.
    pub(crate) async fn gateway_for(&self, extensions: &Extensions) -> Arc<Gateway> {
        self.gateway.for_principal(&principal(extensions)).await
    }

    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    /// The room for the answers of the user of a request with these extensions.
    pub(crate) fn budget_for(&self, extensions: &Extensions) -> Arc<ResponseBudget> {
        self.budgets.of(&principal(extensions).user)
    }

    pub(crate) fn durable_requests(&self) -> &DurableRequests {
        &self.durable_requests
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// The least severe log messages of servers that the client wants, if it wants any.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// The owner of the sessions that a program may use; `None` if clients cannot be identified.
    fn session_owner(&self) -> Option<ClientId> {
        self.is_persistent.load(Ordering::Relaxed).then_some(self.client)
    }

    async fn execute(
        &self,
        arguments: OwnToolArguments<'_>,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let program = arguments.program(self.session_owner())?;
        if arguments.flag("dry_run")? {
            let preview = self.gateway_for(&context.extensions).await.preview(&program).await;
            let text = preview.to_string();
            let answer = if preview.refusal.is_some() { failure(text) } else { success(text) };
            return Ok(answer.into());
        }
        let run = RunRequest::Program { program, file: None };
        self.run(run, request, context).await
    }

    async fn execute_with_transcript(
        &self,
        arguments: OwnToolArguments<'_>,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let gateway = self.gateway_for(&context.extensions).await;
        let program = arguments.whole_program(&gateway.limits())?;
        let file = match arguments.optional_text("filename")? {
            Some(name) => gateway.save(&program, name).await?,
            None => None,
        };
        let file = file.map(|path| path.display().to_string());
        self.run(RunRequest::Program { program, file }, request, context).await
    }

    /// Runs a program or plan. A run that cannot wait for a person is a part of its request: it ends
    /// when the client leaves.
    async fn run(
        &self,
        run: RunRequest,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let gateway = self.gateway_for(&context.extensions).await;
        if Box::pin(gateway.has_to_be_durable(&run)).await {
            return Box::pin(self.begin_durable(run, request, context)).await;
        }
        let budget = self.budget_for(&context.extensions);
        let (progress, channel) = ClientProgress::new(self.client, budget, &context);
        let answer = match &run {
            RunRequest::Program { program, file } => {
                let run = Box::pin(gateway.run_undurable(program, &progress));
                let outcome = run_with_client(run, channel, context).await;
                RunAnswer::of_program(&outcome, program, file.as_deref())
            }
            RunRequest::Plan(plan) => {
                let plan = PlanRequest::read(plan);
                let run = Box::pin(gateway.run_undurable_plan(plan, &progress));
                RunAnswer::of_plan(&run_with_client(run, channel, context).await)
            }
            RunRequest::ExposedTool { name, arguments } => {
                return self.call_exposed_tool(name, arguments, request, context).await;
            }
        };
        Ok(exposed::result_of_run(&answer).into())
    }

    /// Executes a direct call of an exposed tool.
    async fn call_exposed_tool(
        &self,
        name: &str,
        arguments: &JsonObject,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolRequestError> {
        let arguments = to_raw_value(arguments).map_err(ToolRequestError::NotSerialized)?;
        let gateway = self.gateway_for(&context.extensions).await;
        self.budget_for(&context.extensions).wait_until_free().await;
        let input = client_input(request.input_responses.as_ref(), request.request_state.as_ref());
        let (progress, channel) = self.exposed_progress(input, &context);
        let call = gateway.call_exposed(name, arguments, &progress);
        let answer = run_with_client(call, channel, context).await?;
        exposed::result(&answer)
            .map(ServerAnswer::into_response)
            .map_err(|source| ToolRequestError::NotMcp { name: name.to_owned(), source })
    }

    async fn list(&self, gateway: &Gateway) -> CallToolResult {
        let tools = gateway.tools().await;
        let content = listed_names(&tools).into_iter().map(ContentBlock::text);
        CallToolResult::success(content.collect())
    }

    async fn search(
        &self,
        gateway: &Gateway,
        arguments: OwnToolArguments<'_>,
    ) -> Result<CallToolResult, ToolRequestError> {
        let (search, detail) = arguments.search()?;
        let language = arguments.language()?;
        let results = gateway.find(search).await?;
        Ok(success(format_search_results(&results, search.query, detail, language)))
    }

    async fn inspect(
        &self,
        gateway: &Gateway,
        arguments: OwnToolArguments<'_>,
    ) -> Result<CallToolResult, ToolRequestError> {
        match gateway.inspect(arguments.text("tool_name")?).await {
            Ok(spec) => {
                let observed = gateway.observed(&spec);
                let description = describe(&spec, observed.as_ref()).to_string();
                Ok(success(visible_json(&description).into_owned()))
            }
            Err(not_found) => Ok(failure(not_found)),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        if let Some(resources) = &mut capabilities.resources {
            resources.subscribe = self.gateway.exposes_resources().then_some(true);
        }
        if self.gateway.exposes_prompts() {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
        }
        capabilities.logging = self.gateway.exposes_anything().then(JsonObject::default);
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("onecall", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let gateway = self.gateway_for(&context.extensions).await;
        self.list_notifier.notify_client(gateway, context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut ours =
            SubscriptionFilter::builder().tools_list_changed().resources_list_changed().build();
        ours.prompts_list_changed = self.gateway.exposes_prompts().then_some(true);
        if self.gateway.exposes_resources() {
            ours.resource_subscriptions.clone_from(&requested.resource_subscriptions);
        }
        Some(requested.intersection(&ours))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let context = subscription.request_context();
        let gateway = self.gateway_for(&context.extensions).await;
        // The subscription is acknowledged by now, and a server may need seconds to accept those to its resources.
        let changes = ListChangesFromNow::new(&gateway);
        let watched = self.subscribe_all(subscription.accepted(), context).await;
        let updates = ResourceUpdates::new(gateway, watched);
        self.list_notifier.notify_subscriber(changes, updates, subscription).await;
        Ok(())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let abilities =
            client::capabilities_of(Some(&request.capabilities), Some(&request.protocol_version));
        context.peer.set_peer_info(request.clone());
        self.is_persistent.store(true, Ordering::Relaxed);
        let gateway = self.gateway_for(&context.extensions).await;
        let idle = client::idle_client(self.client, context.peer, abilities);
        gateway.clients().set_client(Arc::clone(&idle));
        let registration = gateway.clients().register(idle);
        *self.registration.lock().unwrap_or_else(PoisonError::into_inner) = Some(registration);
        self.negotiate_initialize(&request)
    }

    /// A request that waits for a durable run is cancelled: the run is cancelled, even if it waits
    /// for a person. (The run of any other request ends with its request.)
    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        let CancelledNotificationParam { request_id, reason, .. } = notification;
        let run = request_id.and_then(|request| self.durable_requests.take(&request));
        if reason.as_deref() == Some(CLIENT_HAS_LEFT) {
            return;
        }
        if let Some(run) = run
            && let Err(error) = self.gateway.cancel_run(&run).await
        {
            tracing::warn!("run {run} is not cancelled: {error}");
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.gateway_for(&context.extensions).await.roots_changed();
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let mut tools = own_tools(&gateway);
        let exposed = gateway.exposed_tools(&OWN_TOOLS).await;
        tools.extend(exposed.iter().filter_map(exposed::definition));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        self.list_notifier.mark_resources_listed(&gateway);
        let cursor = request.as_ref().and_then(|it| it.cursor.as_deref());
        let mut page = resources::list(&gateway, cursor).await?;
        if page.next_cursor.is_none() {
            page.resources.extend(self.list_exposed(ExposedList::Resources, context).await);
        }
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = resources::templates();
        let exposed = self.list_exposed(ExposedList::ResourceTemplates, context).await;
        list.resource_templates.extend(exposed);
        Ok(list)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.list_exposed_prompts(context).await))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if !self.gateway.exposes_prompts() {
            return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
        }
        self.get_exposed_prompt(request, context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.gateway.exposes_resources() {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        self.subscribe_exposed(&request.uri, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.gateway.exposes_resources() {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    #[expect(
        deprecated,
        reason = "clients of revisions with a handshake set the level in this way"
    )]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let has_levels =
            context.protocol_version().is_none_or(|it| it < ProtocolVersion::V_2026_07_28);
        let level = serde_json::to_value(request.level).ok();
        let level = level.as_ref().and_then(|level| LogLevel::named(level.as_str()?));
        match level.filter(|_| has_levels && self.gateway.exposes_anything()) {
            Some(level) => self.want_log_messages(level, &context).await,
            None => return Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
        }
        Ok(())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        if gateway.exposes_resources() && !resources::is_own(&request.uri) {
            return self.read_exposed(&request, context).await;
        }
        resources::read(&gateway, &request.uri).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let gateway = self.gateway_for(&context.extensions).await;
        let is_own =
            matches!(&request.r#ref, Reference::Resource(it) if resources::is_own(&it.uri));
        if !is_own && let Some(completed) = self.complete_exposed(&request, context).await? {
            return Ok(completed);
        }
        Ok(CompleteResult::new(resources::complete(&gateway, &request).await))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.clone().unwrap_or_default();
        let arguments = OwnToolArguments { tool: request.name.as_ref(), given: &given };
        let cancelled = context.ct.clone();
        let gateway = self.gateway_for(&context.extensions).await;
        let answer = async {
            let exposed = match OWN_TOOLS.contains(&request.name.as_ref()) {
                true => None,
                false => gateway.find_exposed(&request.name, &OWN_TOOLS).await,
            };
            // A state that is not from here is one of the server that has the tool.
            let is_own_state = |state: &&String| exposed.is_none() || is_sealed_state(state);
            if let Some(state) = request.request_state.as_ref().filter(is_own_state) {
                let answer = self.continue_exchange(state, &request, context).await?;
                return Ok(answer.unwrap_or_else(not_run));
            }
            Ok(match request.name.as_ref() {
                EXECUTE_PROGRAM => {
                    self.execute(arguments, &request, context).await.unwrap_or_else(not_run)
                }
                SEARCH_TOOLS => {
                    self.search(&gateway, arguments).await.unwrap_or_else(failure).into()
                }
                LIST_CALLABLE_TOOLS => self.list(&gateway).await.into(),
                INSPECT_TOOL => {
                    self.inspect(&gateway, arguments).await.unwrap_or_else(failure).into()
                }
                PROXY => {
                    let plan = RunRequest::Plan(given.clone());
                    self.run(plan, &request, context).await.unwrap_or_else(not_run)
                }
                PROGRAMMATIC_TOOL_CALLING if has_programmatic_tool_calling(&gateway) => {
                    let run = self.execute_with_transcript(arguments, &request, context);
                    run.await.unwrap_or_else(not_run)
                }
                CONTINUE_PROGRAM if can_continue(&gateway) => {
                    let run = async {
                        self.continue_run(arguments.text("run")?, &request, context).await
                    };
                    run.await.unwrap_or_else(not_run)
                }
                unknown => {
                    if let Some(name) = exposed {
                        let (name, arguments) = (name.as_str().to_owned(), given.clone());
                        let call = RunRequest::ExposedTool { name, arguments };
                        return match self.run(call, &request, context).await {
                            Err(ToolRequestError::Tool(error)) if error.refusal().is_some() => {
                                Err(exposed::protocol_error(&error))
                            }
                            run => Ok(run.unwrap_or_else(|error| failure(error).into())),
                        };
                    }
                    let tools = own_tools(&gateway);
                    let names: Vec<_> = tools.iter().map(|it| it.name.as_ref()).collect();
                    let message =
                        format!("unknown tool '{unknown}'; this server has {}", names.join(", "));
                    return Err(ErrorData::invalid_params(message, None));
                }
            })
        };
        tokio::select! {
            answer = answer => answer,
            // Dropping the program's future kills the program. The client has cancelled and ignores
            // this answer.
            () = cancelled.cancelled() => Ok(failure("cancelled").into()),
        }
    }
}

/// The definitions of onecall's own tools. Policies that are replaced while a client is connected may begin to
/// have people asked.
fn own_tools(gateway: &Gateway) -> Vec<Tool> {
    let approvals = match gateway.approvals() {
        Some(_) => Approvals::On,
        None => Approvals::Off,
    };
    definitions(gateway.workspace(), &gateway.optional_tools(), approvals)
}

fn has_programmatic_tool_calling(gateway: &Gateway) -> bool {
    gateway.optional_tools().contains(&OptionalTool::ProgrammaticToolCalling)
}

/// Whether runs may wait that can be continued. They may have begun under earlier policies.
fn can_continue(gateway: &Gateway) -> bool {
    gateway.approvals().is_some() || gateway.has_policies()
}

/// The answer if the arguments do not make a valid program.
fn not_run(error: ToolRequestError) -> CallToolResponse {
    failure(format!("[Script execution failed]\n{error}")).into()
}

fn success(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The answer to a request that failed. The text may come from a server, so it is made readable.
fn failure(text: impl ToString) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(readable(&text.to_string(), FAILURE_TOKENS))])
}
