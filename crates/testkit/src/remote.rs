//! The fixture server on HTTP, as a separate process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::bins;

/// A running fixture server; killed when dropped.
pub struct HttpFixture {
    child: Child,
    address: String,
}

impl HttpFixture {
    /// Starts the server on a free port of this machine.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(flags: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", flags)
    }

    /// Starts the server at this address.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start_at(address: &str, flags: &[&str]) -> Self {
        let mut command = Command::new(bins::fixture_server());
        command.args(["--http", address]).args(flags);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it is");
        let address = line.trim().to_owned();
        assert!(!address.is_empty(), "the fixture server did not start");
        Self { child, address }
    }

    /// Kills the server and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Host and port of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A URL of the server; `path` begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        self.kill();
    }
}
