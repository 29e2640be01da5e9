//! Prepares plans: connects to the servers that a plan defines, and checks the plan.

mod servers;

use std::sync::Arc;

use onecall_bridge::{Bridge, ConnectionOptions, ServerState, ServerStatus};
use onecall_catalog::Catalog;
use onecall_core::{
    BoxFuture, CallHandler, CallResult, CallableName, ResolutionFuture, ResolvedCall, ToolResolver,
};
use onecall_runtime::{
    PermittedTools, Plan, PlanLookup, PlanProblem, PlanProblems, PlanRequest, check_plan, stack,
};

use self::servers::PlanServers;
use crate::Gateway;
use crate::bridged_tools::{BridgedTools, MAX_SUGGESTIONS};
use crate::rules::ProgramRules;

impl Gateway {
    /// Connects to the servers that a plan defines, and checks the plan.
    pub(crate) async fn prepare_plan(
        &self,
        mut request: PlanRequest,
        rules: &ProgramRules,
    ) -> PreparedPlan {
        let statuses = self.bridge.status();
        let configured = |name: &str| statuses.iter().any(|status| status.name.as_str() == name);
        let servers = PlanServers::read(
            request.servers.as_ref(),
            &configured,
            &rules.proxy,
            &mut request.problems,
        );
        let start = || {
            let confined_to = Some(Arc::new(rules.proxy.clone()));
            let options = ConnectionOptions { confined_to, ..self.bridge.options().clone() };
            Bridge::start_with(servers.dynamic.clone(), Vec::new(), self.guard.clone(), options)
        };
        let bridge = (!servers.dynamic.is_empty() && request.problems.is_empty()).then(start);
        let mut catalogs = vec![rules.directory.catalog_for_names(request.tool_names()).await];
        if let Some(bridge) = &bridge {
            catalogs.push(bridge.catalog().await);
            request.problems.extend(bridge.status().into_iter().filter_map(connection_problem));
        }
        let plan = check_plan(request, &|name| lookup(&rules.directory, &catalogs, &servers, name));
        let running_servers = bridge.map(|bridge| RunningPlanServers {
            resolver: PermittedTools::tools_only(bridge.clone(), rules.permission.clone()),
            layers: stack::plan_server_layers(bridge.clone()),
            catalog: catalogs.get(1).cloned().unwrap_or_default(),
            bridge,
        });
        PreparedPlan { plan, running_servers }
    }
}

/// Looks up a name in a plan: a callable name, or a tool's own name if only one tool has it.
fn lookup(
    directory: &BridgedTools,
    catalogs: &[Arc<Catalog>],
    servers: &PlanServers,
    name: &str,
) -> PlanLookup {
    let called: Vec<_> = catalogs.iter().filter_map(|catalog| catalog.get(name)).collect();
    let found = if called.is_empty() {
        catalogs.iter().flat_map(|catalog| catalog.find_by_name(name)).collect()
    } else {
        called
    };
    let within: Vec<_> = found.iter().filter(|spec| servers.permits(&spec.server)).collect();
    let permitted: Vec<_> = within.iter().filter(|spec| directory.permits(spec)).collect();
    match (permitted.as_slice(), within.is_empty(), found.is_empty()) {
        ([spec], ..) => PlanLookup::Tool(Arc::clone(spec)),
        ([], true, true) => {
            if let Some(why) = directory.quarantine(name) {
                return PlanLookup::Unavailable(format!("'{name}' is quarantined: {why}"));
            }
            let mut nearest: Vec<CallableName> =
                catalogs.iter().flat_map(|catalog| directory.nearest(catalog, name)).collect();
            nearest.truncate(MAX_SUGGESTIONS);
            PlanLookup::Unknown { nearest }
        }
        ([], true, false) => {
            PlanLookup::Unavailable(format!("'{name}' is on no server of server_config"))
        }
        ([], false, _) => PlanLookup::Unavailable(format!("'{name}' is not available to programs")),
        (several, ..) => {
            PlanLookup::Ambiguous(several.iter().map(|spec| spec.callable.clone()).collect())
        }
    }
}

/// A checked plan, and the servers that run only for it.
pub(crate) struct PreparedPlan {
    pub(crate) plan: Result<Plan, PlanProblems>,
    running_servers: Option<RunningPlanServers>,
}

/// The running servers that a plan has defined.
struct RunningPlanServers {
    bridge: Arc<Bridge>,
    resolver: PermittedTools,
    layers: Arc<dyn CallHandler>,
    catalog: Arc<Catalog>,
}

impl PreparedPlan {
    /// Stops the servers that run only for this plan.
    pub(crate) async fn stop_servers(&self) {
        if let Some(servers) = &self.running_servers {
            servers.bridge.shutdown().await;
        }
    }
}

/// The tools of a plan: those of the servers that it defines, and the gateway's own.
pub(crate) struct PlanTools<'a> {
    /// The layers for the gateway's own tools.
    pub(crate) gateway_layers: &'a dyn CallHandler,
    pub(crate) rules: &'a ProgramRules,
    pub(crate) prepared: &'a PreparedPlan,
}

impl PlanTools<'_> {
    /// The servers of the plan, if the tool of this name is one of theirs.
    fn servers(&self, name: &CallableName) -> Option<&RunningPlanServers> {
        let servers = self.prepared.running_servers.as_ref()?;
        servers.catalog.get(name.as_str()).is_some().then_some(servers)
    }
}

impl ToolResolver for PlanTools<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        match self.servers(name) {
            Some(servers) => servers.resolver.resolve(name),
            None => self.rules.runtime.resolver().resolve(name),
        }
    }

    /// Combines the revisions of both parts. It never equals the revision of one part, so a bridge
    /// looks the tool up again.
    fn revision(&self) -> u64 {
        let own = self.rules.runtime.resolver().revision();
        let servers = self.prepared.running_servers.as_ref();
        own << 32 | servers.map_or(0, |servers| servers.resolver.revision())
    }
}

impl CallHandler for PlanTools<'_> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match self.servers(&call.name) {
            Some(servers) => servers.layers.call(call),
            None => self.gateway_layers.call(call),
        }
    }
}

fn connection_problem(status: ServerStatus) -> Option<PlanProblem> {
    let ServerState::Failed { reason, .. } = status.state else { return None };
    Some(PlanProblem::new(format!("server_config.{}", status.name), reason))
}
