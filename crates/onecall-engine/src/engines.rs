//! The engines of a gateway, and the choice between them.

use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::{
    EngineChoice, Failure, Limits, Program, ProgramHost, TotalLimits, Workspace, WorkspaceAccess,
};
use onecall_jail::Requirement;
use tokio::sync::OnceCell;

use crate::absent::{self, Alternative};
use crate::admission::{Admission, IdleHandle, KeptWorker, Load};
use crate::cell::Plan;
use crate::cpython;
use crate::examination::Examination;
use crate::files::Files;
use crate::pool::{Engine, EngineError};
use crate::protocol::Condition;
use crate::scratch::{self, Provision, Scratch};
use crate::worker::{Ended, ProgramOutput, Run, Worker};
use crate::workspace::{Quota, WorkspaceRoom};
use crate::zygote::ZygoteCommand;

/// What engines are made of.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// What the zygotes are started from: this program itself, if it begins with
    /// [`run_if_zygote`](crate::run_if_zygote), or an installed `onecall`. Run with
    /// `python-zygote`, `cpython-zygote`, `typescript-zygote` or `cpython-probe` and one more
    /// argument, it must run that process's body on the argument.
    pub executable: PathBuf,
    /// What has to hold of the sandbox before a program runs.
    pub sandbox: Requirement,
    /// What runs a program that does not ask for anything else.
    pub choice: EngineChoice,
    /// The system's Python, if not `python3` on `PATH`.
    pub python: Option<PathBuf>,
    /// The one directory that programs may use.
    pub workspace: Option<Workspace>,
    /// A directory that Python programs may look into, as `/tools`.
    pub tools: Option<PathBuf>,
    /// Folders that the system's Python loads modules from and that programs must not read
    /// nevertheless, each with the reason.
    pub withheld: Vec<(PathBuf, String)>,
    /// What all programs together may use.
    pub totals: TotalLimits,
}

impl EngineSettings {
    /// The embedded interpreter or the system's, whichever a program needs, behind every
    /// wall, without any file.
    #[must_use]
    pub fn new(executable: PathBuf) -> Self {
        let (sandbox, choice) = (Requirement::default(), EngineChoice::Auto);
        let (python, workspace, tools, withheld) = (None, None, None, Vec::new());
        let totals = TotalLimits::default();
        Self { executable, sandbox, choice, python, workspace, tools, withheld, totals }
    }

    /// How the cells of Python programs are to be built.
    fn plan(&self) -> Plan {
        Plan::new(&self.sandbox, self.workspace.as_ref(), self.tools.as_deref())
    }
}

/// A worker that keeps the variables of its programs. It is killed when this is dropped.
#[derive(Debug, Default)]
pub struct Session {
    worker: Option<IdleHandle>,
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
        self.worker.as_ref().is_some_and(IdleHandle::is_alive)
    }

    /// Whether it had variables and was ended because another program needed its memory.
    #[must_use]
    pub fn was_ended(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| !worker.is_alive())
    }

    /// Takes the worker for a program; a session that was ended says so once.
    fn take(&mut self) -> Result<Option<KeptWorker>, Failure> {
        let Some(idle) = self.worker.take() else { return Ok(None) };
        idle.take().map(Some).ok_or_else(|| {
            let message = "the session has ended: another program needed its memory. Its variables \
                 are gone and nothing was executed; run it again to begin a new session";
            Failure::refused("SessionEnded", message)
        })
    }
}

/// The system's Python.
#[derive(Debug)]
struct CPython {
    plan: Plan,
    engine: Arc<Engine>,
}

/// Every engine, each started when first needed.
#[derive(Debug)]
pub struct Engines {
    settings: EngineSettings,
    admission: Arc<Admission>,
    python: Arc<Engine>,
    cpython: OnceCell<CPython>,
    typescript: Arc<Engine>,
}

impl Engines {
    /// Engines that nothing has been asked of yet.
    #[must_use]
    pub fn new(settings: EngineSettings) -> Self {
        let plan = settings.plan();
        let opened = plan.provision(Provision::Opened);
        let python = Arc::new(engine("python-zygote", &plan, plan.files(), opened, &settings));
        // There is no workspace for these programs, so none of its quota concerns them.
        let apart = EngineSettings { workspace: None, ..settings.clone() };
        let alone = Plan::new(&settings.sandbox, None, None);
        let never = Provision::Never;
        let typescript = Arc::new(engine("typescript-zygote", &alone, None, never, &apart));
        let admission = Admission::new(settings.totals);
        Self { settings, admission, python, cpython: OnceCell::new(), typescript }
    }

