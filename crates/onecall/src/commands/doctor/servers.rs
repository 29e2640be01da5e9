//! Checks every server by connecting to all of them at once: what each is and how long it took, or
//! why it failed and what to do.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use onecall_bridge::{
    Bridge, ConnectionOptions, FailureKind, Guard, KNOWN_PROTOCOLS, ServerState, ServerStatus,
};
use onecall_clients::{HttpTransport, Launch, Server};
use onecall_config::{Config, ServerConfig, Transport};
use onecall_core::ServerName;
use onecall_core::text::shell_word;
use onecall_gateway::{redactor, unused_entries};

use super::finding::{Finding, ReportSection, Verdict};
use super::programs::install_hint;
use super::variables::likely_missing;
use crate::commands::editable_config::counted;
use crate::logs::LogFolder;
use crate::terminal::neutralise;
use crate::{setup, store, user_vault};

/// From this protocol version on, tools can return structured content and declare its type.
const STRUCTURED_CONTENT_VERSION: &str = "2025-06-18";

/// Connects to every server. Must be called inside a tokio runtime.
pub(super) async fn check(config: &Config, guard: Guard, progress: &ProgressBar) -> ReportSection {
    let mut config = config.clone();
    let mut of_users = Vec::new();
    match &config.users {
        Some(_) => of_users.extend(config.servers.extract_if(.., |server| server.is_per_user())),
        None => user_vault::resolve_for_local_user(&mut config),
    }
    let config = &config;
    let mut servers = config.servers.clone();
    let pins = store::pin_storage(config);
    for server in &mut servers {
        // A check must not accept tools: they are pinned only when a server is used.
        server.pins = server.pins.take().filter(|file| !matches!(pins.read(file), Ok(None)));
    }
    let downloads = setup::downloads();
    let options = ConnectionOptions {
        limits: config.limits,
        downloads,
        vault: user_vault::with_shared_logins(config),
        pins,
        ..ConnectionOptions::default()
    };
    let bridge = Bridge::start_with(servers, config.local_tools.clone(), guard, options);
    let failed = wait(&bridge, progress).await;
    let status = bridge.status();
    let (local, collisions) = (bridge.local_problems(), bridge.name_collisions());
    let catalog = bridge.catalog().await;
    let ask = config.approvals.as_ref().map(|approvals| approvals.ask.as_slice());
    let unused = unused_entries(&config.tools, ask.unwrap_or_default(), &catalog, &status);
    bridge.shutdown().await;
    let clean = redactor(config);
    let mut findings = Vec::new();
    for server in &status {
        let entry = config.servers.iter().find(|entry| entry.name == server.name);
        let hidden = entry.map(secrets).unwrap_or_default();
        let clean = |text: &str| {
            let text = clean.redact(text.to_owned());
            hidden.iter().fold(text, |text, secret| text.replace(secret, "[redacted]"))
        };
        let ended = failed.iter().find(|(name, _)| *name == server.name);
        let finding = finding(server, entry, &clean, ended.map(|(_, span)| *span));
        findings.push(quarantined(finding, server));
    }
    findings.extend(of_users.iter().map(|server| {
        let summary = "runs with the credentials of each user, and is not started here";
        Finding::green(server.name.as_str(), summary)
    }));
    findings.extend(
        local.iter().map(|problem| Finding::from_message(Verdict::Yellow, "local", problem)),
    );
    findings.extend(collisions.iter().map(|collision| {
        Finding::yellow("names", clean.redact(collision.clone()))
            .fix("use these names in rules; in a block list, the first name blocks all of them")
    }));
    findings.extend(unused.iter().map(|entry| {
        let fix = "`onecall tools` lists the names of tools";
        Finding::yellow("tools", clean.redact(entry.clone())).fix(fix)
    }));
    if findings.is_empty() {
        let none = Finding::green("servers", "none are configured");
        findings.push(none.note("`onecall add NAME COMMAND` adds one"));
    }
    ReportSection { name: "servers", findings }
}

