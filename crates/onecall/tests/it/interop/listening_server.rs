//! A published server that listens on a port of this machine.

use std::fs;
use std::process::{Child, Command, Stdio};

use testkit::process::{self, wait_until};

use crate::support::{TIMEOUT, free_port};

/// A server that is stopped when this is dropped.
pub struct ListeningServer {
    /// Where it listens.
    pub port: u16,
    child: Child,
}

impl ListeningServer {
    /// Starts what `command` makes for a free port, and waits until it listens there.
    pub fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = free_port();
        Self::start_at(port, command(port))
    }

    /// Starts a server that listens on this port, and waits until it does.
    pub fn start_at(port: u16, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the server starts");
        let server = Self { port, child };
        assert!(wait_until(TIMEOUT, || server.listens()), "no server on port {port}: {command:?}");
        server
    }

    /// Whether the server itself listens on its port: a server of another test may have had the port before.
    fn listens(&self) -> bool {
        let sockets = listening_sockets(self.port);
        let below = process::descendants(self.child.id());
        let processes = below.iter().map(|it| it.pid).chain([self.child.id()]);
        let folders = processes.filter_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok());
        let mut links =
            folders.flatten().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    }
}

/// The sockets that listen on this port, as links in `/proc` name them.
fn listening_sockets(port: u16) -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let lines = tables.map(|table| fs::read_to_string(table).unwrap_or_default()).concat();
    let end = format!(":{port:04X}");
    let socket = move |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_listening = fields.get(1)?.ends_with(&end) && *fields.get(3)? == "0A";
        is_listening.then(|| format!("socket:[{}]", fields.get(9).unwrap_or(&"")))
    };
    lines.lines().filter_map(socket).collect()
}

impl ListeningServer {
    /// Stops the server and waits for its end.
    pub fn stop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        // `timeout` passes this signal on to the server, which it could not if it were killed.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        self.stop();
    }
}
