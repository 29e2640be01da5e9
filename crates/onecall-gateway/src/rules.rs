//! The parts of a configuration that concern programs. A program keeps the rules it began with; a
//! new configuration applies to later programs.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProxyPolicy};
use onecall_core::CallHandler;
use onecall_core::storage::Users;
use onecall_engine::Engines;
use onecall_runtime::{
    AuditWriter, Cache, CallRates, LearnedTypes, Metrics, PermittedTools, Recorder, Runtime,
    Sessions, ToolPermission, UserAccess, stack,
};

use crate::ListingStore;
use crate::bridged_resources::BridgedResources;
use crate::bridged_tools::BridgedTools;
use crate::drain::Drain;
use crate::durable::{Desk, DurableRuns};
use crate::fleet::Fleet;
use crate::identities::Identities;
use crate::policies::PoliciesInForce;
use crate::readiness::Readiness;
use crate::user_bridges::UserBridges;

/// What all programs share, whatever the configuration is.
pub(crate) struct SharedServices {
    pub(crate) engines: Arc<Engines>,
    pub(crate) sessions: Arc<Sessions>,
    /// Cached answers of tools, if the cache is enabled.
    pub(crate) cache: Option<Arc<Cache>>,
    /// The identities of servers, by which cached answers are kept apart.
    pub(crate) identities: Arc<Identities>,
    /// Records runs, if recording is enabled.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Writes the audit trail, if there is one.
    pub(crate) audit: Option<Arc<AuditWriter>>,
    /// How many calls each user may make in a minute, if that is limited.
    pub(crate) call_rates: Option<Arc<CallRates>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Learned result types, if learning is enabled.
    pub(crate) learned: Option<Arc<LearnedTypes>>,
    /// The listings of servers in the store, if there is a store.
    pub(crate) listings: Option<Arc<ListingStore>>,
    /// The policies that decide about calls, if there are any.
    pub(crate) policies: Option<Arc<PoliciesInForce>>,
    /// The servers that run with credentials of users, if there are users.
    pub(crate) user_bridges: Option<UserBridges>,
    /// Durable runs, if runs can wait for a person or are all journalled.
    pub(crate) durable: Option<Arc<DurableRuns>>,
    /// The store of users, if there is one.
    pub(crate) users: Option<Arc<dyn Users>>,
    /// The other gateways, if this one is one of several.
    pub(crate) fleet: Option<Arc<Fleet>>,
    pub(crate) drain: Drain,
    pub(crate) readiness: Readiness,
}

/// The rules of one configuration for one user.
pub(crate) struct ProgramRules {
    pub(crate) runtime: Runtime,
    /// Resolves the names of tools that clients may call directly.
    pub(crate) exposed_resolver: PermittedTools,
    /// Resolves the functions for resources and prompts that clients have.
    pub(crate) function_resolver: PermittedTools,
    /// The layers below the cache for what clients use directly.
    pub(crate) exposed_layers: Arc<dyn CallHandler>,
    pub(crate) directory: Arc<BridgedTools>,
    /// Which tools the user of these rules may call.
    pub(crate) permission: ToolPermission,
    pub(crate) proxy: ProxyPolicy,
}

impl ProgramRules {
    /// The rules of a configuration for one user: the tools of `bridge`, as far as `access` permits them.
    pub(crate) fn new(
        config: &Config,
        shared: &SharedServices,
        bridge: &Arc<Bridge>,
        access: UserAccess,
    ) -> Self {
        let permission = ToolPermission { lists: config.tools.clone(), access };
        let exposed_resolver = PermittedTools::tools_only(bridge.clone(), permission.clone());
        let resolver = PermittedTools::for_programs(bridge.clone(), permission.clone());
        let function_resolver = PermittedTools::for_clients(bridge.clone(), permission.clone());
        let resources = Arc::new(BridgedResources(Arc::clone(bridge)));
        let exposed_layers =
            stack::exposed_layers(bridge.clone(), resources.clone(), permission.clone());
        let learned = shared.learned.clone();
        let layers = stack::program_layers(bridge.clone(), resources, permission.clone(), learned);
        let generate_config = config.generate.clone();
        let directory =
            BridgedTools::new(shared, Arc::clone(bridge), permission.clone(), generate_config);
        let directory = Arc::new(directory);
        let (engines, limits) = (Arc::clone(&shared.engines), config.execution.clone());
        let mut runtime = Runtime::layered(engines, Arc::new(resolver), layers, limits)
            .with_directory(directory.clone())
            .with_sessions(Arc::clone(&shared.sessions))
            .with_cache(shared.cache.clone())
            .with_recorder(shared.recorder.clone())
            .with_audit(shared.audit.clone())
            .with_call_rates(shared.call_rates.clone())
            .with_metrics(Arc::clone(&shared.metrics))
            .with_access(permission.access.clone());
        if let Some(runs) = &shared.durable {
            let desk = Arc::new(Desk(Arc::clone(runs)));
            runtime = runtime.with_approvals(runs.settings.policy(), desk);
        }
        Self {
            runtime,
            exposed_resolver,
            function_resolver,
            exposed_layers,
            directory,
            permission,
            proxy: config.proxy.clone(),
        }
    }
}