/// The section if the servers are unknown because the configuration is not valid.
pub(super) fn not_checked() -> ReportSection {
    let finding = Finding::yellow("servers", "not tried, because the configuration is not valid");
    ReportSection { name: "servers", findings: vec![finding.fix("fix the configuration first")] }
}

/// Waits until every server has connected or failed, and returns how long each failed one took.
/// Each has a timeout of its own.
async fn wait(bridge: &Bridge, progress: &ProgressBar) -> Vec<(ServerName, Duration)> {
    let started = Instant::now();
    let mut failed: Vec<(ServerName, Duration)> = Vec::new();
    bridge.start_by_prefix(|_| true);
    let mut watch = bridge.watch();
    loop {
        let tools = watch.current();
        for ServerStatus { name, state, .. } in bridge.status() {
            let is_known = failed.iter().any(|(known, _)| *known == name);
            if matches!(state, ServerState::Failed { .. }) && !is_known {
                failed.push((name, started.elapsed()));
            }
        }
        if tools.is_settled {
            return failed;
        }
        progress.set_message(neutralise(&connecting(&tools.unsettled, &bridge.status())));
        watch.changed().await;
    }
}

fn connecting(names: &[ServerName], status: &[ServerStatus]) -> String {
    let is_installing = |name: &ServerName| {
        let is_it = |it: &ServerStatus| matches!(it.state, ServerState::Installing { .. });
        status.iter().any(|server| server.name == *name && is_it(server))
    };
    let shown = |name: &ServerName| match is_installing(name) {
        true => format!("{name} (installing for the first time)"),
        false => name.to_string(),
    };
    format!("connecting to {}", names.iter().map(shown).collect::<Vec<_>>().join(", "))
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
            let finding = if protocol.as_str() < STRUCTURED_CONTENT_VERSION {
                Finding::yellow(name, format!("{summary}, which is old"))
                    .note("its tools cannot declare the types of their results")
                    .fix("it works; check for a newer version of the server")
            } else if !KNOWN_PROTOCOLS.contains(&protocol.as_str()) {
                Finding::yellow(name, format!("{summary}, which this onecall does not know"))
                    .fix("it may work; check for a newer onecall")
            } else if let Some(cut) = &server.cut {
                Finding::yellow(name, format!("{summary}; {cut}"))
                    .fix("let it list fewer tools, or raise that limit if it is a setting")
                    .fact("tools_cut_at", cut.kept)
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
        ServerState::Idle | ServerState::Connecting | ServerState::Installing { .. } => {
            Finding::red(name, "did not answer in time")
        }
        ServerState::Failed { reason, stderr_tail, failure_kind, .. } => {
            let finding = Finding::red(name, clean(reason)).fact("trouble", failure_kind.label());
            let finding = match clean(stderr_tail).trim_start_matches("; ") {
                "" => finding,
                words => finding.note(words),
            };
            let finding = match LogFolder::of_user().filter(|logs| logs.server(name).exists()) {
                Some(_) => {
                    let command = format!("`onecall logs {}`", shell_word(name));
                    finding.note(format!("{command} shows earlier events of the server"))
                }
                None => finding,
            };
            let finding = match ended {
                Some(span) if *failure_kind != FailureKind::NoCommand => finding.took(span),
                _ => finding,
            };
            match entry {
                Some(entry) => {
                    let missing = match &entry.transport {
                        Transport::Stdio(stdio) => {
                            likely_missing(&format!("{reason} {stderr_tail}"), stdio, |name| {
                                std::env::var_os(name).is_some()
                            })
                        }
                        _ => Vec::new(),
                    };
                    with_advice(finding, *failure_kind, entry, &missing)
                }
                None => finding,
            }
        }
    };
    finding.fact("transport", server.transport)
}

