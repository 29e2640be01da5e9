//! The client that the benchmark uses as its baseline: one write, one read, no threads, no parsing.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command};

use super::child::{ChildProcess, Stderr};

/// A child process that is asked one line at a time, and killed when this is dropped. It has no
/// timeout, so use it only for requests that will be answered.
pub struct BareClient {
    process: ChildProcess,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    request: Vec<u8>,
    answer: String,
}

impl BareClient {
    /// Starts the command, which inherits stderr.
    pub fn spawn(command: Command) -> Self {
        let (process, stdin, stdout) = ChildProcess::spawn(command, Stderr::Inherited);
        let stdout = BufReader::with_capacity(64 * 1024, stdout);
        Self { process, stdin, stdout, request: Vec::new(), answer: String::new() }
    }

    /// Starts the command and does the MCP handshake.
    pub fn open(command: Command) -> Self {
        let mut client = Self::spawn(command);
        client.call_raw(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}"#,
        );
        client.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Sends one line and returns the next line, without its end.
    pub fn call_raw(&mut self, line: &str) -> &str {
        self.send_raw(line);
        self.receive_raw()
    }

    /// Sends one line with one write.
    pub fn send_raw(&mut self, line: &str) {
        self.request.clear();
        self.request.extend_from_slice(line.as_bytes());
        self.request.push(b'\n');
        self.stdin.write_all(&self.request).expect("the server reads its stdin");
    }

    /// Waits for the next line and returns it without its end.
    pub fn receive_raw(&mut self) -> &str {
        self.answer.clear();
        let length = self.stdout.read_line(&mut self.answer).expect("the server writes UTF-8");
        assert!(length > 0, "the server closed its output");
        self.answer.trim_end()
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }
}
