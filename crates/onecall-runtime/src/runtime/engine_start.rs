//! Runs a program on the engines. A continued run waits until its engine can start.

use std::time::Duration;

use onecall_core::{Failure, Program, ProgramHost, RunLimits, Unavailability};
use onecall_engine::{RunControl, Session};

use super::Runtime;
use crate::capture::Capture;

/// The first pause before the engine of a continued run is started once more.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Runtime {
    /// Runs a program on its engine. If the engine of a continued run cannot start at the moment, the run
    /// would end without the call that was approved, so it tries again until the engine starts or the
    /// run is stopped. A new run fails at once.
    pub(super) async fn run_on_engine(
        &self,
        session: &mut Session,
        program: &Program,
        limits: &RunLimits,
        host: &dyn ProgramHost,
        control: RunControl<'_>,
        capture: &mut Capture<'_>,
    ) -> Result<Option<String>, Failure> {
        let mut pause = FIRST_PAUSE;
        loop {
            let run = self.engines.run_in(session, program, limits, host, control, capture);
            match Box::pin(run).await {
                Err(Failure::EngineUnavailable { reason, lasts: Unavailability::Passing })
                    if control.is_continued =>
                {
                    let seconds = pause.as_secs_f64();
                    tracing::warn!(
                        "the engine of a continued run could not start: {reason}; it is tried again in \
                         {seconds}s"
                    );
                }
                result => return result,
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}
