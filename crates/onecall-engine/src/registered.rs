//! One engine of the registry, started when it is first needed.

use std::sync::Arc;

use onecall_core::Failure;
use tokio::sync::OnceCell;

use crate::cell::{Interpreter, Plan};
use crate::engines::EngineSettings;
use crate::examination::Examination;
use crate::pool::{Engine, EngineError};
use crate::protocol::Condition;
use crate::registry::EngineSpec;
use crate::scratch::{self, Provision, Scratch};
use crate::worker::{Ended, ProgramOutput, Run, Worker};
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
    pool: OnceCell<Pool>,
}

/// The workers of an engine, and the plan of their sandbox.
#[derive(Debug)]
struct Pool {
    plan: Plan,
    engine: Arc<Engine>,
}

impl RegisteredEngine {
    /// Creates an engine without starting it. `quota` is that of the workspace.
    pub(crate) fn new(
        spec: &'static EngineSpec,
        settings: &Arc<EngineSettings>,
        quota: Option<&Quota>,
    ) -> Self {
        let quota = quota.filter(|_| spec.offers.files).cloned();
        let mut engine =
            Self { spec, settings: Arc::clone(settings), quota, pool: OnceCell::new() };
        if spec.is_built_in() {
            engine.pool = OnceCell::new_with(Some(engine.pool_of(None)));
        }
        engine
    }

    /// Tests the sandbox in a worker, and returns its report.
    pub async fn examine(&self) -> Result<Examination, EngineError> {
        self.pool().await?.engine.examine().await
    }

    /// Starts the engine and tests its sandbox.
    pub(crate) async fn warm_up(&self) -> Result<(), EngineError> {
        self.pool().await?.engine.warm_up().await
    }

    /// How many workers it has started.
    pub(crate) fn workers_started(&self) -> u64 {
        self.pool.get().map_or(0, |pool| pool.engine.forked())
    }

    /// Runs one program to its end, if its `condition` is met, in the worker that was kept for it
    /// or in a new one.
    pub(crate) async fn run(
        &self,
        kept: &mut Option<Worker>,
        run: Run<'_>,
        condition: Condition<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<Ended, Failure> {
        let workers = self.workers_for(kept.as_ref(), run).await.map_err(|it| it.failure())?;
        workers.run_in(kept, run, condition, output).await
    }

    /// The workers for a program: the shared pool, or a separate one with a scratch folder in its
    /// root if the program needs that and no worker was kept for it.
    async fn workers_for(
        &self,
        kept: Option<&Worker>,
        run: Run<'_>,
    ) -> Result<Arc<Engine>, EngineError> {
        let Pool { plan, engine: shared } = self.pool().await?;
        let has_other = shared.provision != Provision::Elsewhere || kept.is_some();
        if has_other || !scratch::is_named(&run.program.code) {
            return Ok(Arc::clone(shared));
        }
        let mut plan = plan.clone();
        plan.scratch_bytes = Some(Scratch::of(run.limits.memory_bytes).bytes);
        Ok(Arc::new(self.engine(&plan).for_one_program(shared)))
    }

    async fn pool(&self) -> Result<&Pool, EngineError> {
        let find = || async {
            let interpreter = match self.spec.find {
                Some(find) => Some(find(&self.settings).await?),
                None => None,
            };
            Ok(self.pool_of(interpreter))
        };
        self.pool.get_or_try_init(find).await
    }

    fn pool_of(&self, interpreter: Option<Interpreter>) -> Pool {
        let EngineSettings { sandbox, workspace, tools, .. } = &*self.settings;
        let mut plan = match self.spec.offers.files {
            true => Plan::new(sandbox, workspace.as_ref(), tools.as_deref()),
            false => Plan::new(sandbox, None, None),
        };
        plan.interpreter = interpreter;
        let engine = Arc::new(self.engine(&plan));
        Pool { plan, engine }
    }

    /// Creates an engine whose workers have the sandbox of `plan`. The gateway opens files for
    /// built-in interpreters; others open files themselves.
    fn engine(&self, plan: &Plan) -> Engine {
        let (files, provision) = match (self.spec.offers.files, &plan.interpreter) {
            (false, _) => (None, Provision::Never),
            (true, None) => (plan.files(), plan.provision(Provision::Opened)),
            (true, Some(_)) => (None, plan.provision(Provision::Elsewhere)),
        };
        // If a path is not Unicode, the zygote fails with an error message.
        let argument = serde_json::to_string(plan).unwrap_or_default();
        let program = self.settings.executable.clone();
        let command = ZygoteCommand { program, args: vec![self.spec.zygote.to_owned(), argument] };
        let sandbox = self.settings.sandbox.clone();
        Engine::new(command, sandbox, self.spec.offers, self.quota.clone(), files, provision)
    }
}
