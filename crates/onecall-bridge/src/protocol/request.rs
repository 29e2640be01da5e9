//! Requests, notifications and answers to a server, written as JSON-RPC lines. The arguments of a
//! tool are sent as the program wrote them, without parsing.

use std::io::Write as _;

use onecall_core::{Completion, CompletionSubject, ListKind, LogLevel, ToolName, TraceContext};
use serde_json::value::RawValue;

use crate::error::METHOD_NOT_FOUND;
use crate::protocol::input::InputAnswers;
use crate::protocol::request_origin::RequestOrigin;

/// The protocol revision that the handshake requests; a server may answer with an older one.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// The first revision without a handshake, in which every request carries the client information.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// The client information that onecall sends to servers.
const CLIENT_INFO: &str =
    concat!(r#"{"name":"onecall","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Whether a protocol revision has a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolMode {
    /// The client information is sent once, in the handshake.
    Handshake,
    /// The client information is sent with every request.
    Stateless,
}

impl ProtocolMode {
    /// The mode of a protocol revision. Revisions are dates and compare as text.
    pub fn of(version: &str) -> Self {
        if version >= STATELESS_VERSION { Self::Stateless } else { Self::Handshake }
    }
}

/// A request that expects an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request<'a> {
    Initialize {
        /// The client capabilities as JSON.
        capabilities: &'a str,
    },
    Discover,
    ListTools {
        cursor: Option<&'a str>,
    },
    CallTool {
        tool: &'a ToolName,
        arguments: &'a RawValue,
        /// Arguments that are repeated in headers, for transports that have headers.
        header_arguments: &'a [HeaderArgument],
        origin: Option<&'a RequestOrigin>,
        /// The answers to the server's questions, if the call is repeated with them.
        input: Option<&'a InputAnswers>,
    },
    /// Requests one page of resources, resource templates or prompts.
    List {
        kind: ListKind,
        cursor: Option<&'a str>,
        origin: Option<&'a RequestOrigin>,
    },
    ReadResource {
        uri: &'a str,
        origin: Option<&'a RequestOrigin>,
        /// The answers to the server's questions, if the request is repeated with them.
        input: Option<&'a InputAnswers>,
    },
    GetPrompt {
        name: &'a str,
        arguments: Option<&'a RawValue>,
        origin: Option<&'a RequestOrigin>,
        /// The answers to the server's questions, if the request is repeated with them.
        input: Option<&'a InputAnswers>,
    },
    /// Requests completions for an argument of a prompt or a resource template.
    Complete {
        completion: &'a Completion<'a>,
        origin: Option<&'a RequestOrigin>,
    },
    /// Subscribes to the changes of a resource (revisions with a handshake).
    Subscribe {
        uri: &'a str,
    },
    /// Ends a subscription to the changes of a resource (revisions with a handshake).
    Unsubscribe {
        uri: &'a str,
    },
    /// Sets the least severe log messages that the server sends (revisions with a handshake).
    SetLogLevel {
        level: LogLevel,
    },
    /// Subscribes to notifications; it stays unanswered while the subscription lasts.
    Listen {
        /// The wanted notifications as JSON.
        notifications: &'a str,
    },
}

/// An argument that is repeated in a header, so that proxies can read it without parsing the
/// request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderArgument {
    pub header: String,
    pub value: String,
}

impl<'a> Request<'a> {
    /// The request with these answers to the server's questions, if it can carry any.
    pub fn with_input(self, input: Option<&'a InputAnswers>) -> Self {
        match self {
            Self::ReadResource { uri, origin, .. } => Self::ReadResource { uri, origin, input },
            Self::GetPrompt { name, arguments, origin, .. } => {
                Self::GetPrompt { name, arguments, origin, input }
            }
            other => other,
        }
    }
}

