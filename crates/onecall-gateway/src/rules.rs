//! The parts of a configuration that concern programs. A program keeps the rules it began with; a
//! new configuration applies to later programs.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProxyPolicy};
use onecall_core::ToolPolicy;
use onecall_engine::Engines;
use onecall_runtime::{
    AuditWriter, Cache, CallRates, LearnedTypes, Metrics, PermittedTools, Recorder, Runtime,
    Sessions, stack,
};

use crate::ListingStore;
use crate::bridged_resources::BridgedResources;
use crate::bridged_tools::BridgedTools;
use crate::durable::{Desk, DurableRuns};
use crate::identities::Identities;

/// What all programs share, whatever the configuration is.
pub(crate) struct SharedServices {
    pub(crate) engines: Arc<Engines>,
    pub(crate) bridge: Arc<Bridge>,
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
    /// Durable runs, if runs can wait for a person or are all journalled.
    pub(crate) durable: Option<Arc<DurableRuns>>,
}

/// The rules of one configuration.
pub(crate) struct ProgramRules {
    pub(crate) runtime: Runtime,
    /// Resolves the names of tools that clients may call directly.
    pub(crate) exposed_resolver: PermittedTools,
    pub(crate) directory: Arc<BridgedTools>,
    pub(crate) policy: ToolPolicy,
    pub(crate) proxy: ProxyPolicy,
}

impl ProgramRules {
    pub(crate) fn new(config: &Config, shared: &SharedServices) -> Self {
        let SharedServices { bridge, learned, .. } = shared;
        let policy = config.tools.clone();
        let exposed_resolver = PermittedTools::tools_only(bridge.clone(), policy.clone());
        let resolver = PermittedTools::for_programs(bridge.clone(), policy.clone());
        let resources = Arc::new(BridgedResources(Arc::clone(bridge)));
        let layers =
            stack::program_layers(bridge.clone(), resources, policy.clone(), learned.clone());
        let generate_config = config.generate.clone();
        let directory = BridgedTools::new(shared, policy.clone(), generate_config);
        let directory = Arc::new(directory);
        let (engines, limits) = (Arc::clone(&shared.engines), config.execution.clone());
        let mut runtime = Runtime::layered(engines, Arc::new(resolver), layers, limits)
            .with_directory(directory.clone())
            .with_sessions(Arc::clone(&shared.sessions))
            .with_cache(shared.cache.clone())
            .with_recorder(shared.recorder.clone())
            .with_audit(shared.audit.clone())
            .with_call_rates(shared.call_rates.clone())
            .with_metrics(Arc::clone(&shared.metrics));
        if let Some(runs) = &shared.durable {
            let desk = Arc::new(Desk(Arc::clone(runs)));
            runtime = runtime.with_approvals(runs.settings.policy(), desk);
        }
        Self { runtime, exposed_resolver, directory, policy, proxy: config.proxy.clone() }
    }
}
