//! The output of `onecall check --json`.

use std::path::Path;

use onecall_bridge::{NextStart, QuarantinedTool, ServerState, ServerStatus};
use onecall_config::ConfigFormat;
use serde_json::{Value, json};

/// The results of `onecall check` that are not about a server.
pub(super) struct Remarks<'a> {
    /// Why servers were left out.
    pub(super) skipped: &'a [String],
    /// Harmless remarks.
    pub(super) notes: Vec<String>,
    /// Problems of local tools.
    pub(super) warnings: &'a [String],
}

/// The whole report.
pub(super) fn report(
    source: Option<&Path>,
    format: ConfigFormat,
    servers: &[ServerStatus],
    remarks: &Remarks<'_>,
    is_ok: bool,
) -> Value {
    let format = match format {
        ConfigFormat::Onecall => "onecall",
        ConfigFormat::PtcMcp => "ptc-mcp",
    };
    json!({
        "ok": is_ok,
        "configuration": source,
        "format": source.map(|_| format),
        "servers": servers.iter().map(server).collect::<Vec<_>>(),
        "skipped": remarks.skipped,
        "notes": remarks.notes,
        "warnings": remarks.warnings,
    })
}

fn server(status: &ServerStatus) -> Value {
    let quarantined = |tool: &QuarantinedTool| json!({ "tool": tool.spec.callable.to_string(), "reason": tool.to_string() });
    let mut described = json!({
        "name": status.name.as_str(),
        "transport": status.transport,
        "listing_cut": status.cut.as_ref().map(ToString::to_string),
        "quarantined": status.quarantined.iter().map(quarantined).collect::<Vec<_>>(),
    });
    if let (Value::Object(described), Value::Object(state)) = (&mut described, state(&status.state))
    {
        described.extend(state);
    }
    described
}

fn state(state: &ServerState) -> Value {
    match state {
        ServerState::Idle => json!({ "state": "idle" }),
        ServerState::Connecting => json!({ "state": "connecting" }),
        ServerState::Installing { .. } => json!({ "state": "installing" }),
        ServerState::Local { tools } => json!({ "state": "local", "tools": tools }),
        ServerState::Ready { server_name, server_version, protocol, tools, took } => json!({
            "state": "ready",
            "tools": tools,
            "server": { "name": server_name, "version": server_version },
            "protocol": protocol,
            "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }),
        ServerState::Failed { reason, next_start: NextStart::AfterLogin, .. } => {
            json!({ "state": "needs_login", "reason": reason })
        }
        ServerState::Failed { reason, stderr_tail, .. } => {
            json!({ "state": "failed", "reason": format!("{reason}{stderr_tail}") })
        }
    }
}
