//! Work of a user that takes as much of the machine as a program, but is not one of the programs that the
//! gateway runs: the replay of a recorded program, for example.

use std::time::Duration;

use onecall_core::{BoxFuture, Failure, RunLimits};
use onecall_engine::{ProgramOutput, RunControl};

use crate::Gateway;

impl Gateway {
    /// Runs `work` of the user under the limits of a program: it waits until one more program may run, counts
    /// as a program of the user, and has the memory and the time limit of a program, and `more_time`. Dropping
    /// the future cancels it.
    ///
    /// # Errors
    /// If too many programs run, or the time is over.
    pub async fn run_as_program<T>(
        &self,
        more_time: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let limits = self.limits();
        let limits = RunLimits { timeout: limits.timeout.saturating_add(more_time), ..limits };
        let control = RunControl { user: self.user().as_str(), ..RunControl::default() };
        let mut result = None;
        let work = async {
            result = Some(work.await);
            Ok(())
        };
        let engines = &self.shared.engines;
        engines.run_without_program(control, &limits, &mut NoOutput, work).await?;
        result.ok_or(Failure::Cancelled)
    }
}

/// The output of work that is no program, and prints nothing.
struct NoOutput;

impl ProgramOutput for NoOutput {
    fn stdout(&mut self, _: &[u8]) {}
    fn stderr(&mut self, _: &[u8]) {}
    fn show(&mut self, _: &str) {}
    fn queued(&mut self, _: usize) {}
    fn wait_for_room(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn remark(&mut self, _: String) {}
}