impl Request<'_> {
    /// The method's name on the wire.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize { .. } => "initialize",
            Self::Discover => "server/discover",
            Self::ListTools { .. } => "tools/list",
            Self::CallTool { .. } => "tools/call",
            Self::List { kind, .. } => kind.method(),
            Self::ReadResource { .. } => "resources/read",
            Self::GetPrompt { .. } => "prompts/get",
            Self::Complete { .. } => "completion/complete",
            Self::Subscribe { .. } => "resources/subscribe",
            Self::Unsubscribe { .. } => "resources/unsubscribe",
            Self::SetLogLevel { .. } => "logging/setLevel",
            Self::Listen { .. } => "subscriptions/listen",
        }
    }

    /// Whether the server gets a cancellation if the request is abandoned. The protocol forbids
    /// cancelling the first request.
    pub fn is_cancellable(&self) -> bool {
        !matches!(self, Self::Initialize { .. } | Self::Discover)
    }

    /// The request as a line, including its newline.
    pub fn line(&self, id: u64, mode: ProtocolMode) -> Vec<u8> {
        self.line_with_trace(id, mode, None)
    }

    /// The request as a line with its trace context, including its newline.
    pub fn line_with_trace(
        &self,
        id: u64,
        mode: ProtocolMode,
        trace: Option<&TraceContext>,
    ) -> Vec<u8> {
        let capacity = match self {
            Self::CallTool { arguments, .. } => arguments.get().len(),
            _ => 0,
        };
        let mut line = LineWriter::new(capacity + 160);
        line.raw(r#"{"jsonrpc":"2.0","id":"#).number(id);
        line.raw(r#","method":""#).raw(self.method()).raw(r#"","params":{"#);
        match self {
            Self::Initialize { capabilities } => {
                line.raw(r#""protocolVersion":"#).text(PROTOCOL_VERSION);
                line.raw(r#","capabilities":"#).raw(capabilities);
                line.raw(r#","clientInfo":"#).raw(CLIENT_INFO);
            }
            Self::Discover | Self::ListTools { cursor: None } | Self::List { cursor: None, .. } => {
            }
            Self::ListTools { cursor: Some(cursor) } | Self::List { cursor: Some(cursor), .. } => {
                line.raw(r#""cursor":"#).text(cursor);
            }
            Self::ReadResource { uri, input, .. } => {
                line.raw(r#""uri":"#).text(uri).input(*input);
            }
            Self::GetPrompt { name, arguments, input, .. } => {
                line.raw(r#""name":"#).text(name);
                if let Some(arguments) = arguments {
                    line.raw(r#","arguments":"#).json(arguments);
                }
                line.input(*input);
            }
            Self::Complete { completion: Completion { subject, argument, context }, .. } => {
                match subject {
                    CompletionSubject::Prompt(name) => {
                        line.raw(r#""ref":{"type":"ref/prompt","name":"#).text(name)
                    }
                    CompletionSubject::ResourceTemplate(uri) => {
                        line.raw(r#""ref":{"type":"ref/resource","uri":"#).text(uri)
                    }
                };
                line.raw(r#"},"argument":"#).json(argument);
                if let Some(context) = context {
                    line.raw(r#","context":"#).json(context);
                }
            }
            Self::Subscribe { uri } | Self::Unsubscribe { uri } => {
                line.raw(r#""uri":"#).text(uri);
            }
            Self::SetLogLevel { level } => {
                line.raw(r#""level":"#).text(level.name());
            }
            Self::Listen { notifications } => {
                line.raw(r#""notifications":"#).raw(notifications);
            }
            Self::CallTool { tool, arguments, input, .. } => {
                line.raw(r#""name":"#).text(tool.as_str());
                line.raw(r#","arguments":"#).json(arguments);
                line.input(*input);
            }
        }
        self.meta(&mut line, id, mode, trace);
        line.raw("}}").end()
    }

    /// The call that the request is made for.
    pub fn origin(&self) -> Option<&RequestOrigin> {
        match self {
            Self::CallTool { origin, .. }
            | Self::List { origin, .. }
            | Self::ReadResource { origin, .. }
            | Self::GetPrompt { origin, .. }
            | Self::Complete { origin, .. } => *origin,
            _ => None,
        }
    }

    /// Writes the `_meta` member, if the request needs one.
    fn meta(
        &self,
        line: &mut LineWriter,
        id: u64,
        mode: ProtocolMode,
        trace: Option<&TraceContext>,
    ) {
        let origin = self.origin();
        let wants_progress = origin.is_some_and(|origin| origin.caller.progress.is_some());
        if mode == ProtocolMode::Handshake && !wants_progress && trace.is_none() {
            return;
        }
        line.raw(if line.0.ends_with(b"{") { r#""_meta":{"# } else { r#","_meta":{"# });
        if wants_progress {
            line.raw(r#""progressToken":"#).number(id);
        }
        if let Some(trace) = trace {
            line.raw(if wants_progress { "," } else { "" });
            line.raw(r#""traceparent":"#).text(trace.traceparent());
            if let Some(state) = trace.tracestate() {
                line.raw(r#","tracestate":"#).text(state);
            }
        }
        if mode == ProtocolMode::Stateless {
            line.raw(if wants_progress || trace.is_some() { "," } else { "" });
            line.raw(r#""io.modelcontextprotocol/protocolVersion":"#).text(STATELESS_VERSION);
            let abilities =
                origin.map(|origin| origin.caller.capabilities.clone()).unwrap_or_default();
            line.raw(r#","io.modelcontextprotocol/clientCapabilities":"#).raw(&abilities.to_json());
            line.raw(r#","io.modelcontextprotocol/clientInfo":"#).raw(CLIENT_INFO);
            if let Some(log) = origin.and_then(|origin| origin.caller.log.as_ref()) {
                line.raw(r#","io.modelcontextprotocol/logLevel":"#).text(log.level.name());
            }
        }
        line.raw("}");
    }
}

/// The notification that ends the handshake.
pub(crate) fn initialized() -> Vec<u8> {
    LineWriter::new(64).raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).end()
}

/// The notification that request `id` is cancelled.
pub(crate) fn cancelled(id: u64, reason: &str) -> Vec<u8> {
    let mut line = LineWriter::new(160);
    line.raw(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#);
    line.number(id).raw(r#","reason":"#).text(reason).raw("}}").end()
}

/// The answer to a ping of the server with this `id`.
pub(crate) fn pong(id: &RawValue) -> Vec<u8> {
    let mut line = LineWriter::new(64);
    line.raw(r#"{"jsonrpc":"2.0","id":"#).json(id).raw(r#","result":{}}"#).end()
}

/// The successful answer to a request of the server.
pub(crate) fn answer(id: &RawValue, result: &RawValue) -> Vec<u8> {
    let mut line = LineWriter::new(64 + result.get().len());
    line.raw(r#"{"jsonrpc":"2.0","id":"#).json(id).raw(r#","result":"#).json(result).raw("}").end()
}

/// The error response to a request of the server.
pub(crate) fn error(id: &RawValue, code: i64, message: &str) -> Vec<u8> {
    let mut line = LineWriter::new(192);
    line.raw(r#"{"jsonrpc":"2.0","id":"#).json(id);
    line.raw(r#","error":{"code":"#).raw(&code.to_string());
    line.raw(r#","message":"#).text(message).raw("}}").end()
}

/// The notification that the client's list of root folders has changed.
pub(crate) fn roots_changed() -> Vec<u8> {
    LineWriter::new(80)
        .raw(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .end()
}

/// The error response for a method that is not supported.
pub(crate) fn refusal(id: &RawValue, method: &str) -> Vec<u8> {
    error(id, METHOD_NOT_FOUND, &format!("onecall does not offer '{method}' to servers"))
}

/// A line being written. Appended text can never contain a line break.
struct LineWriter(Vec<u8>);

impl LineWriter {
    fn new(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Appends text that is already valid JSON.
    fn raw(&mut self, json: &str) -> &mut Self {
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        // Writing to a vector cannot fail.
        let _ = write!(self.0, "{number}");
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        // Encoding a string into a vector cannot fail.
        let _ = serde_json::to_writer(&mut self.0, text);
        self
    }

    /// Appends JSON from elsewhere. Line breaks in it can only be between tokens (within a string
    /// they are escaped), where a space is equivalent.
    fn json(&mut self, json: &RawValue) -> &mut Self {
        let start = self.0.len();
        self.raw(json.get());
        if json.get().contains(['\n', '\r']) {
            for byte in self.0.iter_mut().skip(start) {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        self
    }

    /// Appends the answers that a repeated call carries.
    fn input(&mut self, input: Option<&InputAnswers>) -> &mut Self {
        let Some(InputAnswers { responses, state }) = input else { return self };
        if let Some(responses) = responses {
            self.raw(r#","inputResponses":"#).json(responses);
        }
        if let Some(state) = state {
            self.raw(r#","requestState":"#).json(state);
        }
        self
    }

    fn end(&mut self) -> Vec<u8> {
        self.0.push(b'\n');
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(tool: &'a ToolName, arguments: &'a RawValue) -> Request<'a> {
        Request::CallTool { tool, arguments, header_arguments: &[], origin: None, input: None }
    }

    fn text(line: Vec<u8>) -> String {
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn arguments_go_out_as_they_came() {
        let arguments = r#"{"n": 123456789012345678901234567890, "f": 1.10, "s": "a\nb"}"#;
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let tool = ToolName::new("say \"hi\"");
        let request = call(&tool, &arguments);
        assert_eq!(
            text(request.line(7, ProtocolMode::Handshake)),
            concat!(
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"say \"hi\"","#,
                r#""arguments":{"n": 123456789012345678901234567890, "f": 1.10, "s": "a\nb"}}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_line_stays_one_line() {
        let arguments = RawValue::from_string("{\r\n \"a\":\n 1}".to_owned()).unwrap();
        let tool = ToolName::new("a\nb");
        let request = call(&tool, &arguments);
        let line = text(request.line(1, ProtocolMode::Handshake));
        assert_eq!(line.find(['\n', '\r']), Some(line.len() - 1));
        assert!(line.contains(r#""arguments":{   "a":  1}"#), "{line}");
    }

    #[test]
    fn everything_we_say_is_json() {
        let id = RawValue::from_string("\"x\"".to_owned()).unwrap();
        let trace = Some(TraceContext::new(1, 2, 1, Some("a=\"".to_owned())));
        let input = InputAnswers { responses: Some(id.clone()), state: Some(id.clone()) };
        let prompt = Completion {
            subject: CompletionSubject::Prompt("p\""),
            argument: &id,
            context: Some(&id),
        };
        let subject = CompletionSubject::ResourceTemplate("a://{b}");
        let template = Completion { subject, argument: &id, context: None };
        for line in [
            Request::Initialize { capabilities: "{}" }.line(1, ProtocolMode::Handshake),
            Request::Discover.line(1, ProtocolMode::Stateless),
            Request::Listen { notifications: r#"{"toolsListChanged":true}"# }
                .line(1, ProtocolMode::Stateless),
            Request::Subscribe { uri: "a://\"" }.line(1, ProtocolMode::Handshake),
            Request::SetLogLevel { level: LogLevel::Notice }.line(1, ProtocolMode::Handshake),
            Request::Complete { completion: &prompt, origin: None }
                .line(1, ProtocolMode::Stateless),
            Request::Complete { completion: &template, origin: None }
                .line(1, ProtocolMode::Handshake),
            Request::ListTools { cursor: None }.line(2, ProtocolMode::Handshake),
            Request::List { kind: ListKind::Prompts, cursor: Some("a"), origin: None }
                .line(2, ProtocolMode::Stateless),
            Request::ReadResource { uri: "a://\"", origin: None, input: Some(&input) }
                .line(2, ProtocolMode::Stateless),
            Request::GetPrompt { name: "p", arguments: Some(&id), origin: None, input: None }
                .line(2, ProtocolMode::Handshake),
            Request::ListTools { cursor: Some("\"\n") }.line(3, ProtocolMode::Stateless),
            initialized(),
            cancelled(4, "it's \"late\""),
            pong(&id),
            answer(&id, &id),
            roots_changed(),
            refusal(&id, "roots/list\""),
            Request::Discover.line_with_trace(5, ProtocolMode::Stateless, trace.as_ref()),
            Request::ListTools { cursor: None }.line_with_trace(
                6,
                ProtocolMode::Handshake,
                trace.as_ref(),
            ),
        ] {
            serde_json::from_slice::<serde_json::Value>(&line).unwrap();
        }
    }
}
