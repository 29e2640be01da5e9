//! The messages of the protocol; `docs/exec.md` is their reference.

use std::time::Duration;

use onecall_core::{
    CallableName, ClientId, EngineChoice, Language, OutcomeDetail, Program, ServerName,
    SessionRequest, ToolAnnotations, ToolName, ToolSpec,
};
use onecall_engine::check_choice;
use onecall_runtime::Transcript;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::cli::LONGEST_TIMEOUT;

/// The version of the protocol. It changes when hosts for older versions would not work any more.
pub(super) const PROTOCOL: u32 = 1;

/// Longest id of a program, in characters.
const MAX_ID_CHARS: usize = 256;

/// A message from the host.
#[derive(Debug)]
pub(super) enum MessageFromHost {
    /// Run a program.
    Execute(Box<Execute>),
    /// The answer to a tool call.
    ToolResult { tool_call_id: String, answer: HostAnswer },
    /// End a program.
    Cancel { id: String },
}

/// A program to run.
#[derive(Debug)]
pub(super) struct Execute {
    pub(super) id: String,
    pub(super) program: Program,
    /// The tools that the program can call; `None` if any name may be a tool.
    pub(super) tools: Option<Vec<ToolSpec>>,
    pub(super) filename: Option<String>,
}

/// The answer to a tool call.
#[derive(Debug)]
pub(super) struct HostAnswer {
    pub(super) observation: Box<RawValue>,
    /// Whether a string is text from a tool, which may be JSON.
    pub(super) is_text: bool,
    pub(super) end: CallStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStatus {
    /// The call returned a value.
    Succeeded,
    /// The call returned an error.
    Failed,
    /// The call was not made: the host does not know the tool or cannot parse its arguments.
    NotParsed,
}

/// A line that is not a valid message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidMessage {
    /// The program that the line is about, if it names one.
    pub(super) id: Option<String>,
    pub(super) message: String,
}

/// A message to the host.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MessageToHost<'a> {
    Ready {
        version: &'a str,
        protocol: u32,
    },
    ToolCall {
        id: &'a str,
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a RawValue,
    },
    ToolCancelled {
        id: &'a str,
        tool_call_id: &'a str,
    },
    Outcome {
        id: &'a str,
        #[serde(flatten)]
        transcript: &'a Transcript<'a>,
    },
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        message: &'a str,
    },
}

#[derive(Deserialize)]
struct MessageHeader<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecuteFields<'a> {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    timeout: Option<&'a RawValue>,
    #[serde(borrow)]
    filename: Option<&'a RawValue>,
    #[serde(borrow)]
    session: Option<&'a RawValue>,
    #[serde(borrow)]
    reset: Option<&'a RawValue>,
    #[serde(borrow)]
    engine: Option<&'a RawValue>,
    #[serde(borrow)]
    language: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResultFields<'a> {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    observation: Option<&'a RawValue>,
    #[serde(borrow)]
    has_error: Option<&'a RawValue>,
    #[serde(borrow)]
    parsed: Option<&'a RawValue>,
    #[serde(borrow)]
    is_text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelFields<'a> {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// A tool definition as in MCP; other fields are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionFields {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Map<String, Value>>,
    #[serde(default)]
    output_schema: Option<Map<String, Value>>,
    #[serde(default)]
    annotations: Option<ToolAnnotations>,
}

/// Parses one line.
pub(super) fn read(line: &[u8]) -> Result<MessageFromHost, InvalidMessage> {
    let unknown = |message: String| InvalidMessage { id: None, message };
    let text = str::from_utf8(line).map_err(|_| unknown("a line that is not UTF-8".to_owned()))?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(unknown("a line that is not a JSON object".to_owned()));
    }
    let MessageHeader { kind, id } = serde_json::from_str(text)
        .map_err(|error| unknown(format!("a line that is not a JSON object: {error}")))?;
    let about = |message: String| InvalidMessage { id: text_of(id), message };
    let Some(kind) = text_of(kind) else {
        return Err(about("'type' must be a string: execute, tool_result or cancel".to_owned()));
    };
    let read = match kind.as_str() {
        "execute" => execute(text),
        "tool_result" => tool_result(text),
        "cancel" => parse(text).and_then(|CancelFields { id, .. }| {
            Ok(MessageFromHost::Cancel { id: required(id, "id", "a string")? })
        }),
        _ => {
            let kind: String = kind.chars().take(MAX_ID_CHARS).collect();
            let known = "it must be execute, tool_result or cancel";
            return Err(about(format!("unknown type '{kind}': {known}")));
        }
    };
    read.map_err(|message| about(format!("{kind}: {message}")))
}

