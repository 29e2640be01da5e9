//! The engines of a gateway: chooses the engine for a program, and runs the program on it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::{
    EngineChoice, EngineName, Failure, Language, Program, ProgramHost, RunLimits, TotalLimits,
    Workspace, WorkspaceAccess,
};
use onecall_jail::Requirement;

use crate::admission::{Admission, IdleWorkerHandle, KeptWorker, Load};
use crate::candidates::Candidates;
use crate::control::{HeldCalls, RunControl};
use crate::pool::EngineError;
use crate::registered::RegisteredEngine;
use crate::registry::{ENGINES, EngineMismatch, check_choice};
use crate::worker::{ProgramOutput, ProgramRun};
use crate::workspace::{Quota, WorkspaceWriteLock};

/// The settings of all engines.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The executable that zygotes are started from: this program itself, if its `main` calls
    /// [`run_if_zygote`](crate::run_if_zygote), or an installed `onecall`.
    pub executable: PathBuf,
    /// The sandbox properties that are required before a program runs.
    pub sandbox: Requirement,
    /// The default engine, for programs that name none and whose language it runs.
    pub choice: EngineChoice,
    /// The system's Python, if it is not `python3` on `PATH`.
    pub python: Option<PathBuf>,
    /// The workspace folder that programs may use.
    pub workspace: Option<Workspace>,
    /// The folder that Python programs can read as `/tools`.
    pub tools: Option<PathBuf>,
    /// Folders from which the system's Python imports modules but which programs must not read,
    /// each with the reason.
    pub unreadable_module_folders: Vec<(PathBuf, String)>,
    /// The limits for all programs together.
    pub totals: TotalLimits,
}

impl EngineSettings {
    /// Default settings: the embedded interpreter, or the system's if a program needs it, with a
    /// complete sandbox and without files.
    #[must_use]
    pub fn new(executable: PathBuf) -> Self {
        let (sandbox, choice) = (Requirement::default(), EngineChoice::Auto);
        let (python, workspace, tools, unreadable_module_folders) = (None, None, None, Vec::new());
        let totals = TotalLimits::default();
        Self {
            executable,
            sandbox,
            choice,
            python,
            workspace,
            tools,
            unreadable_module_folders,
            totals,
        }
    }
}

/// A session: a worker that keeps the variables of its programs. It is killed when this is dropped.
#[derive(Debug, Default)]
pub struct Session {
    worker: Option<IdleWorkerHandle>,
    engine: EngineChoice,
}

impl Session {
    /// The engine of its last program; `Auto` if none was chosen yet.
    #[must_use]
    pub fn engine(&self) -> EngineChoice {
        self.engine
    }

    /// Whether the session has a worker with variables.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.worker.as_ref().is_some_and(IdleWorkerHandle::is_alive)
    }

    /// Whether the session's worker was ended because another program needed its memory.
    #[must_use]
    pub fn was_evicted(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| !worker.is_alive())
    }

    /// Takes the worker for a program. The error says that the worker was ended; it is returned
    /// once.
    fn take(&mut self) -> Result<Option<KeptWorker>, Failure> {
        let Some(idle) = self.worker.take() else { return Ok(None) };
        idle.take().map(Some).ok_or_else(|| {
            let message = "the session has ended: another program needed its memory. Its variables \
                 are gone and nothing was executed; run it again to begin a new session";
            Failure::refused("SessionEnded", message)
        })
    }
}

/// All engines of the registry; each is started when it is first needed.
#[derive(Debug)]
pub struct Engines {
    settings: Arc<EngineSettings>,
    admission: Arc<Admission>,
    /// The quota of the workspace, if programs can write to it.
    quota: Option<Quota>,
    /// The engines in the order of the registry.
    engines: Vec<RegisteredEngine>,
}

impl Engines {
    /// Creates the engines without starting any.
    #[must_use]
    pub fn new(settings: EngineSettings) -> Self {
        let settings = Arc::new(settings);
        let quota = settings.workspace.as_ref().and_then(Quota::of);
        let engine = |spec| RegisteredEngine::new(spec, &settings, quota.as_ref());
        let engines = ENGINES.iter().map(engine).collect();
        let admission = Admission::new(settings.totals);
        Self { settings, admission, quota, engines }
    }

    /// Every engine, in the order of the registry.
    #[must_use]
    pub fn all(&self) -> &[RegisteredEngine] {
        &self.engines
    }

    /// Replaces the limits for all programs together; running programs keep what they have.
    pub fn set_totals(&self, totals: TotalLimits) {
        self.admission.set_totals(totals);
    }

    /// Sets how many programs one user may run at once; further ones wait. `None` sets no limit.
    pub fn set_programs_per_user(&self, limit: Option<usize>) {
        self.admission.set_programs_per_user(limit);
    }

    /// How many programs of each user run. Users without programs are not in it.
    #[must_use]
    pub fn programs_by_user(&self) -> HashMap<Arc<str>, usize> {
        self.admission.programs_by_user()
    }

    /// Sets how many programs of each user other gateways run. They count for the limit of a user.
    pub fn set_programs_elsewhere(&self, programs: HashMap<Arc<str>, usize>) {
        self.admission.set_programs_elsewhere(programs);
    }

