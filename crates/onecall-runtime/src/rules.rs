//! What a configuration says about programs. A program keeps the rules it began with;
//! another configuration makes other rules for those that come later.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProxyPolicy, ToolPolicy};
use onecall_engine::Engines;

use crate::Runtime;
use crate::directory::Bridged;
use crate::layers::{Cache, Fitting, Offerings, Policy};
use crate::sessions::Sessions;

/// The rules of one configuration.
pub(crate) struct Rules {
    pub(crate) runtime: Runtime,
    pub(crate) directory: Arc<Bridged>,
    pub(crate) policy: ToolPolicy,
    pub(crate) proxy: ProxyPolicy,
}

impl Rules {
    pub(crate) fn new(
        config: &Config,
        engines: &Arc<Engines>,
        bridge: &Arc<Bridge>,
        sessions: &Arc<Sessions>,
        cache: Option<&Arc<Cache>>,
    ) -> Self {
        let policy = config.tools.clone();
        let fitting = Arc::new(Fitting::new(bridge.clone()));
        let host = Arc::new(Policy::new(fitting, policy.clone()));
        let host = Arc::new(Offerings::new(host, bridge.clone(), policy.clone()));
        let directory = Arc::new(Bridged::new(Arc::clone(bridge), policy.clone()));
        let limits = config.execution.clone();
        let runtime = Runtime::new(Arc::clone(engines), host, limits)
            .with_directory(directory.clone())
            .with_sessions(Arc::clone(sessions))
            .with_cache(cache.cloned());
        Self { runtime, directory, policy, proxy: config.proxy.clone() }
    }
}
