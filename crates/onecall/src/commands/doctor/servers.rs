//! Every server, connected to once and all at the same time: what it is, how long it took,
//! or what happened and what to do.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use onecall_bridge::{Bridge, Guard, KNOWN_PROTOCOLS, ServerState, ServerStatus, Setting, Trouble};
use onecall_clients::{Launch, Remote, Server};
use onecall_config::{Config, ServerConfig, Transport};
use onecall_core::ServerName;
use onecall_runtime::Redactor;

use super::finding::{Finding, Section, Verdict};
use super::programs::how_to_get;
use crate::commands::own_file::counted;
use crate::terminal::neutralise;

/// From this revision on, tools answer with values and say of which type.
const STRUCTURED: &str = "2025-06-18";

/// Connects to every server. Must be called inside a tokio runtime.
pub(super) async fn look(config: &Config, guard: Guard, progress: &ProgressBar) -> Section {
    let mut servers = config.servers.clone();
    for server in &mut servers {
        // Whoever looks accepts nothing: tools are pinned when somebody uses them.
        server.pins = server.pins.take().filter(|file| file.exists());
    }
    let setting = Setting { limits: config.limits, ..Setting::default() };
    let bridge = Bridge::start_in(servers, config.local_tools.clone(), guard, setting);
    let failed = wait(&bridge, progress).await;
    let status = bridge.status();
    let local = bridge.local_problems();
    bridge.shutdown().await;
    let clean = Redactor::of(config);
    let mut findings = Vec::new();
    for server in &status {
        let entry = config.servers.iter().find(|entry| entry.name == server.name);
        let hidden = entry.map(secrets).unwrap_or_default();
        let clean = |text: &str| {
            let text = clean.clean(text.to_owned());
            hidden.iter().fold(text, |text, secret| text.replace(secret, "[redacted]"))
        };
        let ended = failed.iter().find(|(name, _)| *name == server.name);
        let finding = finding(server, entry, &clean, ended.map(|(_, span)| *span));
        findings.push(quarantined(finding, server));
    }
    findings.extend(local.iter().map(|problem| Finding::told(Verdict::Yellow, "local", problem)));
    if findings.is_empty() {
        let none = Finding::green("servers", "none are configured");
        findings.push(none.note("`onecall add NAME -- COMMAND` adds one"));
    }
    Section { name: "servers", findings }
}

/// Instead of all that, if nobody knows what the servers are.
pub(super) fn unknown() -> Section {
    let finding = Finding::yellow("servers", "not tried, because the configuration is not valid");
    Section { name: "servers", findings: vec![finding.fix("correct the configuration first")] }
}

/// Returns when each has been tried, and tells how long those took that failed. Each has a
/// deadline of its own.
async fn wait(bridge: &Bridge, progress: &ProgressBar) -> Vec<(ServerName, Duration)> {
    let started = Instant::now();
    let mut failed: Vec<(ServerName, Duration)> = Vec::new();
    bridge.need_where(|_| true);
    let mut watch = bridge.watch();
    loop {
        let tools = watch.now();
        for ServerStatus { name, state, .. } in bridge.status() {
            let is_known = failed.iter().any(|(known, _)| *known == name);
            if matches!(state, ServerState::Failed { .. }) && !is_known {
                failed.push((name, started.elapsed()));
            }
        }
        if tools.is_settled {
            return failed;
        }
        let names: Vec<_> = tools.unsettled.iter().map(ServerName::as_str).collect();
        progress.set_message(neutralise(&format!("connecting to {}", names.join(", "))));
        watch.changed().await;
    }
}

