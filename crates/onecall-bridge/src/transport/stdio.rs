//! The stdio transport: a server as a child process. It is started, its exit is detected, and it is
//! stopped together with all processes that it started.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use onecall_config::StdioTransport;
use onecall_core::ServerName;
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::connection_options::ConnectionOptions;
use crate::error::StartError;
use crate::protocol::peer::Peer;
use crate::supervision::group::ProcessGroup;
use crate::supervision::guard::Guard;
use crate::transport::child;
use crate::transport::lines::read_lines;
use crate::transport::stderr::{self, StderrTail};
use crate::transport::writer::PipeWriter;

/// How long a child process may take to exit after each step of stopping it.
const GRACE: Duration = Duration::from_secs(1);

/// How long the streams of a child are still read after its exit, to get its last output.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// A running child process. Dropping it kills the whole process group.
pub(crate) struct StdioConnection {
    peer: Arc<Peer>,
    writer: PipeWriter,
    child: Child,
    group: ProcessGroup,
    /// Closed when there is nothing more to read from the stream.
    stdout_open: watch::Receiver<()>,
    stderr_open: watch::Receiver<()>,
    stderr_tail: StderrTail,
    readers: [AbortHandle; 2],
}

impl StdioConnection {
    /// Starts the child process. Must be called inside a tokio runtime.
    pub fn start(
        server: &ServerName,
        transport: &StdioTransport,
        guard: Guard,
        options: &ConnectionOptions,
    ) -> Result<Self, StartError> {
        let not_started =
            |source| StartError::NotStarted { command: transport.command.clone(), source };
        let cwd = transport.cwd.as_deref();
        let mut command = child::command(&transport.command, &transport.env, cwd);
        let mut child = child::spawn(command.args(&transport.args))
            .map_err(|error| child::explain(error, &transport.command, cwd))?;
        // A child that was not waited for always has a process id.
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| not_started(io::ErrorKind::NotFound.into()))?;
        let group = ProcessGroup::new(leader, guard);

        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(not_started(io::ErrorKind::BrokenPipe.into()));
        };
        let stdin = stdin.into_owned_fd().map_err(not_started)?;
        let stdout =
            stdout.into_owned_fd().and_then(Receiver::from_owned_fd).map_err(not_started)?;
        let writer = PipeWriter::new(stdin).map_err(not_started)?;
        let peer = Arc::new(Peer::new(server.clone(), options.clone(), writer.clone()));
        let stderr_tail = StderrTail::default();

        let (stdout_held, stdout_open) = watch::channel(());
        let (stderr_held, stderr_open) = watch::channel(());
        let reading = {
            let peer = Arc::clone(&peer);
            let max_message_bytes = options.limits.max_message_bytes;
            tokio::spawn(async move {
                read_lines(stdout, max_message_bytes, |line| peer.receive(line)).await;
                drop(stdout_held);
            })
        };
        let logging = {
            let user = options.user.clone();
            let log = stderr::log(stderr, server.clone(), user, stderr_tail.clone());
            tokio::spawn(async move {
                log.await;
                drop(stderr_held);
            })
        };
        let readers = [reading.abort_handle(), logging.abort_handle()];
        Ok(Self { peer, writer, child, group, stdout_open, stderr_open, stderr_tail, readers })
    }

    /// The process id of the child.
    pub fn process(&self) -> Pid {
        self.group.leader()
    }

    /// The peer that sends requests to the server.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Returns when the server has ended, with the reason. It may be dropped and called again.
    pub async fn ended(&mut self) -> String {
        tokio::select! {
            status = self.child.wait() => {
                // An answer may still be in the pipe.
                let _ = timeout(DRAIN_TIMEOUT, async {
                    closed(&mut self.stdout_open).await;
                    closed(&mut self.stderr_open).await;
                })
                .await;
                exit_text(status)
            }
            () = closed(&mut self.stdout_open) => {
                // A server closes its output nearly always because it is about to exit.
                match timeout(GRACE, self.child.wait()).await {
                    Ok(status) => {
                        let _ = timeout(DRAIN_TIMEOUT, closed(&mut self.stderr_open)).await;
                        exit_text(status)
                    }
                    Err(_) => "has closed its output".to_owned(),
                }
            }
        }
    }

    /// The last lines of its stderr, for the end of an error message.
    pub fn stderr_tail(&self) -> String {
        self.stderr_tail.clause()
    }

    /// Stops the server gracefully if possible; returns when it has exited.
    pub async fn stop(mut self) {
        self.writer.close();
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.signal(Signal::TERM);
            if timeout(GRACE, self.child.wait()).await.is_err() {
                self.group.signal(Signal::KILL);
                // Even a killed process can hang in the kernel; the gateway must not.
                let _ = timeout(GRACE, self.child.wait()).await;
            }
        }
        self.group.end(GRACE).await;
    }
}

impl Drop for StdioConnection {
    fn drop(&mut self) {
        self.writer.close();
        // A process that left the group may keep the streams open for ever.
        for reader in &self.readers {
            reader.abort();
        }
    }
}

fn exit_text(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("has exited ({status})"),
        Err(error) => format!("has exited (unknown status: {error})"),
    }
}

/// Returns when the sender of `open` is dropped.
async fn closed(open: &mut watch::Receiver<()>) {
    while open.changed().await.is_ok() {}
}
