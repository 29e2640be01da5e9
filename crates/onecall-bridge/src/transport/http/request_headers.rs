//! Headers that repeat parts of a request to a stateless server, so that proxies can route it
//! without parsing the body. They also carry the trace context.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onecall_core::TraceContext;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::session::PROTOCOL_VERSION;
use crate::protocol::request::{Request, STATELESS_VERSION};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// The headers of a request to a stateless server.
pub(crate) fn headers(request: &Request<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(METHOD, HeaderValue::from_static(request.method()));
    if matches!(request, Request::Initialize { .. }) {
        // The revision of this request is in its body.
        return headers;
    }
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(STATELESS_VERSION));
    let name = match request {
        Request::CallTool { tool, .. } => tool.as_str(),
        Request::ReadResource { uri, .. } => uri,
        Request::GetPrompt { name, .. } => name,
        _ => return headers,
    };
    // An encoded value is always valid, and the names were validated before.
    if let Ok(name) = HeaderValue::from_str(&encoded(name)) {
        headers.insert(NAME, name);
    }
    if let Request::CallTool { header_arguments, .. } = request {
        for argument in *header_arguments {
            let name = HeaderName::try_from(format!("mcp-param-{}", argument.header));
            let value = HeaderValue::from_str(&encoded(&argument.value));
            if let (Ok(name), Ok(value)) = (name, value) {
                headers.insert(name, value);
            }
        }
    }
    headers
}

/// The headers of a request that is part of a trace.
pub(crate) fn trace_headers(trace: &TraceContext) -> HeaderMap {
    let state = trace.tracestate().map(|state| (TRACE_STATE, state));
    let headers = [(TRACE_PARENT, trace.traceparent())].into_iter().chain(state);
    headers.filter_map(|(name, value)| Some((name, HeaderValue::from_str(value).ok()?))).collect()
}

/// A text as a header value: unchanged if possible, otherwise in Base64.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use onecall_core::ToolName;
    use serde_json::value::RawValue;

    use super::*;
    use crate::protocol::request::HeaderArgument;

    #[test]
    fn a_call_shows_its_tool_and_its_marked_arguments() {
        let arguments = RawValue::from_string("{}".to_owned()).unwrap();
        let header_arguments =
            [HeaderArgument { header: "Region".to_owned(), value: "süd".to_owned() }];
        let tool = ToolName::new("get");
        let call = Request::CallTool {
            tool: &tool,
            arguments: &arguments,
            header_arguments: &header_arguments,
            origin: None,
            input: None,
        };
        let shown = headers(&call);
        let shown: Vec<String> = shown
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                "mcp-method: tools/call",
                "mcp-protocol-version: 2026-07-28",
                "mcp-name: get",
                "mcp-param-region: =?base64?c8O8ZA==?=",
            ]
        );
        let opening = headers(&Request::Initialize { capabilities: "{}" });
        assert_eq!(opening.len(), 1);
        assert_eq!(opening[METHOD], "initialize");
    }

    #[test]
    fn names_are_encoded_only_if_they_have_to_be() {
        // The examples of the specification.
        let rows = [
            ("us-west1", "us-west1"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ];
        for (text, expected) in rows {
            assert_eq!(encoded(text), expected);
        }
    }
}
