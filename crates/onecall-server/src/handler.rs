//! The MCP request handler: answers tool, resource and completion requests of one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onecall_catalog::describe;
use onecall_core::text::{readable, visible_json};
use onecall_core::{ClientId, ShownKind};
use onecall_gateway::Gateway;
use onecall_runtime::{PlanAnswer, PlanRequest, Transcript, report};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::arguments::Arguments;
use crate::client;
use crate::definitions::{
    EXECUTE_PROGRAM, INSPECT_TOOL, INSTRUCTIONS, LIST_CALLABLE_TOOLS, PROGRAMMATIC_TOOL_CALLING,
    PROXY, SEARCH_TOOLS, definitions,
};
use crate::error::RequestError;
use crate::exposed;
use crate::findings::{listed_names, tell};
use crate::news::News;
use crate::progress::{Progress, run_with_client};
use crate::resources;
use crate::unread::Unread;

/// Longest error text in tokens, for errors that do not come from a program.
const FAILURE_TOKENS: usize = 4_000;

/// The MCP server for one client.
pub(crate) struct Handler {
    gateway: Arc<Gateway>,
    definitions: Vec<Tool>,
    /// The client that this handler serves.
    client: ClientId,
    /// Whether later requests of the same client reach this handler as well. Over HTTP, only a
    /// client that did the `initialize` handshake has a handler of its own; otherwise each request
    /// has a new handler, and clients cannot be identified.
    is_lasting: AtomicBool,
    unread: Arc<Unread>,
    news: News,
}

impl Handler {
    /// A handler for one request, or for the client that does the handshake with it.
    pub(crate) fn new(gateway: Arc<Gateway>, unread: Arc<Unread>) -> Self {
        let definitions = definitions(gateway.workspace(), &gateway.exposed());
        let news = News::new(&gateway);
        let client = client::next_id();
        let is_lasting = AtomicBool::new(false);
        Self { gateway, definitions, client, is_lasting, unread, news }
    }

    /// A handler for a transport with a single client.
    pub(crate) fn for_only_client(gateway: Arc<Gateway>, unread: Arc<Unread>) -> Self {
        Self { is_lasting: AtomicBool::new(true), ..Self::new(gateway, unread) }
    }

    fn shows(&self, tool: &str) -> bool {
        self.definitions.iter().any(|definition| definition.name == tool)
    }

    /// The owner of the sessions that a program may use; `None` if clients cannot be identified.
    fn owner(&self) -> Option<ClientId> {
        self.is_lasting.load(Ordering::Relaxed).then_some(self.client)
    }

    async fn execute(
        &self,
        arguments: Arguments<'_>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, RequestError> {
        let program = arguments.program(self.owner())?;
        if arguments.flag("dry_run")? {
            let preview = self.gateway.preview(&program).await;
            let text = preview.to_string();
            return Ok(if preview.refusal.is_some() { failure(text) } else { success(text) });
        }
        let (progress, channel) = Progress::new(self.client, &self.unread, &context);
        let run = self.gateway.run(&program, &progress);
        let outcome = run_with_client(run, channel, context).await;
        let mut content = vec![ContentBlock::text(report(&outcome))];
        let handle = outcome.session.as_ref().map(|handle| format!("session: {}", handle.as_str()));
        content.extend(handle.map(ContentBlock::text));
        content.extend(outcome.shown.into_iter().map(|shown| match shown.kind {
            ShownKind::Image => ContentBlock::image(shown.data, shown.mime_type),
            ShownKind::Audio => ContentBlock::audio(shown.data, shown.mime_type),
        }));
        Ok(match outcome.result {
            Ok(()) => CallToolResult::success(content),
            Err(_) => CallToolResult::error(content),
        })
    }

    async fn execute_whole(
        &self,
        arguments: Arguments<'_>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, RequestError> {
        let program = arguments.whole_program(&self.gateway.limits())?;
        let file = match arguments.optional_text("filename")? {
            Some(name) => self.gateway.save(&program, name).await?,
            None => None,
        };
        let file = file.map(|path| path.display().to_string());
        let (progress, channel) = Progress::new(self.client, &self.unread, &context);
        let run = self.gateway.run(&program, &progress);
        let outcome = run_with_client(run, channel, context).await;
        let transcript = Transcript::new(&outcome, file.as_deref());
        let mut result = success(visible_json(&transcript.to_json()).into_owned());
        // Numbers that `serde_json::Value` cannot represent are complete in the text.
        result.structured_content = serde_json::to_value(&transcript).ok();
        Ok(result)
    }

