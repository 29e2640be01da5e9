//! Runs programs within their limits.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{Limits, Outcome, Program, ToolHost};
use onecall_engine::Engine;

use crate::Observer;
use crate::capture::Capture;
use crate::layers::{Observed, Parallel, Quota};

/// Runs programs on an engine, with the tools of a host.
pub struct Runtime {
    engine: Engine,
    host: Arc<dyn ToolHost>,
    limits: Limits,
}

impl Runtime {
    /// Programs run on `engine`, within `limits`, and `host` executes their calls.
    pub fn new(engine: Engine, host: Arc<dyn ToolHost>, limits: Limits) -> Self {
        Self { engine, host, limits }
    }

    /// The engine programs run on.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Runs one program to its end. Dropping the future kills the program and
    /// cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let started = Instant::now();
        let mut capture = Capture::new(self.limits.max_output_bytes, observer);
        let parallel = Parallel::new(self.host.as_ref(), self.limits.max_parallel_calls);
        let quota = Quota::new(&parallel, self.limits.max_tool_calls);
        let observed = Observed::new(&quota, observer);
        let result = self.engine.run(program, &self.limits, &observed, &mut capture).await;
        let calls_completed = observed.completed();
        let (stdout, stderr) = capture.finish();
        Outcome { result, stdout, stderr, calls_completed, duration: started.elapsed() }
    }
}
