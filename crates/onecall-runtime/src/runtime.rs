//! Runs programs within their limits.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{EngineChoice, Failure, Limits, Outcome, Program, ToolHost};
use onecall_engine::Engines;

use crate::capture::Capture;
use crate::directory::Directory;
use crate::layers::{Discovery, Observed, Parallel, Quota};
use crate::plan::PlanHost;
use crate::{Observer, Plan, PlanAnswer, report};

/// However little output is allowed, a traceback may be this long: without it
/// nobody could mend the program.
const SHORTEST_LIMIT: usize = 4 * 1024;

/// Runs programs on engines, with the tools of a host.
pub struct Runtime {
    engines: Engines,
    host: Arc<dyn ToolHost>,
    directory: Arc<Directory>,
    limits: Limits,
}

impl Runtime {
    /// Programs run on `engines`, within `limits`; `host` executes their calls and
    /// `directory` answers what they ask about tools.
    pub(crate) fn new(
        engines: Engines,
        host: Arc<dyn ToolHost>,
        directory: Arc<Directory>,
        limits: Limits,
    ) -> Self {
        Self { engines, host, directory, limits }
    }

    /// What programs run on.
    #[must_use]
    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// Runs one program to its end. Dropping the future kills the program and
    /// cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let parallel = Parallel::new(self.host.as_ref(), self.limits.max_parallel_calls);
        let quota = Quota::new(&parallel, self.limits.max_tool_calls);
        let observed = Observed::new(&quota, observer);
        let discovery = Discovery::new(&observed, &self.directory);
        self.run_on(&discovery, program, &observed, observer).await
    }

    /// Who executes the calls of programs.
    pub(crate) fn host(&self) -> &dyn ToolHost {
        self.host.as_ref()
    }

    /// Runs a plan to its end, its calls executed by `host`: the answer of its target,
    /// or what is to be said of its failure.
    pub(crate) async fn run_plan(
        &self,
        plan: &Plan,
        host: &dyn ToolHost,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, String> {
        let program = Program { code: plan.program(), engine: Some(EngineChoice::Python) };
        let parallel = Parallel::new(host, self.limits.max_parallel_calls);
        let quota = Quota::new(&parallel, self.limits.max_tool_calls);
        let observed = Observed::new(&quota, observer);
        let nodes = PlanHost::new(&observed, plan);
        let mut outcome = self.run_on(&nodes, &program, &observed, observer).await;
        if outcome.result.is_ok()
            && let Some(answer) = nodes.answer()
        {
            return Ok(PlanAnswer::new(&answer, self.limits.max_output_bytes));
        }
        outcome.result = Err(match outcome.result {
            Err(Failure::Raised { traceback }) => {
                Failure::Raised { traceback: plan_error(&traceback).to_owned() }
            }
            Err(failure) => failure,
            // It has reported an end that it did not reach.
            Ok(()) => Failure::WorkerDied { reason: "the plan ended without its target".into() },
        });
        // Which calls were completed says more than how many.
        outcome.calls_completed = 0;
        let mut text = report(&outcome);
        let completed = nodes.completed();
        if !completed.is_empty() {
            text.push_str(&format!("\n[Nodes completed: {}]", completed.join(", ")));
        }
        Err(text)
    }

    async fn run_on(
        &self,
        host: &dyn ToolHost,
        program: &Program,
        observed: &Observed<'_>,
        observer: &dyn Observer,
    ) -> Outcome {
        let started = Instant::now();
        let mut capture = Capture::new(self.limits.max_output_bytes, observer);
        let result = self.engines.run(program, &self.limits, host, &mut capture).await;
        let longest = self.limits.max_output_bytes.max(SHORTEST_LIMIT);
        let result = result.map_err(|failure| shorten(failure, longest));
        let calls_completed = observed.completed();
        let (stdout, stderr) = capture.finish();
        Outcome { result, stdout, stderr, calls_completed, duration: started.elapsed() }
    }
}

/// What a plan's program says of its failure, without the way that led there.
fn plan_error(traceback: &str) -> &str {
    let starts = ["\nPlanError: ", "\nToolError: "].map(|kind| traceback.find(kind));
    let start = starts.into_iter().flatten().min().map_or(0, |start| start + 1);
    traceback.get(start..).unwrap_or(traceback)
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
