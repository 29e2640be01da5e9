//! The engines of a gateway, and the choice between them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onecall_core::{EngineChoice, Failure, Limits, Program, ToolHost, Workspace, WorkspaceAccess};
use onecall_jail::Mode;
use tokio::sync::OnceCell;

use crate::cell::Plan;
use crate::cpython;
use crate::examination::Examination;
use crate::pool::{Engine, EngineError};
use crate::protocol::Condition;
use crate::worker::{Ended, ProgramOutput, Worker};
use crate::workspace::Quota;
use crate::zygote::ZygoteCommand;

/// What engines are made of.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// What the zygotes are started from: this program itself, if it begins with
    /// [`run_if_zygote`](crate::run_if_zygote), or an installed `onecall`. Run with
    /// `python-zygote`, `cpython-zygote` or `typescript-zygote` and one more argument, it
    /// must run the zygote's body on that argument.
    pub executable: PathBuf,
    /// How programs are locked in.
    pub mode: Mode,
    /// What runs a program that does not ask for anything else.
    pub choice: EngineChoice,
    /// The system's Python, if not `python3` on `PATH`.
    pub python: Option<PathBuf>,
    /// The one directory that programs may use.
    pub workspace: Option<Workspace>,
    /// A directory that Python programs may look into, as `/tools`.
    pub tools: Option<PathBuf>,
}

impl EngineSettings {
    /// The embedded interpreter or the system's, whichever a program needs, behind every
    /// wall, without any file.
    #[must_use]
    pub fn new(executable: PathBuf) -> Self {
        let (mode, choice) = (Mode::Required, EngineChoice::Auto);
        Self { executable, mode, choice, python: None, workspace: None, tools: None }
    }

    /// How the cells of Python programs are to be built.
    fn plan(&self) -> Plan {
        Plan::new(self.mode, self.workspace.as_ref(), self.tools.as_deref())
    }
}

/// A worker that keeps the variables of its programs. It is killed when this is dropped.
#[derive(Debug, Default)]
pub struct Session {
    worker: Option<Worker>,
    engine: EngineChoice,
}

impl Session {
    /// What ran its last program; `Auto` if that was not decided.
    #[must_use]
    pub fn engine(&self) -> EngineChoice {
        self.engine
    }

    /// Whether it has variables to lose.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.worker.is_some()
    }
}

/// Every engine, each started when first needed.
#[derive(Debug)]
pub struct Engines {
    settings: EngineSettings,
    python: Arc<Engine>,
    cpython: OnceCell<Arc<Engine>>,
    typescript: Arc<Engine>,
}

impl Engines {
    /// Engines that nothing has been asked of yet.
    #[must_use]
    pub fn new(settings: EngineSettings) -> Self {
        let plan = settings.plan();
        let python = engine("python-zygote", &plan, &settings);
        // There is no workspace for these programs, so none of its quota concerns them.
        let apart = EngineSettings { workspace: None, ..settings.clone() };
        let typescript = engine("typescript-zygote", &Plan::new(settings.mode, None, None), &apart);
        Self { settings, python, cpython: OnceCell::new(), typescript }
    }