    /// Sets what all programs together may use, for those that begin from now on.
    pub fn set_totals(&self, totals: TotalLimits) {
        self.admission.set_totals(totals);
    }

    /// How many programs run and wait, and how much memory they have reserved.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// What programs may do with files.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.settings.workspace.as_ref().map(|workspace| workspace.access)
    }

    /// The room in the folder that programs may write to, if they have one. It is kept for
    /// the caller until it is dropped.
    pub async fn workspace_room(&self) -> Option<WorkspaceRoom> {
        Some(self.python.quota.as_ref()?.room().await)
    }

    /// How many workers each engine has had so far.
    #[must_use]
    pub fn workers_started(&self) -> [(EngineChoice, u64); 3] {
        let cpython = self.cpython.get().map_or(0, |cpython| cpython.engine.forked());
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
            EngineChoice::CPython => self.cpython().await?.engine.warm_up().await,
            EngineChoice::TypeScript => self.typescript.warm_up().await,
        }
    }

    /// What a worker of an engine finds when it tests its walls.
    pub async fn examine(&self, choice: EngineChoice) -> Result<Examination, EngineError> {
        match choice {
            EngineChoice::Auto | EngineChoice::Python => self.python.examine().await,
            EngineChoice::CPython => self.cpython().await?.engine.examine().await,
            EngineChoice::TypeScript => self.typescript.examine().await,
        }
    }

    /// Runs one program to its end, and tells the value of its last expression as JSON
    /// where that is wanted. Dropping the future kills it.
    pub async fn run(
        &self,
        program: &Program,
        limits: &Limits,
        host: &dyn ProgramHost,
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
        host: &dyn ProgramHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Option<String>, Failure> {
        let wanted = program.engine.unwrap_or(self.settings.choice);
        let mut kept = session.take()?;
        let choice = match (&kept, session.engine) {
            (Some(_), engine) if wanted == engine || wanted == EngineChoice::Auto => engine,
            (Some(_), engine) => {
                session.worker = kept.map(|kept| self.admission.keep(kept));
                return Err(other_engine(engine));
            }
            (None, _) => wanted,
        };
        let needed = kept.is_none().then_some(limits.memory_bytes);
        let waits = |before| output.waits(before);
        let mut place = match self.admission.enter(needed, limits.timeout, waits).await {
            Ok(place) => place,
            Err(failure) => {
                session.worker = kept.map(|kept| self.admission.keep(kept));
                return Err(failure);
            }
        };
        output.has_room().await;
        let (mut worker, memory) = kept.take().map(|it| (it.worker, it.memory)).unzip();
        let run = Run { program, limits, host, place: &place };
        let (engine, result) = self.run_on(choice, &mut worker, run, output).await;
        session.engine = engine;
        let memory = memory.or_else(|| place.memory.take());
        session.worker = worker
            .zip(memory)
            .map(|(worker, memory)| self.admission.keep(KeptWorker { worker, memory }));
        result
    }

    /// Waits for a place among the programs that run at once and for the memory that `limits` grant,
    /// then does `work` in the place of a program, for as long as a program may run. Dropping the
    /// future ends it.
    pub async fn run_without_program(
        &self,
        limits: &Limits,
        output: &mut dyn ProgramOutput,
        work: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let waits = |before| output.waits(before);
        let memory = Some(limits.memory_bytes);
        let _place = self.admission.enter(memory, limits.timeout, waits).await?;
        output.has_room().await;
        let timed_out = |_| Err(Failure::TimedOut { limit: limits.timeout });
        tokio::time::timeout(limits.timeout, work).await.unwrap_or_else(timed_out)
    }

    /// Runs a program that may begin, and says on which engine.
    async fn run_on(
        &self,
        choice: EngineChoice,
        kept: &mut Option<Worker>,
        run: Run<'_>,
        output: &mut dyn ProgramOutput,
    ) -> (EngineChoice, Result<Option<String>, Failure>) {
        let engine = match choice {
            EngineChoice::Auto => return self.run_where_it_can(kept, run, output).await,
            EngineChoice::Python => Ok(Arc::clone(&self.python)),
            EngineChoice::TypeScript => Ok(Arc::clone(&self.typescript)),
            EngineChoice::CPython => match self.cpython().await {
                Ok(cpython) => Ok(self.cpython_for(cpython, kept.as_ref(), run)),
                Err(error) => Err(error),
            },
        };
        let mut result = match engine {
            Ok(engine) => engine.run_in(kept, run, Condition::None, output).await,
            Err(error) => Err(error.failure()),
        };
        if choice == EngineChoice::Python {
            result = result.map_err(|failure| absent::explain(failure, Alternative::Unknown));
        }
        (choice, result.map(Ended::value))
    }

    /// The embedded interpreter runs a program unless it lacks a module that the
    /// system's has. Each looks at the imports before it runs anything.
    async fn run_where_it_can(
        &self,
        kept: &mut Option<Worker>,
        run: Run<'_>,
        output: &mut dyn ProgramOutput,
    ) -> (EngineChoice, Result<Option<String>, Failure>) {
        let all = Condition::AllModules;
        let modules = match self.python.run_in(kept, run, all, output).await {
            Ok(Ended::Lacks(modules)) => modules,
            ended => {
                let ended = ended.map_err(|it| absent::explain(it, Alternative::Unknown));
                return (EngineChoice::Python, ended.map(Ended::value));
            }
        };
        let unavailable = match self.cpython().await {
            Ok(cpython) => {
                let any = Condition::OneOf(&modules);
                let engine = self.cpython_for(cpython, kept.as_ref(), run);
                match engine.run_in(kept, run, any, output).await {
                    Ok(Ended::Lacks(_)) => None,
                    Err(Failure::EngineUnavailable { reason }) => Some(reason),
                    ended => return (EngineChoice::CPython, ended.map(Ended::value)),
                }
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = &unavailable {
            tracing::warn!("the system's Python is not used: {reason}");
        }
        let alternative = match &unavailable {
            Some(reason) => Alternative::Unavailable(reason),
            None => Alternative::Lacks(&modules),
        };
        let ended = self.python.run_in(kept, run, Condition::None, output).await;
        let ended = ended.map_err(|failure| absent::explain(failure, alternative));
        (EngineChoice::Python, ended.map(Ended::value))
    }

    /// The engine for a program of the system's Python: one of its own, if it needs a scratch
    /// folder and no worker was kept for it.
    fn cpython_for(&self, cpython: &CPython, kept: Option<&Worker>, run: Run<'_>) -> Arc<Engine> {
        let CPython { plan, engine: shared } = cpython;
        let has_other = shared.provision != Provision::Elsewhere || kept.is_some();
        if has_other || !scratch::is_named(&run.program.code) {
            return Arc::clone(shared);
        }
        let mut plan = plan.clone();
        plan.scratch_bytes = Some(Scratch::of(run.limits.memory_bytes).bytes);
        let provision = plan.provision(Provision::Elsewhere);
        let own = engine("cpython-zygote", &plan, None, provision, &self.settings);
        Arc::new(own.for_one_program(shared))
    }

    async fn cpython(&self) -> Result<&CPython, EngineError> {
        let start = || async {
            let interpreter = cpython::find(&self.settings).await?;
            let mut plan = self.settings.plan();
            plan.interpreter = Some(interpreter);
            let provision = plan.provision(Provision::Elsewhere);
            let engine = engine("cpython-zygote", &plan, None, provision, &self.settings);
            Ok(CPython { plan, engine: Arc::new(engine) })
        };
        self.cpython.get_or_try_init(start).await
    }
}

fn engine(
    body: &str,
    plan: &Plan,
    files: Option<Files>,
    provision: Provision,
    settings: &EngineSettings,
) -> Engine {
    // A path that is not Unicode fails in the zygote, which says so.
    let plan = serde_json::to_string(plan).unwrap_or_default();
    let program = settings.executable.clone();
    let command = ZygoteCommand { program, args: vec![body.to_owned(), plan] };
    let quota = settings.workspace.as_ref().and_then(Quota::of);
    Engine::new(command, settings.sandbox.clone(), quota, files, provision)
}

fn other_engine(engine: EngineChoice) -> Failure {
    let name = EngineChoice::NAMES.iter().find(|(_, choice)| *choice == engine);
    let name = name.map_or("another engine", |(name, _)| name);
    let message = format!("this session runs on {name}; reset it to use another engine");
    Failure::refused("ValueError", message)
}
