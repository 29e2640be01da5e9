//! The process group of a child process. Processes that a server starts (as `npx` does) belong to
//! it too and end with it.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

use crate::supervision::guard::Guard;

/// The interval at which the existence of a group is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A running group, registered with the guard. Killed when dropped.
pub(crate) struct ProcessGroup {
    leader: Pid,
    guard: Guard,
    ended: bool,
}

impl ProcessGroup {
    /// Takes ownership of the group that `leader` leads.
    pub fn new(leader: Pid, guard: Guard) -> Self {
        guard.register(leader);
        Self { leader, guard, ended: false }
    }

    /// The process that leads the group.
    pub fn leader(&self) -> Pid {
        self.leader
    }

    /// Sends `signal` to every process of the group.
    pub fn signal(&self, signal: Signal) {
        // Fails only if no process of the group is left.
        let _ = kill_process_group(self.leader, signal);
    }

    /// Ends the remaining processes of the group after its leader has exited: with SIGTERM, and
    /// after `grace` with SIGKILL.
    pub async fn end(&mut self, grace: Duration) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + grace;
        while self.exists() && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
        }
        self.kill();
    }

    fn exists(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    fn kill(&mut self) {
        if !self.ended {
            self.ended = true;
            self.signal(Signal::KILL);
            self.guard.unregister(self.leader);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
