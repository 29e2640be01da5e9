//! What a configuration says about programs. A program keeps the rules it began with;
//! another configuration makes other rules for those that come later.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProxyPolicy, ToolPolicy};
use onecall_core::ToolHost;
use onecall_engine::Engines;

use crate::directory::Bridged;
use crate::layers::{Cache, Fitting, Learning, Offerings, Policy};
use crate::learned::Learned;
use crate::sessions::Sessions;
use crate::{Metrics, Recorder, Runtime};

/// What programs use whatever the rules are.
pub(crate) struct Shared {
    pub(crate) engines: Arc<Engines>,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) sessions: Arc<Sessions>,
    /// What tools have answered, if that is kept.
    pub(crate) cache: Option<Arc<Cache>>,
    /// Who records what runs, if anybody does.
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) metrics: Arc<Metrics>,
    /// What results look like, if that is learned.
    pub(crate) learned: Option<Arc<Learned>>,
}

/// The rules of one configuration.
pub(crate) struct Rules {
    pub(crate) runtime: Runtime,
    /// Executes the calls that clients make themselves: what they pass on is between
    /// them and the server.
    pub(crate) direct: Arc<dyn ToolHost>,
    pub(crate) directory: Arc<Bridged>,
    pub(crate) policy: ToolPolicy,
    pub(crate) proxy: ProxyPolicy,
}

impl Rules {
    pub(crate) fn new(config: &Config, shared: &Shared) -> Self {
        let Shared { bridge, learned, .. } = shared;
        let policy = config.tools.clone();
        let direct = Arc::new(Policy::new(bridge.clone(), policy.clone()));
        let tools: Arc<dyn ToolHost> = match learned {
            Some(learned) => Arc::new(Learning::new(bridge.clone(), Arc::clone(learned))),
            None => bridge.clone(),
        };
        let fitting = Arc::new(Fitting::new(tools));
        let host = Arc::new(Policy::new(fitting, policy.clone()));
        let host = Arc::new(Offerings::new(host, bridge.clone(), policy.clone()));
        let directory = Arc::new(Bridged::new(Arc::clone(bridge), policy.clone(), learned.clone()));
        let limits = config.execution.clone();
        let runtime = Runtime::new(Arc::clone(&shared.engines), host, limits)
            .with_directory(directory.clone())
            .with_sessions(Arc::clone(&shared.sessions))
            .with_cache(shared.cache.clone())
            .with_recorder(shared.recorder.clone())
            .with_metrics(Arc::clone(&shared.metrics));
        Self { runtime, direct, directory, policy, proxy: config.proxy.clone() }
    }
}
