//! Runs programs within their limits.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{Failure, Limits, Outcome, Program, ToolHost};
use onecall_engine::Engines;

use crate::Observer;
use crate::capture::Capture;
use crate::layers::{Observed, Parallel, Quota};

/// However little output is allowed, a traceback may be this long: without it
/// nobody could mend the program.
const SHORTEST_LIMIT: usize = 4 * 1024;

/// Runs programs on engines, with the tools of a host.
pub struct Runtime {
    engines: Engines,
    host: Arc<dyn ToolHost>,
    limits: Limits,
}

impl Runtime {
    /// Programs run on `engines`, within `limits`, and `host` executes their calls.
    pub fn new(engines: Engines, host: Arc<dyn ToolHost>, limits: Limits) -> Self {
        Self { engines, host, limits }
    }

    /// What programs run on.
    #[must_use]
    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// Runs one program to its end. Dropping the future kills the program and
    /// cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let started = Instant::now();
        let mut capture = Capture::new(self.limits.max_output_bytes, observer);
        let parallel = Parallel::new(self.host.as_ref(), self.limits.max_parallel_calls);
        let quota = Quota::new(&parallel, self.limits.max_tool_calls);
        let observed = Observed::new(&quota, observer);
        let result = self.engines.run(program, &self.limits, &observed, &mut capture).await;
        let longest = self.limits.max_output_bytes.max(SHORTEST_LIMIT);
        let result = result.map_err(|failure| shorten(failure, longest));
        let calls_completed = observed.completed();
        let (stdout, stderr) = capture.finish();
        Outcome { result, stdout, stderr, calls_completed, duration: started.elapsed() }
    }
}

/// Takes out the middle of a traceback that is longer than output may be: its
/// beginning says where the program was, its end what happened.
fn shorten(failure: Failure, limit: usize) -> Failure {
    let Failure::Raised { traceback } = failure else { return failure };
    if traceback.len() <= limit {
        return Failure::Raised { traceback };
    }
    let head = traceback.floor_char_boundary(limit / 2);
    let tail = traceback.ceil_char_boundary(traceback.len() - limit / 2);
    let (head, tail) = (traceback.get(..head), traceback.get(tail..));
    let traceback =
        format!("{}\n... (truncated)\n{}", head.unwrap_or_default(), tail.unwrap_or_default());
    Failure::Raised { traceback }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_traceback_keeps_its_ends() {
        let raised = |traceback: &str| Failure::Raised { traceback: traceback.to_owned() };
        let cases = [
            (raised("ValueError: é"), 14, raised("ValueError: é")),
            (raised("aéiou-uoiéa"), 5, raised("a\n... (truncated)\na")),
            (raised("Traceback long Error"), 8, raised("Trac\n... (truncated)\nrror")),
        ];
        for (failure, limit, expected) in cases {
            assert_eq!(shorten(failure, limit), expected);
        }
    }
}
