//! A small MCP server with financial data and documents.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use super::data;

struct DemoServer;

/// Serves on stdin and stdout until the client disconnects.
pub(super) async fn serve() -> anyhow::Result<()> {
    DemoServer.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}

impl ServerHandler for DemoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("onecall-demo", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(definitions()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let number =
            |name: &str, default| arguments.get(name).and_then(Value::as_i64).unwrap_or(default);
        let answer = match request.name.as_ref() {
            "query_financials" => data::financials(text("ticker"), number("quarters", 8)),
            "stock_quote" => data::quote(text("ticker")),
            "search_docs" => Ok(data::documents(text("query"), number("limit", 10))),
            unknown => {
                return Err(ErrorData::invalid_params(format!("unknown tool '{unknown}'"), None));
            }
        };
        let result = match answer {
            Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        Ok(result.into())
    }
}

/// The tools as an agent would see them.
pub(super) fn definitions() -> Vec<Tool> {
    let ticker = json!({ "type": "string", "description": "Ticker symbol, for example ACME." });
    vec![
        tool(
            "query_financials",
            "Quarterly financial statements of a company, oldest quarter first: income \
             statement, balance sheet and cash flow, in millions of US dollars.",
            json!({
                "type": "object",
                "properties": {
                    "ticker": ticker,
                    "quarters": {
                        "type": "integer", "minimum": 1, "maximum": 40, "default": 8,
                        "description": "How many quarters to return."
                    }
                },
                "required": ["ticker"]
            }),
        ),
        tool(
            "stock_quote",
            "The latest price of a company's share, with volume, range and ratios.",
            json!({ "type": "object", "properties": { "ticker": ticker }, "required": ["ticker"] }),
        ),
        tool(
            "search_docs",
            "Searches filings, calls and notes. Returns the best matches with a title, a score \
             and an excerpt.",
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "What to look for." },
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": 20, "default": 10,
                        "description": "How many documents to return."
                    }
                },
                "required": ["query"]
            }),
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, description, Arc::new(schema))
        .with_annotations(ToolAnnotations::new().read_only(true))
}
