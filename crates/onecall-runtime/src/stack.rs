//! The stack of layers that a call passes on its way to a tool, in one place. Programs, plans,
//! exposed tools, generated clients and `onecall exec` all call through here; there is no other way
//! to a server.
//!
//! From the outside in, the layers are: log, quota, concurrency limit, decision, cache, resource
//! functions, argument check, learning, and the host that executes the call. The host is passed in:
//! it is the bridge, or an application that embeds this crate.

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
    /// Puts the layers that each run has for itself around those that runs share.
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

/// Puts the cache, if there is one, around the layers below it.
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

/// The layers below the cache for calls of exposed tools: there are none, because calls and answers
/// are passed on between client and server unchanged.
#[must_use]
pub fn exposed_layers(host: Arc<dyn CallHandler>) -> Arc<dyn CallHandler> {
    host
}

/// The layers below the cache for tools of servers that a plan defines.
#[must_use]
pub fn plan_server_layers(host: Arc<dyn CallHandler>) -> Arc<dyn CallHandler> {
    Arc::new(ArgumentCheck::new(host))
}

/// The layers below the cache for tools that a program brings along, as those of `onecall exec`.
pub(crate) fn own_tool_layers<'a>(host: &'a dyn CallHandler) -> impl CallHandler + 'a {
    ArgumentCheck::new(host)
}