fn finding(
    server: &ServerStatus,
    entry: Option<&ServerConfig>,
    clean: &dyn Fn(&str) -> String,
    ended: Option<Duration>,
) -> Finding {
    let name = server.name.as_str();
    let finding = match &server.state {
        ServerState::Ready { server_name, server_version, protocol, tools, took } => {
            let about = format!("{server_name} {server_version}");
            let count = counted(*tools, "tool");
            let summary = format!("{count}, {}, protocol {protocol}", about.trim());
            let finding = if protocol.as_str() < STRUCTURED {
                Finding::yellow(name, format!("{summary}, which is an old one"))
                    .note("its tools cannot say what type their results have")
                    .fix("it works; see whether there is a newer version of it")
            } else if !KNOWN_PROTOCOLS.contains(&protocol.as_str()) {
                Finding::yellow(name, format!("{summary}, which is not known here"))
                    .fix("it may work; see whether there is a newer onecall")
            } else {
                Finding::green(name, summary)
            };
            finding
                .took(*took)
                .fact("server_name", server_name.as_str())
                .fact("server_version", server_version.as_str())
                .fact("protocol", protocol.as_str())
                .fact("tools", *tools)
        }
        ServerState::Local { tools } => {
            let summary = format!("{}, which need no server", counted(*tools, "tool"));
            Finding::green(name, summary).fact("tools", *tools)
        }
        ServerState::Idle | ServerState::Connecting => {
            Finding::red(name, "did not say anything in time")
        }
        ServerState::Failed { reason, last_words, trouble, .. } => {
            let finding = Finding::red(name, clean(reason)).fact("trouble", label(*trouble));
            let finding = match clean(last_words).trim_start_matches("; ") {
                "" => finding,
                words => finding.note(words),
            };
            let finding = match ended {
                Some(span) if *trouble != Trouble::NoCommand => finding.took(span),
                _ => finding,
            };
            match entry {
                Some(entry) => advised(finding, *trouble, entry),
                None => finding,
            }
        }
    };
    finding.fact("transport", server.transport)
}

/// With what helps, which takes the place of what the reason says about it.
fn advised(mut finding: Finding, trouble: Trouble, entry: &ServerConfig) -> Finding {
    let command = match &entry.transport {
        Transport::Stdio(stdio) => stdio.command.as_str(),
        _ => "",
    };
    let limit = entry.connect_timeout.as_secs();
    let fix = match trouble {
        Trouble::NoCommand => how_to_get(command).map_or_else(
            || format!("install '{command}', or give its full path in 'command'"),
            str::to_owned,
        ),
        Trouble::NotExecutable => format!("make it executable: chmod +x '{command}'"),
        Trouble::NoDirectory => "correct 'cwd', or make the directory".to_owned(),
        Trouble::TooSlow => format!(
            "run its command by hand; if it only needs longer than {limit}s, raise \
             'connect_timeout_seconds'"
        ),
        Trouble::Ended => "run its command by hand; of the environment it gets only a minimum \
                           and what 'env' names"
            .to_owned(),
        Trouble::LoggedOut => format!("run `onecall login {}`", entry.name),
        Trouble::Unauthorized => {
            "check the token in 'headers', or take it out and log in instead".to_owned()
        }
        Trouble::Unreachable => "check 'url', and that the server is running".to_owned(),
        Trouble::Other => match finding.summary.split_once("; ") {
            Some((_, fix)) => fix.to_owned(),
            None => return finding,
        },
    };
    let reason = finding.summary.split("; ").next().unwrap_or_default();
    finding.summary = reason.to_owned();
    finding.fix(fix)
}

fn label(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::NoCommand => "command not found",
        Trouble::NotExecutable => "not executable",
        Trouble::NoDirectory => "no working directory",
        Trouble::TooSlow => "too slow",
        Trouble::Ended => "ended",
        Trouble::LoggedOut => "needs login",
        Trouble::Unauthorized => "unauthorized",
        Trouble::Unreachable => "unreachable",
        Trouble::Other => "other",
    }
}

/// With the tools that nobody may call until somebody has looked at them.
fn quarantined(mut finding: Finding, server: &ServerStatus) -> Finding {
    let tools: Vec<_> = server.quarantined.iter().map(|it| it.spec.callable.to_string()).collect();
    if tools.is_empty() || finding.verdict == Verdict::Red {
        return finding;
    }
    finding.verdict = Verdict::Yellow;
    finding
        .note(format!("quarantined until somebody accepts them: {}", tools.join(", ")))
        .fix(format!("look at them with `onecall pin {}`", server.name))
        .fact("quarantined", tools)
}

/// What looks like a secret in the arguments or the address of a server, the longest first.
fn secrets(entry: &ServerConfig) -> Vec<String> {
    let launch = match &entry.transport {
        Transport::Stdio(stdio) => Launch::Command {
            command: stdio.command.clone(),
            args: stdio.args.clone(),
            env: Vec::new(),
            cwd: None,
        },
        Transport::Auto(remote) | Transport::Http(remote) | Transport::Sse(remote) => {
            Launch::Remote { url: remote.url.clone(), transport: Remote::Auto, headers: Vec::new() }
        }
    };
    let name = entry.name.to_string();
    let server = Server {
        name,
        launch,
        disabled: false,
        connect_timeout: None,
        call_timeout: None,
        notes: Vec::new(),
    };
    let values = server.secrets().into_iter().map(|it| server.secret_value(&it).to_owned());
    let mut values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}