    /// How many programs run and wait, and how much memory they have reserved.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// What programs may do with files in the workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.settings.workspace.as_ref().map(|workspace| workspace.access)
    }

    /// The free room in the workspace, if programs can write to it. Other writes of the gateway
    /// wait until it is dropped.
    pub async fn lock_workspace(&self) -> Option<WorkspaceWriteLock> {
        Some(self.quota.as_ref()?.lock_for_writing().await)
    }

    /// How many workers each engine has started.
    #[must_use]
    pub fn workers_started(&self) -> Vec<(EngineName, u64)> {
        self.engines.iter().map(|it| (it.spec.name, it.workers_started())).collect()
    }

    /// Checks that an engine can run a program.
    ///
    /// # Errors
    /// If the requested engine does not run its language.
    pub fn check(&self, program: &Program) -> Result<(), EngineMismatch> {
        self.candidates(program.language, program.engine).map(drop)
    }

    /// Starts the default engine, and checks its sandbox.
    pub async fn warm_up(&self) -> Result<(), EngineError> {
        self.candidates(Language::default(), None)?.first.warm_up().await
    }

    /// Returns when the default engine, which [`warm_up`](Self::warm_up) has started, has prepared itself as far as it
    /// can.
    pub async fn prepared(&self) {
        if let Ok(candidates) = self.candidates(Language::default(), None) {
            candidates.first.prepared().await;
        }
    }

    /// Runs one program to its end. Returns the value of its last expression as JSON if that was
    /// requested. Dropping the future kills the program.
    pub async fn run(
        &self,
        program: &Program,
        limits: &RunLimits,
        host: &dyn ProgramHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Option<String>, Failure> {
        let control = RunControl::default();
        self.run_in(&mut Session::default(), program, limits, host, control, output).await
    }

    /// Runs one program in a session. If [`Session::is_alive`] is false afterwards, the session has
    /// ended.
    pub async fn run_in(
        &self,
        session: &mut Session,
        program: &Program,
        limits: &RunLimits,
        host: &dyn ProgramHost,
        control: RunControl<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<Option<String>, Failure> {
        let mut candidates = self.candidates(program.language, program.engine)?;
        let mut kept = session.take()?;
        if kept.is_some() {
            match candidates.named(session.engine) {
                Some(engine) => candidates = Candidates::only(engine),
                None => {
                    session.worker = kept.map(|kept| self.admission.keep(kept));
                    return Err(wrong_engine(session.engine));
                }
            }
        }
        let needed = kept.is_none().then_some(limits.memory_bytes);
        let on_queued = |before| output.queued(before);
        let queue_timeout = control.queue_timeout(limits);
        let admitted = self.admission.enter(control.user, needed, queue_timeout, on_queued);
        let mut permit = match admitted.await {
            Ok(permit) => permit,
            Err(failure) => {
                session.worker = kept.map(|kept| self.admission.keep(kept));
                return Err(failure);
            }
        };
        output.wait_for_room().await;
        let (mut worker, memory) = kept.take().map(|it| (it.worker, it.memory)).unzip();
        let run = ProgramRun { program, limits, host, permit: &permit, control };
        let (engine, result) = candidates.run(&mut worker, run, output).await;
        session.engine = EngineChoice::Only(engine);
        let memory = memory.or_else(|| permit.memory.take());
        session.worker = worker
            .zip(memory)
            .map(|(worker, memory)| self.admission.keep(KeptWorker { worker, memory }));
        result
    }

    /// Runs `work` under the limits of a program: it waits for admission and for the memory in
    /// `limits`, and has the time limit of a program, in which the time of calls that are held does
    /// not count. Dropping the future cancels it.
    pub async fn run_without_program(
        &self,
        control: RunControl<'_>,
        limits: &RunLimits,
        output: &mut dyn ProgramOutput,
        work: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let on_queued = |before| output.queued(before);
        let (memory, queue_timeout) = (Some(limits.memory_bytes), control.queue_timeout(limits));
        let _permit = self.admission.enter(control.user, memory, queue_timeout, on_queued).await?;
        output.wait_for_room().await;
        let timed_out = || Err(Failure::TimedOut { limit: limits.timeout });
        let none_held = HeldCalls::default();
        let held = control.held.unwrap_or(&none_held);
        held.within(limits.timeout, work).await.unwrap_or_else(timed_out)
    }

    /// The engines for a program in `language` that requests `engine`.
    fn candidates(
        &self,
        language: Language,
        engine: Option<EngineChoice>,
    ) -> Result<Candidates<'_>, EngineMismatch> {
        check_choice(language, engine)?;
        let choice = engine.unwrap_or(self.settings.choice);
        let engines = || self.engines.iter().filter(|it| it.spec.runs(language));
        if let Some(chosen) = engines().find(|it| EngineChoice::Only(it.spec.name) == choice) {
            return Ok(Candidates::only(chosen));
        }
        let mut engines = engines();
        let first = engines.next().ok_or(EngineMismatch::NoEngine { language })?;
        Ok(Candidates { first, other: engines.next() })
    }
}

fn wrong_engine(engine: EngineChoice) -> Failure {
    let name = engine.name();
    let message = format!("this session runs on {name}; reset it to use another engine");
    Failure::refused("ValueError", message)
}
