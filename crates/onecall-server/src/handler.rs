//! Answers the agent's requests.

use std::sync::Arc;

use onecall_core::{EngineChoice, Program};
use onecall_runtime::{Gateway, PlanAnswer, PlanRequest, report};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::definitions::{
    EXECUTE_PROGRAM, INSPECT_TOOL, INSTRUCTIONS, LIST_CALLABLE_TOOLS, PROXY, definitions,
};
use crate::description::describe;
use crate::progress::{Progress, told};

/// The MCP server an agent talks to.
pub(crate) struct Handler {
    gateway: Arc<Gateway>,
}

impl Handler {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway }
    }

    async fn execute(
        &self,
        arguments: &JsonObject,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let code = match text_argument(arguments, EXECUTE_PROGRAM, "code") {
            Ok(code) => code,
            Err(message) => return failure(format!("[Script execution failed]\n{message}")),
        };
        let engine = match engine_argument(arguments) {
            Ok(engine) => engine,
            Err(message) => return failure(format!("[Script execution failed]\n{message}")),
        };
        let program = Program { code: code.to_owned(), engine };
        let (progress, calls) = Progress::new();
        let outcome = told(self.gateway.run(&program, &progress), calls, context).await;
        let text = report(&outcome);
        match outcome.result {
            Ok(()) => success(text),
            Err(_) => failure(text),
        }
    }

    async fn proxy(
        &self,
        arguments: &JsonObject,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let request = PlanRequest::read(arguments);
        let (progress, calls) = Progress::new();
        match told(self.gateway.run_plan(request, &progress), calls, context).await {
            Ok(PlanAnswer { content, structured }) => {
                let answer = json!({ "content": content, "structuredContent": structured });
                let invalid = |error| {
                    failure(format!(
                        "[Script execution failed]\nthe target's answer is not valid MCP: {error}"
                    ))
                };
                serde_json::from_value(answer).unwrap_or_else(invalid)
            }
            Err(text) => failure(text),
        }
    }

    async fn list(&self) -> CallToolResult {
        let tools = self.gateway.tools().await;
        let names: Vec<Value> =
            tools.iter().map(|spec| Value::from(spec.callable.as_str())).collect();
        success(Value::from(names).to_string())
    }

    async fn inspect(&self, arguments: &JsonObject) -> CallToolResult {
        let name = match text_argument(arguments, INSPECT_TOOL, "tool_name") {
            Ok(name) => name,
            Err(message) => return failure(message),
        };
        match self.gateway.inspect(name).await {
            Ok(spec) => success(describe(&spec).to_string()),
            Err(not_found) => failure(not_found.to_string()),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("onecall", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(definitions(self.gateway.workspace())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let cancelled = context.ct.clone();
        let answer = async {
            match request.name.as_ref() {
                EXECUTE_PROGRAM => Ok(self.execute(&arguments, context).await),
                LIST_CALLABLE_TOOLS => Ok(self.list().await),
                INSPECT_TOOL => Ok(self.inspect(&arguments).await),
                PROXY => Ok(self.proxy(&arguments, context).await),
                unknown => {
                    let message = format!(
                        "unknown tool '{unknown}'; this server has {EXECUTE_PROGRAM}, \
                         {LIST_CALLABLE_TOOLS}, {INSPECT_TOOL} and {PROXY}"
                    );
                    Err(ErrorData::invalid_params(message, None))
                }
            }
        };
        tokio::select! {
            answer = answer => answer.map(Into::into),
            // Leaving the program's future kills it. Nobody reads this answer.
            () = cancelled.cancelled() => Ok(failure("cancelled".to_owned()).into()),
        }
    }
}

fn text_argument<'a>(arguments: &'a JsonObject, tool: &str, name: &str) -> Result<&'a str, String> {
    match arguments.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{tool}: '{name}' must be a string")),
        None => Err(format!("{tool}: '{name}' is missing")),
    }
}

fn engine_argument(arguments: &JsonObject) -> Result<Option<EngineChoice>, String> {
    let Some(wanted) = arguments.get("engine").filter(|wanted| !wanted.is_null()) else {
        return Ok(None);
    };
    let known = |(name, engine): &(&str, EngineChoice)| (wanted == name).then_some(*engine);
    EngineChoice::NAMES.iter().find_map(known).map(Some).ok_or_else(|| {
        let names = EngineChoice::NAMES.map(|(name, _)| name).join(", ");
        format!("{EXECUTE_PROGRAM}: 'engine' must be one of {names}")
    })
}

fn success(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn failure(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
