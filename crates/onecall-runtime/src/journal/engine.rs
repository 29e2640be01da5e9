//! The engine of a run. It is chosen when the run begins; a continued run uses the same one, because
//! the observations of one engine mean nothing to another.

use onecall_core::{EngineChoice, Failure, Program, RunEngine};

use super::Journal;

impl Journal {
    /// The program of a continued run, on the engine that it began on; `None` if the run is new.
    pub(crate) fn on_first_engine(&self, program: &Program) -> Option<Program> {
        let engine = Some(EngineChoice::Only(self.recorded.engine.as_ref()?.name));
        Some(Program { engine, ..program.clone() })
    }

    /// Says of a continued run whose engine cannot be started that it cannot use another one.
    pub(crate) fn explain_engine(&self, failure: Failure) -> Failure {
        match (failure, &self.recorded.engine) {
            (Failure::EngineUnavailable { reason, lasts }, Some(engine)) => {
                let name = engine.name.name();
                let version = version_of(engine).map(|it| format!(" ({it})")).unwrap_or_default();
                let reason = format!(
                    "the run began on '{name}'{version} and cannot be continued on another engine: \
                     {reason}. No call was made again; what the run had done before is not undone. Start \
                     the program as a new run if all of that may be repeated"
                );
                Failure::EngineUnavailable { reason, lasts }
            }
            (failure, _) => failure,
        }
    }

    /// How the interpreter of a continued run has changed since the run began, as a sentence; `None`
    /// if it is the same one.
    pub(super) fn changed_interpreter(&self, now: Option<&RunEngine>) -> Option<String> {
        let (before, now) = (version_of(self.recorded.engine.as_ref()?)?, version_of(now?)?);
        (before != now).then(|| format!("The run began with {before}, and this is {now}"))
    }
}

/// The interpreter of an engine with its version, if that can change.
fn version_of(engine: &RunEngine) -> Option<String> {
    engine.version.as_ref().map(|version| format!("Python {version}"))
}