/// The id of the call that a line answers, if the line is too long to be parsed.
pub(super) fn answered_call(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let (_, rest) = head.split_once("\"tool_call_id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(rest.split_once('"')?.0.to_owned())
}

fn execute(text: &str) -> Result<MessageFromHost, String> {
    let fields: ExecuteFields<'_> = parse(text)?;
    let id: String = required(fields.id, "id", "a string")?;
    if id.is_empty() || id.chars().count() > MAX_ID_CHARS {
        return Err(format!("'id' must have 1 to {MAX_ID_CHARS} characters"));
    }
    let language = optional(fields.language, "language", "a string")?;
    let language = language.map(language_named).transpose()?.unwrap_or_default();
    let engine = optional(fields.engine, "engine", "a string")?.map(engine_named).transpose()?;
    let session: Option<String> = optional(fields.session, "session", "a string")?;
    let reset = optional(fields.reset, "reset", "true or false")?.unwrap_or(false);
    if reset && session.is_none() {
        return Err("'reset' must be given together with 'session'".to_owned());
    }
    check_choice(language, engine).map_err(|error| error.to_string())?;
    let program = Program {
        language,
        engine,
        timeout: fields.timeout.map(timeout).transpose()?,
        // One process has one host, so all sessions have the same owner.
        session: session.map(|name| SessionRequest::named(ClientId(0), name, reset)),
        detail: OutcomeDetail::Whole,
        ..Program::new(required::<String>(fields.code, "code", "a string")?)
    };
    let tools = fields.tools.map(tools).transpose()?;
    let filename = optional(fields.filename, "filename", "a string")?;
    Ok(MessageFromHost::Execute(Box::new(Execute { id, program, tools, filename })))
}

fn tool_result(text: &str) -> Result<MessageFromHost, String> {
    let fields: ToolResultFields<'_> = parse(text)?;
    let tool_call_id = required(fields.tool_call_id, "tool_call_id", "a string")?;
    let has_error = optional(fields.has_error, "has_error", "true or false")?.unwrap_or(false);
    let parsed = optional(fields.parsed, "parsed", "true or false")?.unwrap_or(true);
    let is_text = optional(fields.is_text, "is_text", "true or false")?.unwrap_or(false);
    let end = match (parsed, has_error) {
        (false, _) => CallStatus::NotParsed,
        (true, true) => CallStatus::Failed,
        (true, false) => CallStatus::Succeeded,
    };
    let observation = fields.observation.unwrap_or(RawValue::NULL).to_owned();
    Ok(MessageFromHost::ToolResult {
        tool_call_id,
        answer: HostAnswer { observation, is_text, end },
    })
}

fn tools(given: &RawValue) -> Result<Vec<ToolSpec>, String> {
    let given: Vec<&RawValue> = serde_json::from_str(given.get())
        .map_err(|_| "'tools' must be a list of tool definitions".to_owned())?;
    let mut tools = Vec::<ToolSpec>::new();
    let mut taken = std::collections::HashSet::new();
    for (position, definition) in given.into_iter().enumerate() {
        let definition: DefinitionFields = serde_json::from_str(definition.get())
            .map_err(|error| format!("'tools[{position}]' is not a tool definition: {error}"))?;
        let name = definition.name;
        if name.is_empty() || name.chars().count() > MAX_ID_CHARS {
            return Err(format!(
                "the name of 'tools[{position}]' must have 1 to {MAX_ID_CHARS} characters"
            ));
        }
        if !taken.insert(name.clone()) {
            return Err(format!("two of the 'tools' are named '{name}'"));
        }
        tools.push(ToolSpec {
            callable: CallableName::new(name.as_str()),
            server: ServerName::new("host"),
            tool: ToolName::new(name),
            description: definition.description.map(Into::into),
            input_schema: Value::Object(definition.input_schema.unwrap_or_default()).into(),
            output_schema: definition.output_schema.map(|it| Value::Object(it).into()),
            annotations: definition.annotations.unwrap_or_default(),
        });
    }
    Ok(tools)
}

fn timeout(given: &RawValue) -> Result<Duration, String> {
    match serde_json::from_str::<f64>(given.get()) {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_TIMEOUT => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!(
            "'timeout' must be a number of seconds above 0 and at most {LONGEST_TIMEOUT}"
        )),
    }
}

fn language_named(name: String) -> Result<Language, String> {
    Language::named(&name).ok_or_else(|| {
        let names = Language::NAMES.map(|(name, _)| name).join(", ");
        format!("'language' must be one of {names}")
    })
}

fn engine_named(name: String) -> Result<EngineChoice, String> {
    EngineChoice::named(&name).ok_or_else(|| {
        let names = EngineChoice::NAMES.map(|(name, _)| name).join(", ");
        format!("'engine' must be one of {names}")
    })
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn required<'a, T: Deserialize<'a>>(
    given: Option<&'a RawValue>,
    name: &str,
    wanted: &str,
) -> Result<T, String> {
    optional(given, name, wanted)?.ok_or_else(|| format!("'{name}' is missing"))
}

fn optional<'a, T: Deserialize<'a>>(
    given: Option<&'a RawValue>,
    name: &str,
    wanted: &str,
) -> Result<Option<T>, String> {
    let read = given.map(|given| serde_json::from_str(given.get())).transpose();
    read.map_err(|_| format!("'{name}' must be {wanted}"))
}

/// A string that is not longer than an id may be.
fn text_of(given: Option<&RawValue>) -> Option<String> {
    let text: String = serde_json::from_str(given?.get()).ok()?;
    (text.chars().count() <= MAX_ID_CHARS).then_some(text)
}
