//! A plan that has come to a gateway, with the servers it may have brought along.

use std::sync::Arc;

use onecall_bridge::{Bridge, ServerState, ServerStatus};
use onecall_catalog::Catalog;
use onecall_core::{BoxFuture, CallableName, Resolving, ToolCall, ToolError, ToolHost, ToolValue};

use crate::directory::{Bridged, NEAREST};
use crate::layers::{Fitting, Policy};
use crate::plan::{Lookup, PlanServers, Problem, check};
use crate::rules::Rules;
use crate::{Gateway, Plan, PlanProblems, PlanRequest};

impl Gateway {
    /// Connects to the servers that a plan brings along, and checks it.
    pub(crate) async fn visit(&self, mut request: PlanRequest, rules: &Rules) -> Visit {
        let statuses = self.bridge.status();
        let configured = |name: &str| statuses.iter().any(|status| status.name.as_str() == name);
        let servers = PlanServers::read(
            request.servers.as_ref(),
            &configured,
            &rules.proxy,
            &mut request.problems,
        );
        let start = || {
            let setting = self.bridge.setting().clone();
            Bridge::start_in(servers.dynamic.clone(), Vec::new(), self.guard.clone(), setting)
        };
        let bridge = (!servers.dynamic.is_empty() && request.problems.is_empty()).then(start);
        let mut catalogs = vec![self.bridge.catalog().await];
        if let Some(bridge) = &bridge {
            catalogs.push(bridge.catalog().await);
            request.problems.extend(bridge.status().into_iter().filter_map(unreachable));
        }
        let plan = check(request, &|name| lookup(&rules.directory, &catalogs, &servers, name));
        let host = bridge.as_ref().map(|bridge| {
            let fitting = Arc::new(Fitting::new(bridge.clone()));
            Arc::new(Policy::new(fitting, rules.policy.clone())) as Arc<dyn ToolHost>
        });
        let brought = catalogs.get(1).cloned().unwrap_or_default();
        Visit { plan, bridge, host, brought }
    }
}

/// What a name in a plan means: a callable name, or a tool's own where only one
/// tool has it.
fn lookup(
    directory: &Bridged,
    catalogs: &[Arc<Catalog>],
    servers: &PlanServers,
    name: &str,
) -> Lookup {
    let called: Vec<_> = catalogs.iter().filter_map(|catalog| catalog.get(name)).collect();
    let found = if called.is_empty() {
        let tools = catalogs.iter().flat_map(|catalog| catalog.tools());
        tools.filter(|spec| spec.tool.as_str() == name).collect()
    } else {
        called
    };
    let within: Vec<_> = found.iter().filter(|spec| servers.permits(&spec.server)).collect();
    let permitted: Vec<_> = within.iter().filter(|spec| directory.permits(spec)).collect();
    match (permitted.as_slice(), within.is_empty(), found.is_empty()) {
        ([spec], ..) => Lookup::Tool(Arc::clone(spec)),
        ([], true, true) => {
            if let Some(why) = directory.quarantine(name) {
                return Lookup::Unavailable(format!("'{name}' is quarantined: {why}"));
            }
            let mut nearest: Vec<CallableName> =
                catalogs.iter().flat_map(|catalog| directory.nearest(catalog, name)).collect();
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

/// A plan, and the servers that are here for its sake.
pub(crate) struct Visit {
    pub(crate) plan: Result<Plan, PlanProblems>,
    bridge: Option<Arc<Bridge>>,
    host: Option<Arc<dyn ToolHost>>,
    /// Their tools.
    brought: Arc<Catalog>,
}

impl Visit {
    /// Stops what came along.
    pub(crate) async fn leave(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.shutdown().await;
        }
    }
}

/// Calls go to the servers that a plan brought along, or to the gateway's own.
pub(crate) struct Visiting<'a> {
    pub(crate) at_home: &'a dyn ToolHost,
    pub(crate) visit: &'a Visit,
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
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.host(name).resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        self.host(&call.name).call(call)
    }
}

fn unreachable(status: ServerStatus) -> Option<Problem> {
    let ServerState::Failed { reason, .. } = status.state else { return None };
    Some(Problem::new(format!("server_config.{}", status.name), reason))
}
