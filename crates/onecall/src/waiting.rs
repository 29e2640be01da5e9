//! Shows which servers a command waits for, after a second and only on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::ProgressBar;
use onecall_bridge::{NextStart, ServerState, ServerStatus};
use onecall_core::ServerName;
use onecall_core::text::shell_word;

use crate::commands::note;
use crate::logs;
use crate::terminal::{exit_interrupted, is_quiet, spinner};

/// How long a command may take before the servers that it waits for are shown.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// How often the line is updated.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// How many servers in each state are named.
const MAX_NAMES: usize = 3;

/// Runs `work`, and meanwhile shows which servers are still connecting. On a terminal, Ctrl-C ends
/// the process.
pub(crate) async fn with_progress<T>(
    work: impl Future<Output = T>,
    status: impl Fn() -> Vec<ServerStatus>,
) -> T {
    tokio::pin!(work);
    if !io::stderr().is_terminal() || is_quiet() {
        return work.await;
    }
    let work = async {
        if let Ok(done) = tokio::time::timeout(SHOW_AFTER, &mut work).await {
            return done;
        }
        let spinner = spinner("working");
        let done = with_messages(&spinner, work, || {
            Some(progress(&status()).unwrap_or_else(|| "working".to_owned()))
        });
        let done = done.await;
        spinner.finish_and_clear();
        done
    };
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => exit_interrupted(),
    }
}

/// Runs `work`, and meanwhile shows the latest message in `spinner`, whenever there is one.
pub(crate) async fn with_messages<T>(
    spinner: &ProgressBar,
    work: impl Future<Output = T>,
    message: impl Fn() -> Option<String>,
) -> T {
    tokio::pin!(work);
    if spinner.is_hidden() {
        return work.await;
    }
    loop {
        if let Some(message) = message() {
            spinner.set_message(message);
        }
        if let Ok(done) = tokio::time::timeout(UPDATE_INTERVAL, &mut work).await {
            return done;
        }
    }
}

/// The progress of connecting as text; `None` if no server is connecting.
pub(crate) fn progress(servers: &[ServerStatus]) -> Option<String> {
    let names_of = |is_in_state: fn(&ServerState) -> bool| -> Vec<&str> {
        servers.iter().filter(|it| is_in_state(&it.state)).map(|it| it.name.as_str()).collect()
    };
    let connecting = names_of(|state| *state == ServerState::Connecting);
    let installing = names_of(|state| matches!(state, ServerState::Installing { .. }));
    let missing = connecting.len() + installing.len();
    if missing == 0 {
        return None;
    }
    let failed = names_of(|state| matches!(state, ServerState::Failed { .. })).len();
    let is_up = |state: &ServerState| {
        matches!(state, ServerState::Ready { .. } | ServerState::Local { .. })
    };
    let up = names_of(is_up).len();
    let mut text = format!("{up} of {} servers connected", up + failed + missing);
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    for (what, names) in
        [("waiting for ", connecting), ("installing for the first time: ", installing)]
    {
        if !names.is_empty() {
            let more = if names.len() > MAX_NAMES { ", …" } else { "" };
            let shown: Vec<&str> = names.into_iter().take(MAX_NAMES).collect();
            text.push_str(&format!(", {what}{}{more}", shown.join(", ")));
        }
    }
    Some(text)
}

/// Prints which servers failed to start, for a command without a table of them. A failure whose
/// reason is in `already_printed` is not repeated.
pub(crate) fn print_failures(servers: &[ServerStatus], already_printed: &str) {
    for server in servers {
        let ServerState::Failed { reason, stderr_tail, next_start, .. } = &server.state else {
            continue;
        };
        let name = &server.name;
        match next_start {
            _ if already_printed.contains(reason) => {}
            NextStart::AfterLogin => note(&format!("warning: server '{name}' {reason}")),
            _ => {
                let more = logs_hint(name, stderr_tail);
                note(&format!(
                    "warning: server '{name}' is not available: {reason}{stderr_tail}{more}"
                ));
            }
        }
    }
}

/// A hint where to read the whole stderr of a server, if it wrote anything.
pub(crate) fn logs_hint(server: &ServerName, stderr_tail: &str) -> String {
    match !stderr_tail.is_empty() && logs::are_written() {
        true => format!("; `onecall logs {}` shows all of it", shell_word(server.as_str())),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use onecall_bridge::FailureKind;

    fn server(name: &str, state: ServerState) -> ServerStatus {
        let (name, quarantined) = (ServerName::new(name), Vec::new());
        let (user, restarts, cut) = (None, 0, None);
        ServerStatus { name, user, transport: "stdio", state, quarantined, restarts, cut }
    }

    #[test]
    fn those_that_are_missing_are_named_and_failures_are_not_connected() {
        let connecting = |name| server(name, ServerState::Connecting);
        let mut servers = vec![server("here", ServerState::Local { tools: 1 })];
        assert_eq!(progress(&servers), None);
        servers.extend(["a", "b", "c"].map(connecting));
        let shown = progress(&servers).unwrap();
        assert_eq!(shown, "1 of 4 servers connected, waiting for a, b, c");
        servers.push(connecting("d"));
        let shown = progress(&servers).unwrap();
        assert_eq!(shown, "1 of 5 servers connected, waiting for a, b, c, …");
        servers.truncate(2);
        servers.push(server("lazy", ServerState::Idle));
        servers.push(server(
            "broken",
            ServerState::Failed {
                reason: "has exited".to_owned(),
                stderr_tail: String::new(),
                failure_kind: FailureKind::Other,
                next_start: NextStart::Now,
            },
        ));
        let shown = progress(&servers).unwrap();
        assert_eq!(shown, "1 of 3 servers connected, 1 failed, waiting for a");
    }

    #[test]
    fn a_server_that_is_installed_says_so() {
        let installing = ServerState::Installing { since: Instant::now() };
        let servers = [server("a", installing), server("b", ServerState::Connecting)];
        assert_eq!(
            progress(&servers).unwrap(),
            "0 of 2 servers connected, waiting for b, installing for the first time: a"
        );
    }
}
