//! A child process that is killed when its owner is dropped.

use std::io::Read;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::process::wait_until;

/// Where the child's stderr goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stderr {
    /// Collected, to be shown when a test fails.
    Collected,
    /// Inherited, without a thread.
    Inherited,
}

pub(super) struct ChildProcess {
    pub child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl ChildProcess {
    pub fn spawn(mut command: Command, stderr: Stderr) -> (Self, ChildStdin, ChildStdout) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if stderr == Stderr::Collected {
            command.stderr(Stdio::piped());
        }
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let collected = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut stderr) = child.stderr.take() {
            let collected = Arc::clone(&collected);
            thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(length @ 1..) = stderr.read(&mut chunk) {
                    let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
                    collected.extend_from_slice(&chunk[..length]);
                }
            });
        }
        (Self { child, stderr: collected }, stdin, stdout)
    }

    pub fn stderr(&self) -> String {
        let collected = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&collected).into_owned()
    }

    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let mut status = None;
        wait_until(timeout, || {
            status = self.child.try_wait().expect("our own child can be waited for");
            status.is_some()
        });
        status
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
