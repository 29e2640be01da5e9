//! What a configuration says about programs. A program keeps the rules it began with;
//! another configuration makes other rules for those that come later.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProxyPolicy};
use onecall_core::ToolPolicy;
use onecall_engine::Engines;
use onecall_runtime::{
    Cache, Learned, Metrics, PermittedTools, Recorder, Runtime, Sessions, stack,
};

use crate::SeenTools;
use crate::bridged::Bridged;
use crate::bridged_resources::BridgedResources;
use crate::identities::Identities;

/// What programs use whatever the rules are.
pub(crate) struct Shared {
    pub(crate) engines: Arc<Engines>,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) sessions: Arc<Sessions>,
    /// What tools have answered, if that is kept.
    pub(crate) cache: Option<Arc<Cache>>,
    /// Who the servers are whose answers are kept.
    pub(crate) identities: Arc<Identities>,
    /// Who records what runs, if anybody does.
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) metrics: Arc<Metrics>,
    /// What results look like, if that is learned.
    pub(crate) learned: Option<Arc<Learned>>,
    /// What servers have listed, if there is a place to keep it.
    pub(crate) seen: Option<Arc<SeenTools>>,
}

/// The rules of one configuration.
pub(crate) struct Rules {
    pub(crate) runtime: Runtime,
    /// Knows the tools that clients may call themselves.
    pub(crate) exposed_resolver: PermittedTools,
    pub(crate) directory: Arc<Bridged>,
    pub(crate) policy: ToolPolicy,
    pub(crate) proxy: ProxyPolicy,
}

impl Rules {
    pub(crate) fn new(config: &Config, shared: &Shared) -> Self {
        let Shared { bridge, learned, .. } = shared;
        let policy = config.tools.clone();
        let exposed_resolver = PermittedTools::tools_only(bridge.clone(), policy.clone());
        let resolver = PermittedTools::for_programs(bridge.clone(), policy.clone());
        let resources = Arc::new(BridgedResources(Arc::clone(bridge)));
        let layers =
            stack::program_layers(bridge.clone(), resources, policy.clone(), learned.clone());
        let sorting = config.generate.clone();
        let directory = Bridged::new(shared, policy.clone(), sorting);
        let directory = Arc::new(directory);
        let (engines, limits) = (Arc::clone(&shared.engines), config.execution.clone());
        let runtime = Runtime::layered(engines, Arc::new(resolver), layers, limits)
            .with_directory(directory.clone())
            .with_sessions(Arc::clone(&shared.sessions))
            .with_cache(shared.cache.clone())
            .with_recorder(shared.recorder.clone())
            .with_metrics(Arc::clone(&shared.metrics));
        Self { runtime, exposed_resolver, directory, policy, proxy: config.proxy.clone() }
    }
}
