//! Fake servers as shell scripts, and functions that call them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{
    AccessHint, Bridge, Guard, ServerState, UserCredentials, UserProcesses, UserServer, UserServers,
};
use onecall_config::{PerUserSettings, Secret, ServerConfig, StdioTransport, Transport};
use onecall_core::{
    AnswerForm, CallHandler, CallableName, Freshness, LogIndex, Principal, ResolvedCall,
    RunContext, RunId, RunKind, ServerName, ToolResolver, ToolValue, UserName,
};
use rustix::process::{Pid, test_kill_process};
use serde_json::value::RawValue;

/// How long a test waits for an event: far longer than any takes, even on a busy machine.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

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
        connect_timeout: Some(TEST_TIMEOUT),
        call_timeout: Some(TEST_TIMEOUT),
        lazy: false,
        pins: None,
        per_user: PerUserSettings::default(),
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
    let name = CallableName::new(name);
    let revision = bridge.revision();
    let tool = bridge.resolve(&name).await.target(&name);
    let run = Arc::new(RunContext {
        id: RunId::from_existing("test"),
        kind: RunKind::Program,
        principal: Arc::new(Principal::local()),
        client: String::new(),
        program: None,
        language: onecall_core::Language::Python,
        caller: None,
    });
    let (form, freshness) = (AnswerForm::Value, Freshness::Any);
    let log_index = LogIndex::default();
    let call = ResolvedCall {
        id: 1,
        name,
        tool,
        revision,
        arguments,
        form,
        freshness,
        site: None,
        run,
        log_index,
    };
    match bridge.call(call).await.map(|answer| answer.value) {
        Ok(ToolValue::Nothing) => "nothing".to_owned(),
        Ok(value) => value.encode().1.into_owned(),
        Err(error) => error.to_string(),
    }
}

/// Why the only server failed.
pub fn reason(bridge: &Bridge) -> String {
    match bridge.status().pop().unwrap().state {
        ServerState::Failed { reason, stderr_tail, .. } => reason + &stderr_tail,
        other => panic!("not failed: {other:?}"),
    }
}

/// Whether the process with this number runs.
pub fn is_alive(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    // In a container a zombie may never be reaped, so a zombie counts as ended.
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    test_kill_process(pid).is_ok() && !state.is_ok_and(|state| state.contains(") Z "))
}

/// Waits until something is so.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "it did not happen in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How long a server is kept in tests that do not wait for its stop.
const LONG: Duration = Duration::from_secs(3600);

/// Places for servers of users that stay until another one needs them.
pub fn places(limit: usize) -> UserProcesses {
    UserProcesses::new(limit, LONG)
}

/// The bridge of a user with these own servers.
pub fn user_bridge(
    parent: &Bridge,
    user: &str,
    servers: Vec<ServerConfig>,
    processes: &UserProcesses,
) -> Arc<Bridge> {
    let user = UserName::parse(user).unwrap();
    let own = UserServers { user, processes: processes.clone() };
    Bridge::for_user(parent, servers.into_iter().map(own_server).collect(), own)
}

/// A server whose entry has the credentials of its user.
pub fn own_server(config: ServerConfig) -> UserServer {
    let hint = AccessHint::new(|| "needs your token; set it and try again".to_owned());
    UserServer { config, credentials: UserCredentials::InEntry, hint }
}

/// The entry with `TOKEN` in the environment of its process.
pub fn with_token(mut config: ServerConfig, token: &str) -> ServerConfig {
    if let Transport::Stdio(transport) = &mut config.transport {
        transport.env.insert("TOKEN".to_owned(), Secret::new(token));
    }
    config
}