    /// What programs may do with files.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.settings.workspace.as_ref().map(|workspace| workspace.access)
    }

    /// The folder that programs may write to.
    #[must_use]
    pub fn writable_folder(&self) -> Option<&Path> {
        let workspace = self.settings.workspace.as_ref()?;
        (workspace.access != WorkspaceAccess::ReadOnly).then_some(&workspace.path)
    }

    /// How many workers each engine has had so far.
    #[must_use]
    pub fn workers_started(&self) -> [(EngineChoice, u64); 3] {
        let cpython = self.cpython.get().map_or(0, |engine| engine.forked());
        [
            (EngineChoice::Python, self.python.forked()),
            (EngineChoice::CPython, cpython),
            (EngineChoice::TypeScript, self.typescript.forked()),
        ]
    }

    /// Starts the engine that programs run on first, and has it test its walls.
    pub async fn warm_up(&self) -> Result<(), EngineError> {
        match self.settings.choice {
            EngineChoice::Auto | EngineChoice::Python => self.python.warm_up().await,
            EngineChoice::CPython => self.cpython().await?.warm_up().await,
            EngineChoice::TypeScript => self.typescript.warm_up().await,
        }
    }

    /// What a worker of an engine finds when it tests its walls.
    pub async fn examine(&self, choice: EngineChoice) -> Result<Examination, EngineError> {
        match choice {
            EngineChoice::Auto | EngineChoice::Python => self.python.examine().await,
            EngineChoice::CPython => self.cpython().await?.examine().await,
            EngineChoice::TypeScript => self.typescript.examine().await,
        }
    }

    /// Runs one program to its end, and tells the value of its last expression as JSON
    /// where that is wanted. Dropping the future kills it.
    pub async fn run(
        &self,
        program: &Program,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Option<String>, Failure> {
        self.run_in(&mut Session::default(), program, limits, host, output).await
    }

    /// Runs one program in a session. It has ended if [`Session::is_alive`] is false
    /// afterwards.
    pub async fn run_in(
        &self,
        session: &mut Session,
        program: &Program,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Option<String>, Failure> {
        let wanted = program.engine.unwrap_or(self.settings.choice);
        let choice = match (session.worker.is_some(), session.engine) {
            (true, engine) if wanted == engine || wanted == EngineChoice::Auto => engine,
            (true, engine) => return Err(other_engine(engine)),
            (false, _) => wanted,
        };
        let kept = &mut session.worker;
        if choice == EngineChoice::Auto {
            let (engine, result) = self.run_where_it_can(kept, program, limits, host, output).await;
            session.engine = engine;
            return result;
        }
        session.engine = choice;
        let engine = match choice {
            EngineChoice::CPython => self.cpython().await.map_err(|error| error.failure())?,
            EngineChoice::TypeScript => &self.typescript,
            EngineChoice::Auto | EngineChoice::Python => &self.python,
        };
        let none = Condition::None;
        engine.run_in(kept, program, none, limits, host, output).await.map(Ended::value)
    }

    /// The embedded interpreter runs a program unless it lacks a module that the
    /// system's has. Each looks at the imports before it runs anything.
    async fn run_where_it_can(
        &self,
        kept: &mut Option<Worker>,
        program: &Program,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> (EngineChoice, Result<Option<String>, Failure>) {
        let all = Condition::AllModules;
        let modules = match self.python.run_in(kept, program, all, limits, host, output).await {
            Ok(Ended::Lacks(modules)) => modules,
            ended => return (EngineChoice::Python, ended.map(Ended::value)),
        };
        match self.cpython().await {
            Ok(cpython) => {
                let any = Condition::OneOf(&modules);
                match cpython.run_in(kept, program, any, limits, host, output).await {
                    Ok(Ended::Lacks(_)) => {}
                    Err(Failure::EngineUnavailable { reason }) => warn_of_cpython(&reason),
                    ended => return (EngineChoice::CPython, ended.map(Ended::value)),
                }
            }
            Err(error) => warn_of_cpython(&error.to_string()),
        }
        let none = Condition::None;
        let ended = self.python.run_in(kept, program, none, limits, host, output).await;
        (EngineChoice::Python, ended.map(Ended::value))
    }

    async fn cpython(&self) -> Result<&Arc<Engine>, EngineError> {
        let start = || async {
            let interpreter = cpython::find(self.settings.python.as_deref()).await?;
            let mut plan = self.settings.plan();
            plan.interpreter = Some(interpreter);
            Ok(engine("cpython-zygote", &plan, &self.settings))
        };
        self.cpython.get_or_try_init(start).await
    }
}

fn engine(body: &str, plan: &Plan, settings: &EngineSettings) -> Arc<Engine> {
    // A path that is not Unicode fails in the zygote, which says so.
    let plan = serde_json::to_string(plan).unwrap_or_default();
    let program = settings.executable.clone();
    let command = ZygoteCommand { program, args: vec![body.to_owned(), plan] };
    let quota = settings.workspace.as_ref().and_then(Quota::of);
    Arc::new(Engine::new(command, settings.mode, quota))
}

fn other_engine(engine: EngineChoice) -> Failure {
    let name = EngineChoice::NAMES.iter().find(|(_, choice)| *choice == engine);
    let name = name.map_or("another engine", |(name, _)| name);
    let message = format!("this session runs on {name}; reset it to use another engine");
    Failure::refused("ValueError", message)
}

fn warn_of_cpython(reason: &str) {
    tracing::warn!("the system's Python is not used: {reason}");
}