/// Adds what helps to a finding, in place of the advice in the reason.
fn with_advice(
    mut finding: Finding,
    failure_kind: FailureKind,
    entry: &ServerConfig,
    missing: &[String],
) -> Finding {
    let command = match &entry.transport {
        Transport::Stdio(stdio) => stdio.command.as_str(),
        _ => "",
    };
    let fix = match failure_kind {
        _ if !missing.is_empty() => {
            let names = missing.join(", ");
            format!(
                "onecall does not pass {names} on to it: add `env_inherit: [{names}]` to its entry"
            )
        }
        // The reason contains the advice: the entry is wrong, nothing has to be installed.
        FailureKind::NoCommand | FailureKind::NotExecutable if is_entry_wrong(command) => {
            finding.summary.split_once("; ").map(|(_, fix)| fix.to_owned()).unwrap_or_default()
        }
        FailureKind::NoCommand => install_hint(command).map_or_else(
            || format!("install '{command}', or give its full path in 'command'"),
            str::to_owned,
        ),
        FailureKind::NotExecutable => {
            format!("make it executable: run `chmod +x {}`", shell_word(command))
        }
        FailureKind::NoDirectory => "correct 'cwd', or create the directory".to_owned(),
        FailureKind::TooSlow if setup::downloads().is_first_start(entry) => {
            "it may have to download first: run its command once by hand, which installs it, or \
             raise 'connect_timeout_seconds'"
                .to_owned()
        }
        FailureKind::TooSlow => format!(
            "run its command by hand; if it only needs longer than {}s, raise \
             'connect_timeout_seconds'",
            entry.connect_timeout_or_default().as_secs_f64()
        ),
        FailureKind::Ended => {
            "run its command by hand to see why; note that a server gets only some \
                           variables of the environment, and those in 'env' and 'env_inherit'"
                .to_owned()
        }
        FailureKind::LoggedOut => {
            format!("run `onecall login {}`", shell_word(entry.name.as_str()))
        }
        FailureKind::Unauthorized => {
            "check the token in 'headers', or remove it and log in instead".to_owned()
        }
        FailureKind::Unreachable => "check 'url', and that the server is running".to_owned(),
        FailureKind::Other | FailureKind::Unresolved => match finding.summary.split_once("; ") {
            Some((_, fix)) => fix.to_owned(),
            None => return finding,
        },
    };
    let reason = finding.summary.split("; ").next().unwrap_or_default();
    finding.summary = reason.to_owned();
    finding.fix(fix)
}

/// Whether `command` cannot be a program on any machine: it is a whole command line, or a folder.
fn is_entry_wrong(command: &str) -> bool {
    command.contains(char::is_whitespace) || Path::new(command).is_dir()
}

/// Adds the server's quarantined tools, which a person has to accept first.
fn quarantined(mut finding: Finding, server: &ServerStatus) -> Finding {
    let tools: Vec<_> = server.quarantined.iter().map(|it| it.spec.callable.to_string()).collect();
    if tools.is_empty() || finding.verdict == Verdict::Red {
        return finding;
    }
    finding.verdict = Verdict::Yellow;
    finding
        .note(format!("quarantined until you accept them: {}", tools.join(", ")))
        .fix(format!("look at them with `onecall pin {}`", shell_word(server.name.as_str())))
        .fact("quarantined", tools)
}

/// Texts that look like secrets in the arguments or the URL of a server, longest first.
fn secrets(entry: &ServerConfig) -> Vec<String> {
    let launch = match &entry.transport {
        Transport::Stdio(stdio) => Launch::Command {
            command: stdio.command.clone(),
            args: stdio.args.clone(),
            env: Vec::new(),
            cwd: None,
        },
        Transport::Auto(remote)
        | Transport::Either { http: remote, .. }
        | Transport::Http(remote)
        | Transport::Sse(remote) => Launch::Remote {
            url: remote.url.clone(),
            transport: HttpTransport::Auto,
            headers: Vec::new(),
        },
        Transport::Unresolved(_) => return Vec::new(),
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
