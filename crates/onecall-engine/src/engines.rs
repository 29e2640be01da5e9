//! The engines of a gateway, and the choice between them.

use std::path::PathBuf;

use onecall_core::{EngineChoice, Failure, Limits, Program, ToolHost, Workspace, WorkspaceAccess};
use onecall_jail::Mode;
use tokio::sync::OnceCell;

use crate::cell::Plan;
use crate::cpython;
use crate::examination::Examination;
use crate::pool::{Engine, EngineError};
use crate::protocol::Condition;
use crate::worker::{Ended, ProgramOutput};
use crate::workspace::Quota;
use crate::zygote::ZygoteCommand;

/// What engines are made of.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// This program. Run with `python-zygote` or `cpython-zygote` and one more
    /// argument, it must run the zygote's body on that argument.
    pub executable: PathBuf,
    /// How programs are locked in.
    pub mode: Mode,
    /// What runs a program that does not ask for anything else.
    pub choice: EngineChoice,
    /// The system's Python, if not `python3` on `PATH`.
    pub python: Option<PathBuf>,
    /// The one directory that programs may use.
    pub workspace: Option<Workspace>,
}

/// Every engine, each started when first needed.
#[derive(Debug)]
pub struct Engines {
    settings: EngineSettings,
    python: Engine,
    cpython: OnceCell<Engine>,
}

impl Engines {
    /// Engines that nothing has been asked of yet.
    #[must_use]
    pub fn new(settings: EngineSettings) -> Self {
        let plan = Plan::new(settings.mode, settings.workspace.as_ref());
        let python = engine("python-zygote", &plan, &settings);
        Self { settings, python, cpython: OnceCell::new() }
    }

    /// What programs may do with files.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.settings.workspace.as_ref().map(|workspace| workspace.access)
    }

    /// Starts the engine that programs run on first, and has it test its walls.
    pub async fn warm_up(&self) -> Result<(), EngineError> {
        match self.settings.choice {
            EngineChoice::Auto | EngineChoice::Python => self.python.warm_up().await,
            EngineChoice::CPython => self.cpython().await?.warm_up().await,
        }
    }

    /// What a worker of an engine finds when it tests its walls.
    pub async fn examine(&self, choice: EngineChoice) -> Result<Examination, EngineError> {
        match choice {
            EngineChoice::Auto | EngineChoice::Python => self.python.examine().await,
            EngineChoice::CPython => self.cpython().await?.examine().await,
        }
    }

    /// Runs one program to its end. Dropping the future kills it.
    pub async fn run(
        &self,
        program: &Program,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<(), Failure> {
        match program.engine.unwrap_or(self.settings.choice) {
            EngineChoice::Auto => self.run_where_it_can(program, limits, host, output).await,
            EngineChoice::Python => {
                self.python.run(program, Condition::None, limits, host, output).await.map(drop)
            }
            EngineChoice::CPython => {
                let cpython = self.cpython().await.map_err(|error| error.failure())?;
                cpython.run(program, Condition::None, limits, host, output).await.map(drop)
            }
        }
    }

    /// The embedded interpreter runs a program unless it lacks a module that the
    /// system's has. Each looks at the imports before it runs anything.
    async fn run_where_it_can(
        &self,
        program: &Program,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<(), Failure> {
        let all = Condition::AllModules;
        let Ended::Lacks(modules) = self.python.run(program, all, limits, host, output).await?
        else {
            return Ok(());
        };
        match self.cpython().await {
            Ok(cpython) => {
                let any = Condition::OneOf(&modules);
                match cpython.run(program, any, limits, host, output).await {
                    Ok(Ended::Finished) => return Ok(()),
                    Ok(Ended::Lacks(_)) => {}
                    Err(Failure::EngineUnavailable { reason }) => warn_of_cpython(&reason),
                    Err(failure) => return Err(failure),
                }
            }
            Err(error) => warn_of_cpython(&error.to_string()),
        }
        self.python.run(program, Condition::None, limits, host, output).await.map(drop)
    }

    async fn cpython(&self) -> Result<&Engine, EngineError> {
        let start = || async {
            let interpreter = cpython::find(self.settings.python.as_deref()).await?;
            let mut plan = Plan::new(self.settings.mode, self.settings.workspace.as_ref());
            plan.interpreter = Some(interpreter);
            Ok(engine("cpython-zygote", &plan, &self.settings))
        };
        self.cpython.get_or_try_init(start).await
    }
}

fn engine(body: &str, plan: &Plan, settings: &EngineSettings) -> Engine {
    // A path that is not Unicode fails in the zygote, which says so.
    let plan = serde_json::to_string(plan).unwrap_or_default();
    let program = settings.executable.clone();
    let command = ZygoteCommand { program, args: vec![body.to_owned(), plan] };
    Engine::new(command, settings.mode, settings.workspace.as_ref().and_then(Quota::of))
}

fn warn_of_cpython(reason: &str) {
    tracing::warn!("the system's Python is not used: {reason}");
}
