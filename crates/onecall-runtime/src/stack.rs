//! The stack of layers that a call passes on its way to a tool, in one place. Programs, plans,
//! exposed tools, generated clients and `onecall exec` all call through here; there is no other way
//! to a server.
//!
//! From the outside in, the layers are: log, journal, quota, call rate of the user, room in the audit
//! trail, decision (with the approval), concurrency limit, audit on disk, write-ahead, cache, resource
//! functions, argument check, learning, and the host that executes the call. The host is passed in: it
//! is the bridge, or an application that embeds this crate.
//!
//! The concurrency limit is below the decision, so that a call that waits for a person takes no place
//! of another call.

use std::sync::Arc;

use onecall_core::{CallHandler, ResourceHost, RunLimits};

use onecall_engine::HeldCalls;

use crate::LearnedTypes;
use crate::access::{ToolPermission, UserAccess};
use crate::approval::{Approvals, Asking};
use crate::call_log::LogWriter;
use crate::journal::Journal;
use crate::layers::{
    ApprovalStep, ArgumentCheck, AuditGate, AuditRoom, Cache, CallRateLimit, CallRates,
    ConcurrencyLimit, DecisionLayer, JournalLayer, LearningLayer, LogLayer, Quota,
    ResourceFunctions, WriteAhead,
};

/// What the layers of one run need.
#[derive(Clone, Copy)]
pub(crate) struct RunLayers<'a> {
    pub(crate) log: LogWriter<'a>,
    pub(crate) limits: &'a RunLimits,
    /// The journal of the run, if it has one.
    pub(crate) journal: Option<&'a Journal>,
    /// The user of the run, and the policy.
    pub(crate) access: &'a UserAccess,
    /// How many calls each user may make in a minute, if that is limited.
    pub(crate) call_rates: Option<&'a CallRates>,
    /// Which calls need an approval, if some do.
    pub(crate) approvals: Option<&'a Approvals>,
    /// The calls of the run that wait for a person.
    pub(crate) held: &'a HeldCalls,
}

impl RunLayers<'_> {
    /// Puts the layers that each run has for itself around those that runs share.
    pub(crate) fn around<'a>(self, shared: impl CallHandler + 'a) -> impl CallHandler + 'a
    where
        Self: 'a,
    {
        let Self { log, limits, journal, access, call_rates, approvals, held } = self;
        // The journal of a run that no other process can continue is not written ahead.
        let durable = journal.filter(|journal| journal.is_durable());
        let asking = approvals.map(|it| Asking { desk: &*it.desk, held, journal: durable, log });
        let approval = approvals.zip(asking).map(|(it, asking)| ApprovalStep::new(it, asking));
        let made_before = journal.map_or(0, Journal::recorded_ends);
        let written = WriteAhead::new(shared, durable);
        let audited = AuditGate::new(written, log.audit());
        let limited = ConcurrencyLimit::new(audited, limits.max_parallel_calls);
        let decided = DecisionLayer::new(limited, log, access, approval);
        let roomy = AuditRoom::new(decided, log.audit());
        let rated = CallRateLimit::new(roomy, call_rates, &access.principal.user);
        let counted = Quota::new(rated, limits.max_tool_calls, made_before);
        let journalled = JournalLayer::new(counted, journal, asking);
        LogLayer::new(journalled, log)
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
    permission: ToolPermission,
    learned: Option<Arc<LearnedTypes>>,
) -> Arc<dyn CallHandler> {
    let host = match learned {
        Some(learned) => Arc::new(LearningLayer::new(host, learned)),
        None => host,
    };
    let checked = Arc::new(ArgumentCheck::new(host));
    Arc::new(ResourceFunctions::new(checked, resources, permission))
}

/// The layers below the cache for what clients use directly: only the functions for resources and
/// prompts, because calls of tools and their answers are passed on between client and server
/// unchanged.
pub fn exposed_layers(
    host: Arc<dyn CallHandler>,
    resources: Arc<dyn ResourceHost>,
    permission: ToolPermission,
) -> Arc<dyn CallHandler> {
    Arc::new(ResourceFunctions::new(host, resources, permission))
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
