//! Runs a command within its limits: writes its input, reads its output and waits for its exit. No
//! process of its process group outlives it, and its output never takes more memory than its limit.
//! Dropping the run kills the command.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::supervision::group::ProcessGroup;
use crate::supervision::guard::Guard;
use crate::transport::child;

/// How many bytes of the end of stderr are kept.
const STDERR_KEPT: usize = 8 * 1024;

/// How long the output of a command is still read after its exit, if a process outside of its
/// process group keeps the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

const CHUNK: usize = 64 * 1024;

/// A run whose command has exited.
pub(super) struct FinishedCommand {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// The end of its stderr.
    pub stderr: Vec<u8>,
}

/// Why a run did not finish.
pub(super) enum RunError {
    NotStarted(io::Error),
    TooMuchOutput,
    TimedOut,
}

/// Runs the command, which must lead its own process group and have pipes for its streams, or no
/// stdin.
pub(super) async fn run(
    command: Command,
    input: Vec<u8>,
    limit: Duration,
    max_output: usize,
    guard: Guard,
) -> Result<FinishedCommand, RunError> {
    // At the timeout the future is dropped, which kills the process group.
    timeout(limit, run_to_exit(command, input, max_output, guard))
        .await
        .unwrap_or(Err(RunError::TimedOut))
}

async fn run_to_exit(
    mut command: Command,
    input: Vec<u8>,
    max_output: usize,
    guard: Guard,
) -> Result<FinishedCommand, RunError> {
    let mut child = child::spawn(&mut command).map_err(RunError::NotStarted)?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let group = leader.map(|leader| ProcessGroup::new(leader, guard));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());

    let feeding = async {
        if let Some(mut stdin) = stdin {
            // A command may exit without reading all of its input.
            let _ = stdin.write_all(&input).await;
        }
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let reading = async {
        let output = read_all(stdout, max_output, &mut output);
        let errors = async {
            read_end(stderr, &mut errors).await;
            Ok(())
        };
        tokio::try_join!(output, errors).map(|_| ())
    };
    let status = {
        tokio::pin!(feeding, reading);
        let (mut is_fed, mut is_read) = (false, false);
        let status = loop {
            tokio::select! {
                () = &mut feeding, if !is_fed => is_fed = true,
                read = &mut reading, if !is_read => {
                    read?;
                    is_read = true;
                }
                status = child.wait() => break status,
            }
        };
        // Kills the remaining processes of the group, so that their ends of the pipes close.
        drop(group);
        if !is_read && let Ok(read) = timeout(DRAIN_TIMEOUT, &mut reading).await {
            read?;
        }
        status
    };
    let status = status.map_err(RunError::NotStarted)?;
    Ok(FinishedCommand { status, stdout: output, stderr: errors })
}

async fn read_all(
    source: Option<impl AsyncRead + Unpin>,
    limit: usize,
    kept: &mut Vec<u8>,
) -> Result<(), RunError> {
    let Some(mut source) = source else { return Ok(()) };
    loop {
        kept.reserve(CHUNK.min(limit.saturating_sub(kept.len()) + 1));
        match source.read_buf(kept).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(_) if kept.len() > limit => return Err(RunError::TooMuchOutput),
            Ok(_) => {}
        }
    }
}

/// Reads everything, so that the command never blocks on a full pipe, and keeps the end.
async fn read_end(source: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut source) = source else { return };
    loop {
        if kept.len() > 2 * STDERR_KEPT {
            kept.drain(..kept.len() - STDERR_KEPT);
        }
        kept.reserve(STDERR_KEPT);
        if let Ok(0) | Err(_) = source.read_buf(kept).await {
            return;
        }
    }
}
