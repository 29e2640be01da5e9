//! What is shown while a command waits for servers: after a second, on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use onecall_bridge::{ServerState, ServerStatus};

use crate::terminal::spinner;

/// Whoever waits for longer than this is told what for.
const UNTOLD: Duration = Duration::from_secs(1);

/// How often it is told anew.
const PACE: Duration = Duration::from_millis(100);

/// Names of servers that are shown.
const NAMES: usize = 3;

/// Does some work, and shows meanwhile which servers are not up yet.
pub(crate) async fn shown<T>(
    work: impl Future<Output = T>,
    status: impl Fn() -> Vec<ServerStatus>,
) -> T {
    tokio::pin!(work);
    if !io::stderr().is_terminal() {
        return work.await;
    }
    if let Ok(done) = tokio::time::timeout(UNTOLD, &mut work).await {
        return done;
    }
    let spinner = spinner("working");
    loop {
        spinner.set_message(told(&status()));
        if let Ok(done) = tokio::time::timeout(PACE, &mut work).await {
            spinner.finish_and_clear();
            return done;
        }
    }
}

fn told(servers: &[ServerStatus]) -> String {
    let is_waited_for = |it: &&ServerStatus| it.state == ServerState::Connecting;
    let missing: Vec<_> = servers.iter().filter(is_waited_for).map(|it| it.name.as_str()).collect();
    if missing.is_empty() {
        return "working".to_owned();
    }
    let up = servers.len() - missing.len();
    let mut names = missing.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    if missing.len() > NAMES {
        names.push_str(", …");
    }
    format!("{up} of {} servers connected, waiting for {names}", servers.len())
}

#[cfg(test)]
mod tests {
    use onecall_core::ServerName;

    use super::*;

    fn server(name: &str, state: ServerState) -> ServerStatus {
        ServerStatus { name: ServerName::new(name), transport: "stdio", state, quarantined: vec![] }
    }

    #[test]
    fn those_that_are_missing_are_named() {
        let connecting = |name| server(name, ServerState::Connecting);
        let mut servers = vec![server("here", ServerState::Local { tools: 1 })];
        assert_eq!(told(&servers), "working");
        servers.extend(["a", "b", "c"].map(connecting));
        assert_eq!(told(&servers), "1 of 4 servers connected, waiting for a, b, c");
        servers.push(connecting("d"));
        assert_eq!(told(&servers), "1 of 5 servers connected, waiting for a, b, c, …");
    }
}
