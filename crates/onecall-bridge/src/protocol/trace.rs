//! The trace span of a request to a server, and the trace context that the request carries.

use std::borrow::Cow;

use onecall_core::{SPAN_TARGET, ServerName, TraceContext};
use opentelemetry::trace::TraceContextExt as _;
use tracing::field::Empty;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::error::RequestError;
use crate::protocol::request::Request;

/// The span of a request, while it is under way.
pub(crate) struct RequestSpan<'a> {
    span: Span,
    context: Option<Cow<'a, TraceContext>>,
    ended: bool,
}

impl<'a> RequestSpan<'a> {
    /// Begins the span of a request that is made for a program. If spans are not recorded here, the
    /// trace context of the caller is passed on unchanged.
    pub fn begin(server: &ServerName, request: &'a Request<'a>, id: u64) -> Self {
        let span = span(server, request, id);
        let recorded =
            if span.is_disabled() { None } else { recorded_context(&span).map(Cow::Owned) };
        let passed_on = || request.origin()?.caller.trace.as_deref().map(Cow::Borrowed);
        Self { context: recorded.or_else(passed_on), span, ended: false }
    }

    /// The trace context to send to the server.
    pub fn context(&self) -> Option<&TraceContext> {
        self.context.as_deref()
    }

    /// Ends the span.
    pub fn end(&mut self, error: Option<&RequestError>) {
        self.ended = true;
        if let Some(error) = error {
            self.record_error(kind(error));
            if let RequestError::Refused { code, .. } = error {
                self.span.record("rpc.response.status_code", code.to_string());
            }
        }
    }

    fn record_error(&self, kind: &str) {
        self.span.record("error.type", kind).record("otel.status_code", "ERROR");
    }
}

impl Drop for RequestSpan<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.record_error("cancelled");
        }
    }
}

fn span(server: &ServerName, request: &Request<'_>, id: u64) -> Span {
    let tool = match request {
        Request::CallTool { tool, .. } => Some(tool.as_str()),
        Request::List { .. }
        | Request::ReadResource { .. }
        | Request::GetPrompt { .. }
        | Request::Complete { .. } => None,
        // The gateway's own requests are not part of a trace.
        Request::Initialize { .. }
        | Request::Discover
        | Request::ListTools { .. }
        | Request::Subscribe { .. }
        | Request::Unsubscribe { .. }
        | Request::SetLogLevel { .. }
        | Request::Listen { .. } => return Span::none(),
    };
    let method = request.method();
    info_span!(
        target: SPAN_TARGET,
        "request",
        otel.name = tool.map_or(Cow::Borrowed(method), |tool| format!("{method} {tool}").into()).as_ref(),
        otel.kind = "client",
        otel.status_code = Empty,
        mcp.method.name = method,
        gen_ai.operation.name = tool.map(|_| "execute_tool"),
        gen_ai.tool.name = tool,
        jsonrpc.request.id = id.to_string(),
        onecall.server = server.as_str(),
        rpc.response.status_code = Empty,
        error.type = Empty,
    )
}

/// The trace context of a span, if the span is recorded.
fn recorded_context(span: &Span) -> Option<TraceContext> {
    let context = span.context();
    let span = context.span();
    let span_context = span.span_context();
    let state = Some(span_context.trace_state().header()).filter(|state| !state.is_empty());
    let (trace, id) = (span_context.trace_id().to_bytes(), span_context.span_id().to_bytes());
    let (trace, id) = (u128::from_be_bytes(trace), u64::from_be_bytes(id));
    span_context
        .is_valid()
        .then(|| TraceContext::new(trace, id, span_context.trace_flags().to_u8(), state))
}

fn kind(error: &RequestError) -> &'static str {
    match error {
        RequestError::Refused { .. } => "refused",
        RequestError::NoAnswer { .. } => "timeout",
        RequestError::TooLarge { .. } => "too_large",
        RequestError::Cancelled => "cancelled",
        RequestError::NotJson { .. } => "not_json",
        RequestError::Http(_) => "http",
        RequestError::NotSent(_) => "not_sent",
        RequestError::Closed { .. } | RequestError::ClosedBeforeSending { .. } => "closed",
    }
}
