//! The parts of a configuration that concern programs. A program keeps the rules it began with; a
//! new configuration applies to later programs.

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

/// What all programs share, whatever the configuration is.
pub(crate) struct Shared {
    pub(crate) engines: Arc<Engines>,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) sessions: Arc<Sessions>,
    /// Cached answers of tools, if the cache is enabled.
    pub(crate) cache: Option<Arc<Cache>>,
    /// The identities of servers, by which cached answers are kept apart.
    pub(crate) identities: Arc<Identities>,
    /// Records runs, if recording is enabled.
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Learned result types, if learning is enabled.
    pub(crate) learned: Option<Arc<Learned>>,
    /// The listings of servers in the store, if there is a store.
    pub(crate) seen: Option<Arc<SeenTools>>,
}

/// The rules of one configuration.
pub(crate) struct Rules {
    pub(crate) runtime: Runtime,
    /// Resolves the names of tools that clients may call directly.
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
