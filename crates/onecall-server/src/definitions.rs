//! The definitions of onecall's own tools. An agent pays for them with tokens in every request, so
//! they have to be short.

use std::borrow::Cow;
use std::sync::Arc;

use onecall_config::OptionalTool;
use onecall_core::{EngineChoice, Language, WorkspaceAccess};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::search_text::SearchDetail;

/// The tool that runs a program.
pub(crate) const EXECUTE_PROGRAM: &str = "execute_program";
/// The tool that lists what programs can call.
pub(crate) const LIST_CALLABLE_TOOLS: &str = "list_callable_tools";
/// The tool that describes one callable tool.
pub(crate) const INSPECT_TOOL: &str = "inspect_tool";

/// The tool that searches for callable tools.
pub(crate) const SEARCH_TOOLS: &str = "search_tools";

/// The tool that runs a plan of nested calls.
pub(crate) const PROXY: &str = "proxy";

/// The tool that runs a program for a host and returns everything about the run.
pub(crate) const PROGRAMMATIC_TOOL_CALLING: &str = "programmatic_tool_calling";

/// The tool that waits for a run which waits for approval.
pub(crate) const CONTINUE_PROGRAM: &str = "continue_program";

/// The description of the whole server for the agent.
/// The names of onecall's own tools, whether they are shown or not. No exposed tool has one of them.
pub(crate) const OWN_TOOLS: [&str; 7] = [
    EXECUTE_PROGRAM,
    LIST_CALLABLE_TOOLS,
    INSPECT_TOOL,
    SEARCH_TOOLS,
    PROXY,
    PROGRAMMATIC_TOOL_CALLING,
    CONTINUE_PROGRAM,
];

pub(crate) const INSTRUCTIONS: &str = "\
Write one program instead of several calls to tools of other MCP servers, or to take a part of a \
large result: intermediate results stay out of your context. Find tools with search_tools, then \
run execute_program.";

const EXECUTE_DESCRIPTION: &str = "\
Runs a Python program in a sandbox and returns only what it prints. Tools of other MCP servers \
are async functions: `rows = await mcp__sales__orders(region=\"EU\")`. \
Top-level await works; asyncio.gather runs calls in parallel. Results are plain values (parsed \
JSON). A failed call raises ToolError. Most of the standard library and the user's packages \
work; no network. Print the answer, not the data. Also: list_resources(), \
read_resource(uri), list_prompts(), get_prompt(server, name, args). For one call with a short \
answer, use that tool or proxy. ";

const PROXY_DESCRIPTION: &str = "\
Calls target_tool without a program; you see only its answer. In tool_args, {\"__tool__\": name, \"args\": {...}} stands for that tool's result and {\"__ref__\": id} for that of \
the call with \"identifier\": id. \"__transform__\": \"lambda r: ...\" beside either changes it.";

/// Whether calls can wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approvals {
    /// No call waits for a person.
    Off,
    /// Some calls may wait, so the tool `continue_program` is shown.
    On,
}

/// The definitions of all tools, in a fixed order. They depend on the access that programs have to
/// a workspace, on the optional tools in `exposed`, and on whether calls can wait for a person.
#[must_use]
pub fn definitions(
    workspace: Option<WorkspaceAccess>,
    exposed: &[OptionalTool],
    approvals: Approvals,
) -> Vec<Tool> {
    let files = match workspace {
        None => "The only files are /tools/<server>/<tool>.pyi.",
        Some(WorkspaceAccess::ReadOnly) => "Files in the working directory can be read.",
        Some(WorkspaceAccess::ReadWrite { .. }) => {
            "Files in the working directory can be read and written, and stay."
        }
    };
    let mut tools = vec![
        tool(
            EXECUTE_PROGRAM,
            format!("{EXECUTE_DESCRIPTION}{files}"),
            json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "language": {
                        "enum": Language::NAMES.map(|(name, _)| name),
                        "description": "Default: python. In typescript, tools take one object."
                    },
                    "engine": { "enum": EngineChoice::NAMES.map(|(name, _)| name) },
                    "session": {
                        "type": "string",
                        "description": "Keeps variables for programs with this name, or the handle in the answer."
                    },
                    "reset": { "type": "boolean" },
                    "dry_run": {
                        "type": "boolean",
                        "description": "Only list the tools it can call."
                    }
                },
                "required": ["code"]
            }),
        )
        .with_annotations(ToolAnnotations::new().destructive(true).open_world(true)),
        tool(
            SEARCH_TOOLS,
            "Finds tools for programs, with their signatures.",
            json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What they are to do; empty lists all."
                    },
                    "server": { "type": "string" },
                    "detail": {
                        "enum": SearchDetail::NAMES.map(|(name, _)| name),
                        "description": "Default: signatures."
                    },
                    "limit": { "type": "integer" }
                },
                "required": ["query"]
            }),
        )
        .with_annotations(ToolAnnotations::new().read_only(true)),
        tool(
            LIST_CALLABLE_TOOLS,
            "Lists the names of all callable tools.",
            json!({ "type": "object", "properties": {} }),
        )
        .with_annotations(ToolAnnotations::new().read_only(true)),
        tool(
            INSPECT_TOOL,
            "Shows a tool's signature, description and schemas.",
            json!({
                "type": "object",
                "properties": {
                    "tool_name": { "type": "string" }
                },
                "required": ["tool_name"]
            }),
        )
        .with_annotations(ToolAnnotations::new().read_only(true)),
        tool(
            PROXY,
            PROXY_DESCRIPTION,
            json!({
                "type": "object",
                "properties": {
                    "target_tool": { "type": "string" },
                    "tool_args": { "type": "object" },
                    "definitions": {
                        "type": "string",
                        "description": "Python functions that transforms may name."
                    },
                    "server_config": {
                        "type": "object",
                        "description": "Use only these servers, by name."
                    }
                },
                "required": ["target_tool", "tool_args"]
            }),
        )
        .with_annotations(ToolAnnotations::new().destructive(true).open_world(true)),
    ];
    tools.extend(exposed.iter().map(|optional| match optional {
        OptionalTool::ProgrammaticToolCalling => programmatic_tool_calling(),
    }));
    if approvals == Approvals::On {
        tools.push(continue_program());
    }
    tools
}

fn continue_program() -> Tool {
    tool(
        CONTINUE_PROGRAM,
        "Waits for a run that answered \"waiting for approval\", and returns its result. Can be \
         repeated.",
        json!({
            "type": "object",
            "properties": { "run": { "type": "string" } },
            "required": ["run"]
        }),
    )
    .with_annotations(ToolAnnotations::new().destructive(true).open_world(true))
}

fn programmatic_tool_calling() -> Tool {
    tool(
        PROGRAMMATIC_TOOL_CALLING,
        "Runs a Python program like execute_program and returns everything about it as JSON: \
         output, the value of its last expression, every tool call with its result, the error.",
        json!({
            "type": "object",
            "properties": {
                "code": { "type": "string", "description": "The Python program." },
                "filename": {
                    "type": "string",
                    "description": "Keep the program in the working directory under this name."
                },
                "timeout": { "type": "number", "description": "Seconds." }
            },
            "required": ["code"]
        }),
    )
    .with_annotations(ToolAnnotations::new().destructive(true).open_world(true))
}

fn tool(name: &'static str, description: impl Into<Cow<'static, str>>, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, description.into(), Arc::new(schema))
}
