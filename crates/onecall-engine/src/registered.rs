//! One engine of the registry, started when it is first needed.

use std::sync::Arc;

use onecall_core::{Failure, RunEngine};
use tokio::sync::OnceCell;

use crate::engines::EngineSettings;
use crate::pool::{EngineError, WorkerPool};
use crate::protocol::Condition;
use crate::registry::EngineSpec;
use crate::sandbox_plan::{Interpreter, SandboxPlan};
use crate::sandbox_report::SandboxReport;
use crate::scratch::{self, ScratchFolder, ScratchProvision};
use crate::worker::{ProgramEnd, ProgramOutput, ProgramRun, Worker};
use crate::workspace::Quota;
use crate::zygote::ZygoteCommand;

/// An engine that programs can run on.
#[derive(Debug)]
pub struct RegisteredEngine {
    /// The engine's entry in the registry.
    pub spec: &'static EngineSpec,
    settings: Arc<EngineSettings>,
    /// The quota of the workspace, if programs can write to it.
    quota: Option<Quota>,
    /// Set from the start, unless the interpreter has to be found first.
    pool: OnceCell<PlannedPool>,
}

/// The workers of an engine, and the plan of their sandbox.
#[derive(Debug)]
struct PlannedPool {
    plan: SandboxPlan,
    workers: Arc<WorkerPool>,
}

impl RegisteredEngine {
    /// Creates an engine without starting it. `quota` is that of the workspace.
    pub(crate) fn new(
        spec: &'static EngineSpec,
        settings: &Arc<EngineSettings>,
        quota: Option<&Quota>,
    ) -> Self {
        let quota = quota.cloned();
        let mut engine =
            Self { spec, settings: Arc::clone(settings), quota, pool: OnceCell::new() };
        if spec.is_built_in() {
            engine.pool = OnceCell::new_with(Some(engine.pool_of(None)));
        }
        engine
    }

    /// Tests the sandbox in a worker, and returns its report.
    pub async fn test_sandbox(&self) -> Result<SandboxReport, EngineError> {
        self.pool().await?.workers.test_sandbox().await
    }

    /// Starts the engine and tests its sandbox.
    pub(crate) async fn warm_up(&self) -> Result<(), EngineError> {
        self.pool().await?.workers.warm_up().await
    }

    /// Returns when the engine has prepared itself as far as it can. It must have been started.
    pub(crate) async fn prepared(&self) {
        if let Some(pool) = self.pool.get() {
            pool.workers.prepared().await;
        }
    }

    /// How many workers it has started.
    pub(crate) fn workers_started(&self) -> u64 {
        self.pool.get().map_or(0, |pool| pool.workers.forked())
    }

    /// Runs one program to its end, if its `condition` is met, in the worker that was kept for it
    /// or in a new one.
    pub(crate) async fn run(
        &self,
        kept: &mut Option<Worker>,
        run: ProgramRun<'_>,
        condition: Condition<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<ProgramEnd, Failure> {
        let workers = self.workers_for(kept.as_ref(), run).await.map_err(|it| it.failure())?;
        if let Some(journal) = &run.control.journal {
            let version = self.interpreter().and_then(|it| it.version.clone());
            journal.sink.runs_on(RunEngine { name: self.spec.name, version });
        }
        workers.run_in(kept, run, condition, output).await
    }

    /// The workers for a program: the shared pool, or a separate one with a scratch folder in its
    /// root if the program needs that and no worker was kept for it.
    async fn workers_for(
        &self,
        kept: Option<&Worker>,
        run: ProgramRun<'_>,
    ) -> Result<Arc<WorkerPool>, EngineError> {
        let PlannedPool { plan, workers: shared } = self.pool().await?;
        let needs_no_folder =
            shared.provision != ScratchProvision::SeparateZygote || kept.is_some();
        if needs_no_folder || !scratch::is_mentioned(&run.program.code) {
            return Ok(Arc::clone(shared));
        }
        let mut plan = plan.clone();
        plan.scratch_bytes = Some(ScratchFolder::of(run.limits.memory_bytes).bytes);
        Ok(Arc::new(self.new_workers(&plan).for_one_program(shared)))
    }

    /// The interpreter that was found, if it is not part of this binary.
    fn interpreter(&self) -> Option<&Interpreter> {
        self.pool.get()?.plan.interpreter.as_ref()
    }

    async fn pool(&self) -> Result<&PlannedPool, EngineError> {
        let find = || async {
            let interpreter = match self.spec.find_interpreter {
                Some(find) => Some(find(&self.settings).await?),
                None => None,
            };
            Ok(self.pool_of(interpreter))
        };
        self.pool.get_or_try_init(find).await
    }

    fn pool_of(&self, interpreter: Option<Interpreter>) -> PlannedPool {
        let EngineSettings { sandbox, workspace, tools, .. } = &*self.settings;
        let mut plan = SandboxPlan::new(sandbox, workspace.as_ref(), tools.as_deref());
        plan.interpreter = interpreter;
        let workers = Arc::new(self.new_workers(&plan));
        PlannedPool { plan, workers }
    }

    /// Creates a pool whose workers have the sandbox of `plan`. The gateway opens files for
    /// built-in interpreters; others open files themselves.
    fn new_workers(&self, plan: &SandboxPlan) -> WorkerPool {
        let (files, provision) = match &plan.interpreter {
            None => (plan.files(), plan.scratch_provision(ScratchProvision::ByGateway)),
            Some(_) => (None, plan.scratch_provision(ScratchProvision::SeparateZygote)),
        };
        // If a path is not Unicode, the zygote fails with an error message.
        let argument = serde_json::to_string(plan).unwrap_or_default();
        let program = self.settings.executable.clone();
        let command = ZygoteCommand { program, args: vec![self.spec.zygote.to_owned(), argument] };
        let sandbox = self.settings.sandbox.clone();
        WorkerPool::new(command, sandbox, self.quota.clone(), files, provision)
    }
}
