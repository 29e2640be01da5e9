//! The runs that are under way in this process.

use onecall_runtime::RunningRun;

use crate::Gateway;

impl Gateway {
    /// Reads the runs of all users that this process executes or that wait here until others end, the oldest
    /// first. They are those that will be recorded; durable runs are in the store instead. `read` must not
    /// take long: a run does not end while it is read.
    pub fn running_runs<T>(&self, read: impl FnMut(RunningRun<'_>) -> T) -> Vec<T> {
        self.shared.recorder.as_ref().map_or_else(Vec::new, |recorder| recorder.running(read))
    }
}