    async fn proxy(
        &self,
        arguments: &JsonObject,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let request = PlanRequest::read(arguments);
        let (progress, channel) = Progress::new(self.client, &self.unread, &context);
        let run = self.gateway.run_plan(request, &progress);
        match run_with_client(run, channel, context).await {
            Ok(PlanAnswer { content, structured }) => {
                let answer = json!({
                    "resultType": "complete",
                    "content": content,
                    "structuredContent": structured,
                });
                let invalid = |error| {
                    failure(format!(
                        "[Script execution failed]\nthe target's answer is not valid MCP: {error}"
                    ))
                };
                serde_json::from_value(answer).unwrap_or_else(invalid)
            }
            Err(failed) => failure(failed),
        }
    }

    /// Executes a direct call of an exposed tool.
    async fn pass_on(
        &self,
        name: &str,
        arguments: &JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, RequestError> {
        let arguments = to_raw_value(arguments).map_err(RequestError::NotWritten)?;
        self.unread.settled().await;
        let (progress, channel) = Progress::passed_on(self.client, &self.unread, &context);
        let call = self.gateway.call_exposed(name, arguments, &progress);
        let answer = run_with_client(call, channel, context).await?;
        exposed::result(&answer)
            .map_err(|source| RequestError::NotMcp { name: name.to_owned(), source })
    }

    async fn list(&self) -> CallToolResult {
        let tools = self.gateway.tools().await;
        let content = listed_names(&tools).into_iter().map(ContentBlock::text);
        CallToolResult::success(content.collect())
    }

    async fn search(&self, arguments: Arguments<'_>) -> Result<CallToolResult, RequestError> {
        let (search, detail) = arguments.search()?;
        let findings = self.gateway.find(search).await?;
        Ok(success(tell(&findings, search.query, detail)))
    }

    async fn inspect(&self, arguments: Arguments<'_>) -> Result<CallToolResult, RequestError> {
        match self.gateway.inspect(arguments.text("tool_name")?).await {
            Ok(spec) => {
                let observed = self.gateway.observed(&spec);
                let description = describe(&spec, observed.as_ref()).to_string();
                Ok(success(visible_json(&description).into_owned()))
            }
            Err(not_found) => Ok(failure(not_found)),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("onecall", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.news.tell(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let ours =
            SubscriptionFilter::builder().tools_list_changed().resources_list_changed().build();
        Some(requested.intersection(&ours))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.news.tell_subscriber(subscription).await;
        Ok(())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let abilities =
            client::abilities(Some(&request.capabilities), Some(&request.protocol_version));
        context.peer.set_peer_info(request.clone());
        self.is_lasting.store(true, Ordering::Relaxed);
        let idle = client::idle_client(self.client, context.peer, abilities);
        self.gateway.audience().introduce(idle);
        self.negotiate_initialize(&request)
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.gateway.roots_changed();
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.definitions.clone();
        let exposed = self.gateway.exposed_tools().await;
        tools.extend(exposed.iter().filter_map(exposed::definition));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.news.resources_seen();
        let cursor = request.as_ref().and_then(|it| it.cursor.as_deref());
        resources::list(&self.gateway, cursor).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.gateway, &request.uri).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::new(resources::complete(&self.gateway, &request).await))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let arguments = Arguments { tool: request.name.as_ref(), given: &given };
        let cancelled = context.ct.clone();
        let answer = async {
            Ok(match request.name.as_ref() {
                EXECUTE_PROGRAM => self.execute(arguments, context).await.unwrap_or_else(not_run),
                SEARCH_TOOLS => self.search(arguments).await.unwrap_or_else(failure),
                LIST_CALLABLE_TOOLS => self.list().await,
                INSPECT_TOOL => self.inspect(arguments).await.unwrap_or_else(failure),
                PROXY => self.proxy(&given, context).await,
                PROGRAMMATIC_TOOL_CALLING if self.shows(PROGRAMMATIC_TOOL_CALLING) => {
                    self.execute_whole(arguments, context).await.unwrap_or_else(not_run)
                }
                name if self.gateway.is_exposed(name) => {
                    self.pass_on(name, &given, context).await.unwrap_or_else(failure)
                }
                unknown => {
                    let names: Vec<_> =
                        self.definitions.iter().map(|it| it.name.as_ref()).collect();
                    let message =
                        format!("unknown tool '{unknown}'; this server has {}", names.join(", "));
                    return Err(ErrorData::invalid_params(message, None));
                }
            })
        };
        tokio::select! {
            answer = answer => answer.map(CallToolResult::into),
            // Dropping the program's future kills the program. The client has cancelled and ignores
            // this answer.
            () = cancelled.cancelled() => Ok(failure("cancelled").into()),
        }
    }
}

/// The answer if the arguments do not make a valid program.
fn not_run(error: RequestError) -> CallToolResult {
    failure(format!("[Script execution failed]\n{error}"))
}

fn success(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The answer to a request that failed. The text may come from a server, so it is made readable.
fn failure(text: impl ToString) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(readable(&text.to_string(), FAILURE_TOKENS))])
}
