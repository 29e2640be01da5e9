//! Fake servers and the words to ask them something.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{Bridge, Guard, ServerState};
use onecall_config::{Secret, ServerConfig, StdioTransport, Transport};
use onecall_core::{
    AnswerForm, CallableName, Freshness, ServerName, ToolCall, ToolHost, ToolValue,
};
use serde_json::value::RawValue;

/// Answers the handshake, lists the tools in `$TOOLS` and runs `CALL` for every
/// call, with the line in `$line` and its id in `$id`.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
tools='{"name":"tool","inputSchema":{"type":"object"}}'
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1.0"}}';;
    *'"tools/list"'*) answer '{"tools":['"$tools"']}';;
    *'"tools/call"'*) CALL;;
    *) OTHER;;
  esac
done
"#;

/// A server that does `call` for every call.
pub fn server(name: &str, call: &str) -> ServerConfig {
    server_with(name, call, ":")
}

/// A server that also does `other` for every other line.
pub fn server_with(name: &str, call: &str, other: &str) -> ServerConfig {
    script(name, &SERVER.replace("CALL", call).replace("OTHER", other))
}

/// A server with these tools, as JSON objects with commas between them.
pub fn server_of(name: &str, tools: &str, call: &str) -> ServerConfig {
    let only = r#"{"name":"tool","inputSchema":{"type":"object"}}"#;
    let server = SERVER.replace("CALL", call).replace("OTHER", ":");
    script(name, &server.replace(only, &tools.replace('\n', " ")))
}

/// A server that is nothing but `script`.
pub fn script(name: &str, script: &str) -> ServerConfig {
    command(name, "sh", &["-c", script])
}

pub fn command(name: &str, command: &str, args: &[&str]) -> ServerConfig {
    ServerConfig {
        name: ServerName::new(name),
        transport: Transport::Stdio(StdioTransport {
            command: command.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: BTreeMap::from([("GIVEN".to_owned(), Secret::new("yes"))]),
            cwd: None,
        }),
        connect_timeout: Duration::from_secs(10),
        call_timeout: Duration::from_secs(10),
        lazy: false,
        pins: None,
    }
}

pub async fn start(servers: Vec<ServerConfig>) -> Arc<Bridge> {
    let bridge = Bridge::start(servers, Guard::none());
    bridge.catalog().await;
    bridge
}

/// What a program would get, in short.
pub async fn call(bridge: &Bridge, name: &str) -> String {
    call_with(bridge, name, "{}").await
}

pub async fn call_with(bridge: &Bridge, name: &str, arguments: &str) -> String {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let form = AnswerForm::Value;
    let call = ToolCall {
        id: 1,
        name: CallableName::new(name),
        arguments,
        form,
        caller: None,
        freshness: Freshness::Any,
    };
    match bridge.call(call).await {
        Ok(ToolValue::Nothing) => "nothing".to_owned(),
        Ok(ToolValue::Json(json)) => json.get().to_owned(),
        Ok(ToolValue::Text(text)) => text,
        Err(error) => error.to_string(),
    }
}

/// Why the only server failed.
pub fn reason(bridge: &Bridge) -> String {
    match bridge.status().pop().unwrap().state {
        ServerState::Failed { reason, last_words, .. } => reason + &last_words,
        other => panic!("not failed: {other:?}"),
    }
}
