//! The whole gateway behind whatever face it has: bridged servers, policy, and
//! programs that use them.

use std::path::PathBuf;
use std::sync::Arc;

use onecall_bridge::{Bridge, Guard, ServerStatus};
use onecall_config::{Config, OptionalTool, ProxyPolicy, ToolPolicy};
use onecall_core::{CallableName, Limits, Outcome, Program, ToolSpec, WorkspaceAccess};
use onecall_engine::Engines;
use thiserror::Error;

use crate::directory::{Bridged, Directory};
use crate::file::save;
use crate::layers::Policy;
use crate::visit::Visiting;
use crate::{Observer, Plan, PlanAnswer, PlanProblems, PlanRequest, Preview, Runtime};

/// A running gateway.
pub struct Gateway {
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) directory: Arc<Bridged>,
    pub(crate) policy: ToolPolicy,
    pub(crate) proxy: ProxyPolicy,
    pub(crate) guard: Guard,
    exposed: Vec<OptionalTool>,
    runtime: Runtime,
}

/// No tool that programs may call has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("[Tool not found] '{name}' is not available in execute_program{}", did_you_mean(.nearest))]
pub struct ToolNotFound {
    /// What was asked for.
    pub name: String,
    /// What may have been meant.
    pub nearest: Vec<CallableName>,
}

fn did_you_mean(nearest: &[CallableName]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<_> = nearest.iter().map(|name| format!("'{name}'")).collect();
    format!("\nDid you mean: {}?", names.join(", "))
}

impl Gateway {
    /// Starts connecting to every server and returns at once. Must be called
    /// inside a tokio runtime.
    pub fn start(config: Config, engines: Engines, guard: Guard) -> Arc<Self> {
        let bridge = Bridge::start_with(config.servers, config.local_tools, guard.clone());
        let host = Policy::new(bridge.clone(), config.tools.clone());
        let directory = Arc::new(Bridged::new(bridge.clone(), config.tools.clone()));
        let runtime = Runtime::new(engines, Arc::new(host), config.execution)
            .with_directory(directory.clone())
            .with_sessions(config.sessions);
        Arc::new(Self {
            bridge,
            directory,
            policy: config.tools,
            proxy: config.proxy,
            guard,
            exposed: config.expose,
            runtime,
        })
    }

    /// Starts the engine and tests its walls, so that the first program need not wait
    /// for it. Where that fails, programs will be told the same.
    pub async fn warm_up(&self) {
        if let Err(error) = self.runtime.engines().warm_up().await {
            tracing::error!("no program can run: {error}");
        }
    }

    /// What programs may do with files.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.runtime.engines().workspace()
    }

    /// Tools of ours that agents are shown beside the usual ones.
    #[must_use]
    pub fn exposed(&self) -> &[OptionalTool] {
        &self.exposed
    }

    /// Runs one program to its end; dropping the future kills it.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        self.runtime.run(program, observer).await
    }

    /// Tells what a program can call, and runs nothing of it.
    pub async fn preview(&self, program: &Program) -> Preview {
        self.runtime.preview(program).await
    }

    /// What one program may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.runtime.limits()
    }

    /// Keeps the text of a program under a name of its own, if programs have a folder that
    /// they may write to. An error says why it could not be kept.
    pub fn save(&self, program: &Program, name: &str) -> Result<Option<PathBuf>, String> {
        match self.runtime.engines().writable_folder() {
            Some(folder) => save(folder, name, &program.code).map(Some),
            None => Ok(None),
        }
    }

    /// Looks up and checks everything in a plan; nothing of it is run.
    pub async fn check_plan(&self, request: PlanRequest) -> Result<Plan, PlanProblems> {
        let visit = self.visit(request).await;
        visit.leave().await;
        visit.plan
    }

    /// Runs a plan to its end; dropping the future kills it. An error is the whole
    /// text of the answer.
    pub async fn run_plan(
        &self,
        request: PlanRequest,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, String> {
        let visit = self.visit(request).await;
        let answer = match &visit.plan {
            Ok(plan) => {
                let host = Visiting { at_home: self.runtime.host(), visit: &visit };
                self.runtime.run_plan(plan, &host, observer).await
            }
            Err(problems) => Err(format!("[Script execution failed]\n{problems}")),
        };
        visit.leave().await;
        answer
    }

    /// The tools programs may call, by name. Waits for servers that are still
    /// connecting.
    pub async fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.directory.tools().await
    }

    /// The tools that match `query` best, best first.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<Arc<ToolSpec>> {
        self.directory.search(query, limit).await
    }

    /// One tool by its callable name.
    pub async fn inspect(&self, name: &str) -> Result<Arc<ToolSpec>, ToolNotFound> {
        let catalog = self.bridge.catalog_for(name).await;
        match catalog.get(name) {
            Some(spec) if self.directory.permits(spec) => Ok(Arc::clone(spec)),
            _ => {
                let nearest = self.directory.nearest(&catalog, name);
                Err(ToolNotFound { name: name.to_owned(), nearest })
            }
        }
    }

    /// How each server is doing. Waits for those that are still connecting.
    pub async fn servers(&self) -> Vec<ServerStatus> {
        self.bridge.catalog().await;
        self.bridge.status()
    }

    /// Which local tools cannot work as things are, and why: a line each.
    #[must_use]
    pub fn local_problems(&self) -> Vec<String> {
        self.bridge.local_problems()
    }

    /// Stops every server.
    pub async fn shutdown(&self) {
        self.bridge.shutdown().await;
    }
}
