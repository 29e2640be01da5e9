//! Chooses between the engines that a program can run on.

use onecall_core::{EngineChoice, EngineName, Failure};

use crate::absent::Alternative;
use crate::protocol::Condition;
use crate::registered::RegisteredEngine;
use crate::worker::{Ended, ProgramOutput, Run, Worker};

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
        run: Run<'_>,
        output: &mut dyn ProgramOutput,
    ) -> (EngineName, Result<Option<String>, Failure>) {
        let Self { first, other } = self;
        let Some(other) = other else {
            let ended = first.run(kept, run, Condition::None, output).await;
            return told(first, ended, Alternative::Unknown);
        };
        // Each engine checks the imports before it runs anything.
        let modules = match first.run(kept, run, Condition::AllModules, output).await {
            Ok(Ended::Lacks(modules)) => modules,
            ended => return told(first, ended, Alternative::Unknown),
        };
        let unavailable = match other.run(kept, run, Condition::OneOf(&modules), output).await {
            Ok(Ended::Lacks(_)) => None,
            Err(Failure::EngineUnavailable { reason }) => Some(reason),
            ended => return told(other, ended, Alternative::Unknown),
        };
        if let Some(reason) = &unavailable {
            tracing::warn!("{} is not used: {reason}", other.spec.title);
        }
        let alternative = match &unavailable {
            Some(reason) => Alternative::Unavailable(reason),
            None => Alternative::Lacks(&modules),
        };
        let ended = first.run(kept, run, Condition::None, output).await;
        told(first, ended, alternative)
    }
}

/// The result of a program on an engine. A failure because of a missing module is explained.
fn told(
    engine: &RegisteredEngine,
    ended: Result<Ended, Failure>,
    alternative: Alternative<'_>,
) -> (EngineName, Result<Option<String>, Failure>) {
    let ended = ended.map_err(|failure| (engine.spec.explain)(failure, alternative));
    (engine.spec.name, ended.map(Ended::value))
}
