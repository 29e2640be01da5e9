//! A published server that listens on a port of this machine.

use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};

use testkit::process::wait_until;

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
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        assert!(wait_until(TIMEOUT, listens), "nothing listens on port {port}: {command:?}");
        server
    }
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
