//! Chooses between the engines that a program can run on.

use onecall_core::{EngineChoice, EngineName, Failure};

use crate::missing_modules::CPythonStatus;
use crate::protocol::Condition;
use crate::registered::RegisteredEngine;
use crate::worker::{ProgramEnd, ProgramOutput, ProgramRun, Worker};

/// The engines that a program can run on.
#[derive(Clone, Copy)]
pub(crate) struct Candidates<'a> {
    /// The engine that runs the program unless it lacks a module.
    pub(crate) first: &'a RegisteredEngine,
    /// The engine that runs the program if the first one lacks a module that this one has.
    pub(crate) other: Option<&'a RegisteredEngine>,
}

impl<'a> Candidates<'a> {
    /// A single engine.
    pub(crate) fn only(engine: &'a RegisteredEngine) -> Self {
        Self { first: engine, other: None }
    }

    /// The engine of this name, if it is one of the candidates.
    pub(crate) fn named(self, engine: EngineChoice) -> Option<&'a RegisteredEngine> {
        let mut all = [Some(self.first), self.other].into_iter().flatten();
        all.find(|it| EngineChoice::Only(it.spec.name) == engine)
    }

    /// Runs an admitted program, and returns the engine that ran it.
    pub(crate) async fn run(
        self,
        kept: &mut Option<Worker>,
        run: ProgramRun<'_>,
        output: &mut dyn ProgramOutput,
    ) -> (EngineName, Result<Option<String>, Failure>) {
        let Self { first, other } = self;
        let Some(other) = other else {
            let ended = first.run(kept, run, Condition::None, output).await;
            return explained_result(first, ended, CPythonStatus::Unknown);
        };
        // Each engine checks the imports before it runs anything.
        let modules = match first.run(kept, run, Condition::AllModules, output).await {
            Ok(ProgramEnd::MissingModules(modules)) => modules,
            ended => return explained_result(first, ended, CPythonStatus::Unknown),
        };
        let unavailable = match other.run(kept, run, Condition::OneOf(&modules), output).await {
            Ok(ProgramEnd::MissingModules(_)) => None,
            Err(Failure::EngineUnavailable { reason, .. }) => Some(reason),
            ended => return explained_result(other, ended, CPythonStatus::Unknown),
        };
        if let Some(reason) = &unavailable {
            tracing::warn!("{} is not used: {reason}", other.spec.title);
        }
        let alternative = match &unavailable {
            Some(reason) => CPythonStatus::Unavailable(reason),
            None => CPythonStatus::MissingModules(&modules),
        };
        let ended = first.run(kept, run, Condition::None, output).await;
        explained_result(first, ended, alternative)
    }
}

/// The result of a program on an engine. A failure because of a missing module is explained.
fn explained_result(
    engine: &RegisteredEngine,
    ended: Result<ProgramEnd, Failure>,
    alternative: CPythonStatus<'_>,
) -> (EngineName, Result<Option<String>, Failure>) {
    let ended = ended.map_err(|failure| (engine.spec.explain)(failure, alternative));
    (engine.spec.name, ended.map(ProgramEnd::value))
}
