//! The whole gateway behind whatever face it has: bridged servers, policy, and
//! programs that use them.

use std::sync::Arc;

use onecall_bridge::{Bridge, Guard, ServerState, ServerStatus};
use onecall_catalog::Catalog;
use onecall_config::{Config, ProxyPolicy, ToolPolicy};
use onecall_core::{
    BoxFuture, CallableName, Outcome, Program, Resolution, ToolCall, ToolError, ToolHost, ToolSpec,
    ToolValue, WorkspaceAccess,
};
use onecall_engine::Engines;
use thiserror::Error;

use crate::layers::Policy;
use crate::plan::{Lookup, PlanServers, Problem, check};
use crate::{Observer, Plan, PlanAnswer, PlanProblems, PlanRequest, Runtime};

/// How many similar names an unknown one is answered with.
const NEAREST: usize = 3;

/// A running gateway.
pub struct Gateway {
    bridge: Arc<Bridge>,
    policy: ToolPolicy,
    proxy: ProxyPolicy,
    guard: Guard,
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
        let bridge = Bridge::start(config.servers, guard.clone());
        let host = Policy::new(bridge.clone(), config.tools.clone());
        let runtime = Runtime::new(engines, Arc::new(host), config.execution);
        Arc::new(Self { bridge, policy: config.tools, proxy: config.proxy, guard, runtime })
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

    /// Runs one program to its end; dropping the future kills it.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        self.runtime.run(program, observer).await
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

    /// Connects to the servers that a plan brings along, and checks it.
    async fn visit(&self, mut request: PlanRequest) -> Visit {
        let statuses = self.bridge.status();
        let configured = |name: &str| statuses.iter().any(|status| status.name.as_str() == name);
        let servers = PlanServers::read(
            request.servers.as_ref(),
            &configured,
            &self.proxy,
            &mut request.problems,
        );
        let bridge = (!servers.dynamic.is_empty() && request.problems.is_empty())
            .then(|| Bridge::start(servers.dynamic.clone(), self.guard.clone()));
        let mut catalogs = vec![self.bridge.catalog().await];
        if let Some(bridge) = &bridge {
            catalogs.push(bridge.catalog().await);
            request.problems.extend(bridge.status().into_iter().filter_map(unreachable));
        }
        let plan = check(request, &|name| self.lookup(&catalogs, &servers, name));
        let host = bridge.as_ref().map(|bridge| {
            Arc::new(Policy::new(bridge.clone(), self.policy.clone())) as Arc<dyn ToolHost>
        });
        let brought = catalogs.get(1).cloned().unwrap_or_default();
        Visit { plan, bridge, host, brought }
    }

    /// What a name in a plan means: a callable name, or a tool's own where only one
    /// tool has it.
    fn lookup(&self, catalogs: &[Arc<Catalog>], servers: &PlanServers, name: &str) -> Lookup {
        let called: Vec<_> = catalogs.iter().filter_map(|catalog| catalog.get(name)).collect();
        let found = if called.is_empty() {
            let tools = catalogs.iter().flat_map(|catalog| catalog.tools());
            tools.filter(|spec| spec.tool.as_str() == name).collect()
        } else {
            called
        };
        let within: Vec<_> = found.iter().filter(|spec| servers.permits(&spec.server)).collect();
        let permitted: Vec<_> = within.iter().filter(|spec| self.permits(spec)).collect();
        match (permitted.as_slice(), within.is_empty(), found.is_empty()) {
            ([spec], ..) => Lookup::Tool(Arc::clone(spec)),
            ([], true, true) => {
                let mut nearest: Vec<CallableName> =
                    catalogs.iter().flat_map(|catalog| self.nearest(catalog, name)).collect();
                nearest.truncate(NEAREST);
                Lookup::Unknown { nearest }
            }
            ([], true, false) => {
                Lookup::Unavailable(format!("'{name}' is on no server of server_config"))
            }
            ([], false, _) => Lookup::Unavailable(format!("'{name}' is not available to programs")),
            (several, ..) => {
                Lookup::Ambiguous(several.iter().map(|spec| spec.callable.clone()).collect())
            }
        }
    }

    /// The tools programs may call, by name. Waits for servers that are still
    /// connecting.
    pub async fn tools(&self) -> Vec<Arc<ToolSpec>> {
        let catalog = self.bridge.catalog().await;
        catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
    }

    /// The tools that match `query` best, best first.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<Arc<ToolSpec>> {
        let catalog = self.bridge.catalog().await;
        let found = catalog.search(query, usize::MAX);
        found.into_iter().filter(|spec| self.permits(spec)).take(limit).cloned().collect()
    }

    /// One tool by its callable name.
    pub async fn inspect(&self, name: &str) -> Result<Arc<ToolSpec>, ToolNotFound> {
        let catalog = self.bridge.catalog().await;
        match catalog.get(name) {
            Some(spec) if self.permits(spec) => Ok(Arc::clone(spec)),
            _ => Err(ToolNotFound { name: name.to_owned(), nearest: self.nearest(&catalog, name) }),
        }
    }

    /// How each server is doing. Waits for those that are still connecting.
    pub async fn servers(&self) -> Vec<ServerStatus> {
        self.bridge.catalog().await;
        self.bridge.status()
    }

    /// Stops every server.
    pub async fn shutdown(&self) {
        self.bridge.shutdown().await;
    }

    fn permits(&self, spec: &ToolSpec) -> bool {
        self.policy.permits(spec.callable.as_str())
    }

    fn nearest(&self, catalog: &Catalog, name: &str) -> Vec<CallableName> {
        let mut nearest = catalog.nearest(name, NEAREST * 4);
        nearest.retain(|near| near.as_str() != name && self.policy.permits(near.as_str()));
        nearest.truncate(NEAREST);
        nearest
    }
}

/// A plan, and the servers that are here for its sake.
struct Visit {
    plan: Result<Plan, PlanProblems>,
    bridge: Option<Arc<Bridge>>,
    host: Option<Arc<dyn ToolHost>>,
    /// Their tools.
    brought: Arc<Catalog>,
}

impl Visit {
    async fn leave(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.shutdown().await;
        }
    }
}

/// Calls go to the servers that a plan brought along, or to the gateway's own.
struct Visiting<'a> {
    at_home: &'a dyn ToolHost,
    visit: &'a Visit,
}

impl Visiting<'_> {
    fn host(&self, name: &CallableName) -> &dyn ToolHost {
        match &self.visit.host {
            Some(host) if self.visit.brought.get(name.as_str()).is_some() => host.as_ref(),
            _ => self.at_home,
        }
    }
}

impl ToolHost for Visiting<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> BoxFuture<'a, Resolution> {
        self.host(name).resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        self.host(&call.name).call(call)
    }
}

fn unreachable(status: ServerStatus) -> Option<Problem> {
    let ServerState::Failed { reason } = status.state else { return None };
    Some(Problem::new(format!("server_config.{}", status.name), reason))
}
