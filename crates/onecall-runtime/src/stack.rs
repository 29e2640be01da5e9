//! Every layer that a call passes on its way to a tool, in one place. Programs, plans, exposed tools,
//! generated clients and `onecall exec` all call through here; nothing reaches a server past it.
//!
//! Outermost first, the layers are: the log, quota, the limit of
//! calls at once, the decision, the cache, resource functions, the check of arguments, learning, and
//! the host that executes the call. The host is handed in: the bridge, or a program that embeds us.

use std::sync::Arc;

use onecall_core::{CallHandler, Limits, ResourceHost, ToolPolicy};

use crate::Learned;
use crate::call_log::LogWriter;
use crate::layers::{
    ArgumentCheck, Cache, ConcurrencyLimit, Decide, Learning, Logged, Quota, ResourceFunctions,
};

/// What the layers of one run need.
#[derive(Clone, Copy)]
pub(crate) struct RunLayers<'a> {
    pub(crate) log: LogWriter<'a>,
    pub(crate) limits: &'a Limits,
}

impl RunLayers<'_> {
    /// The layers that each run has for itself, around those that runs share.
    pub(crate) fn around<'a>(self, shared: impl CallHandler + 'a) -> impl CallHandler + 'a
    where
        Self: 'a,
    {
        let decided = Decide::new(shared, self.log);
        let limited = ConcurrencyLimit::new(decided, self.limits.max_parallel_calls);
        let counted = Quota::new(limited, self.limits.max_tool_calls);
        Logged::new(counted, self.log)
    }
}

/// The cache, if there is one, around the layers below it.
pub(crate) fn through_cache(
    cache: Option<&Cache>,
    layers: &Arc<dyn CallHandler>,
) -> Arc<dyn CallHandler> {
    match cache {
        Some(cache) => Arc::new(cache.around(Arc::clone(layers))),
        None => Arc::clone(layers),
    }
}

/// The layers below the cache for the calls of programs. Runs share them.
pub fn program_layers(
    host: Arc<dyn CallHandler>,
    resources: Arc<dyn ResourceHost>,
    policy: ToolPolicy,
    learned: Option<Arc<Learned>>,
) -> Arc<dyn CallHandler> {
    let host = match learned {
        Some(learned) => Arc::new(Learning::new(host, learned)),
        None => host,
    };
    let checked = Arc::new(ArgumentCheck::new(host));
    Arc::new(ResourceFunctions::new(checked, resources, policy))
}

/// The layers below the cache for calls of exposed tools: none. What is passed on is between the
/// client and the server.
#[must_use]
pub fn exposed_layers(host: Arc<dyn CallHandler>) -> Arc<dyn CallHandler> {
    host
}

/// The layers below the cache for tools of servers that a plan brings along.
#[must_use]
pub fn plan_server_layers(host: Arc<dyn CallHandler>) -> Arc<dyn CallHandler> {
    Arc::new(ArgumentCheck::new(host))
}

/// The layers below the cache for tools that a program brings along, as those of `onecall exec`.
pub(crate) fn own_tool_layers<'a>(host: &'a dyn CallHandler) -> impl CallHandler + 'a {
    ArgumentCheck::new(host)
}
