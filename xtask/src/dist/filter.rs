//! Runs programs as filters.

use std::io::Write;
use std::process::{Command, Stdio};

/// Passes the bytes to a program and returns its output.
pub fn pipe_through(program: &str, arguments: &[&str], bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = command.spawn();
    let mut child = started.map_err(|error| format!("{program} cannot be started: {error}"))?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // The pipe is closed when the thread ends.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(bytes)));
        child.wait_with_output()
    });
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(format!("{program} failed: {}", output.status)),
        Err(error) => Err(format!("{program} failed: {error}")),
    }
}
