//! The policies in force: decides about calls, and remembers what it has worked out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use moka::sync::Cache;
use onecall_core::{
    AccessDecision, AccessOutlook, AccessPolicy, AccessRequest, CallableName, PolicyRule,
    Principal, ServerName, ToolSpec,
};

use crate::check::{Extent, KnownTools, check_policies};
use crate::compiled::{Compiled, PolicyIndex, SceneKey, Scenes};
use crate::deep_stack::with_deep_stack;
use crate::function::servers_of_call;
use crate::index::Index;
use crate::policy_list::PolicyLists;
use crate::problem::{PolicyErrors, PolicyProblem, PolicyWarning, WarningKind};
use crate::profile::ToolProfile;
use crate::source::{DEFAULT_RULE, PolicyEffect, PolicySource};

/// How many users are remembered, and how much of what was worked out for users and tools. A decision
/// that is the same for all calls counts as one.
const MAX_PRINCIPALS: u64 = 4_096;
const MAX_REMEMBERED: u64 = 262_144;
const MAX_LISTS: u64 = 16_384;
const MAX_SCENES: u64 = 32_768;

/// How many tools are remembered, and how many definitions of each.
const MAX_TOOLS: usize = 100_000;
const MAX_DEFINITIONS: usize = 16;

/// Cedar policies that decide about the calls of all users.
pub struct Policies {
    source: PolicySource,
    servers: Vec<ServerName>,
    index: Index,
    asks: bool,
    /// What is known of tools. A tool has several profiles if it has different definitions.
    profiles: RwLock<HashMap<CallableName, Vec<Arc<ToolProfile>>, RandomState>>,
    next_id: AtomicU64,
    lists: PolicyLists,
    scenes: Scenes,
    principals: Cache<Principal, u64, RandomState>,
    /// By principal, tool, and the place of the server.
    compiled: Cache<(u64, u64, usize), Arc<Compiled>, RandomState>,
}

impl Policies {
    /// Checks policies against the servers of the configuration and the tools that are known so far,
    /// those that the lists of the configuration hide included.
    ///
    /// # Errors
    /// If a policy names a server, a tool or an argument that does not exist, or does not fit the
    /// definition of a tool. All problems are reported.
    pub fn new<'a>(
        source: PolicySource,
        servers: &[ServerName],
        tools: impl IntoIterator<Item = &'a Arc<ToolSpec>>,
    ) -> Result<(Self, Vec<PolicyWarning>), PolicyErrors> {
        let policies = Self {
            index: Index::of(&source.policies),
            asks: source.policies.iter().any(|policy| policy.effect == PolicyEffect::Ask),
            source,
            servers: servers.to_vec(),
            profiles: RwLock::default(),
            next_id: AtomicU64::new(1),
            lists: Cache::builder()
                .max_capacity(MAX_LISTS)
                .build_with_hasher(RandomState::default()),
            scenes: Cache::builder()
                .max_capacity(MAX_SCENES)
                .build_with_hasher(RandomState::default()),
            principals: Cache::builder()
                .max_capacity(MAX_PRINCIPALS)
                .build_with_hasher(RandomState::default()),
            compiled: Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .weigher(|_, compiled: &Arc<Compiled>| compiled.weight())
                .build_with_hasher(RandomState::default()),
        };
        let (errors, warnings) = policies.check(tools, Extent::All);
        PolicyErrors::unless_empty((policies, warnings), errors)
    }

    /// Checks the policies again, after tools have appeared or changed. A tool whose definition has not
    /// changed since is not checked again. The policies stay in force: calls that a policy is about,
    /// but does not fit, are denied. Returns all that people should know at the moment, also what an
    /// earlier check has returned.
    pub fn recheck<'a>(
        &self,
        tools: impl IntoIterator<Item = &'a Arc<ToolSpec>>,
    ) -> Vec<PolicyWarning> {
        let (errors, mut warnings) = self.check(tools, Extent::Tools);
        let broken = |problem| PolicyWarning { kind: WarningKind::DoesNotFit, problem };
        warnings.extend(errors.into_iter().map(broken));
        warnings
    }

    /// The policies as they were read.
    #[must_use]
    pub fn source(&self) -> &PolicySource {
        &self.source
    }

    fn check<'a>(
        &self,
        tools: impl IntoIterator<Item = &'a Arc<ToolSpec>>,
        extent: Extent,
    ) -> (Vec<PolicyProblem>, Vec<PolicyWarning>) {
        let known = KnownTools::new(&self.servers, tools);
        let profile = |spec: &ToolSpec| self.profile(spec);
        match with_deep_stack(|| check_policies(&self.source.policies, &known, &profile, extent)) {
            Some(report) => (report.errors, report.warnings),
            None => {
                let message = "they cannot be checked: no thread can be started".to_owned();
                (
                    vec![PolicyProblem { file: "policies".to_owned(), position: None, message }],
                    Vec::new(),
                )
            }
        }
    }

    /// What is known of a tool with this definition.
    pub(crate) fn profile(&self, spec: &ToolSpec) -> Arc<ToolProfile> {
        let find = |profiles: &[Arc<ToolProfile>]| {
            profiles.iter().find(|profile| profile.is_of(spec)).map(Arc::clone)
        };
        let known = self.profiles.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = known.get(&spec.callable).and_then(|profiles| find(profiles)) {
            return profile;
        }
        drop(known);
        let mut known = self.profiles.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_TOOLS {
            known.clear();
        }
        let profiles = known.entry(spec.callable.clone()).or_default();
        if let Some(profile) = find(profiles) {
            return profile;
        }
        if profiles.len() >= MAX_DEFINITIONS {
            profiles.remove(0);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let profile = Arc::new(ToolProfile::new(id, spec));
        profiles.push(Arc::clone(&profile));
        profile
    }

    fn compiled(
        &self,
        principal: &Principal,
        profile: &Arc<ToolProfile>,
        server: &ServerName,
    ) -> Arc<Compiled> {
        let number = match self.principals.get(principal) {
            Some(number) => number,
            None => {
                let number = self.next_id.fetch_add(1, Ordering::Relaxed);
                self.principals.entry_by_ref(principal).or_insert(number).into_value()
            }
        };
        // Only functions are called on different servers.
        let place = match profile.function {
            Some(_) => self.servers.iter().position(|it| it == server).unwrap_or(usize::MAX),
            None => 0,
        };
        let key = (number, profile.id, place);
        if let Some(compiled) = self.compiled.get(&key) {
            return compiled;
        }
        let Self { source, index, lists, scenes, .. } = self;
        let source = PolicyIndex { policies: &source.policies, index, lists, scenes };
        let scene = SceneKey { principal: Some(number), profile: profile.id, server: place };
        let compiled = Arc::new(Compiled::new(source, principal, profile, server.as_str(), scene));
        self.compiled.insert(key, Arc::clone(&compiled));
        compiled
    }

    /// The servers that a call concerns, with the decision about the call on each.
    pub(crate) fn decide_on_servers<'a>(
        &'a self,
        request: &AccessRequest<'a>,
        profile: &Arc<ToolProfile>,
    ) -> Vec<(&'a ServerName, AccessDecision)> {
        let servers = match profile.function {
            Some(_) => servers_of_call(request.arguments, &self.servers),
            None => vec![&request.tool.server],
        };
        let decide = |server: &'a ServerName| {
            let compiled = self.compiled(&request.run.principal, profile, server);
            (server, compiled.decide(request))
        };
        servers.into_iter().map(decide).collect()
    }
}

impl AccessPolicy for Policies {
    fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision {
        let profile = self.profile(request.tool);
        if profile.function.is_none() {
            let principal = &request.run.principal;
            return self.compiled(principal, &profile, &request.tool.server).decide(request);
        }
        strictest(self.decide_on_servers(request, &profile))
    }

    fn outlook(&self, principal: &Principal, tool: &ToolSpec) -> AccessOutlook {
        let profile = self.profile(tool);
        if profile.function.is_none() {
            return self.compiled(principal, &profile, &tool.server).outlook();
        }
        let outlooks = self.servers.iter();
        let outlooks = outlooks.map(|server| self.compiled(principal, &profile, server).outlook());
        let nothing = AccessOutlook { may_call: false, may_ask: false };
        outlooks.fold(nothing, |one, other| AccessOutlook {
            may_call: one.may_call || other.may_call,
            may_ask: one.may_ask || other.may_ask,
        })
    }

    fn asks(&self) -> bool {
        self.asks
    }
}

/// The decision about a call that concerns several servers: it must be allowed for all of them.
pub(crate) fn strictest(decisions: Vec<(&ServerName, AccessDecision)>) -> AccessDecision {
    let several = decisions.len() > 1;
    let mut result: Option<AccessDecision> = None;
    for (server, decision) in decisions {
        match (decision, &result) {
            (AccessDecision::Deny(rule), _) if several => {
                let why = rule.reason.unwrap_or_else(|| "it is forbidden".to_owned());
                let reason = format!(
                    "without server= the call is about all servers, and for the server '{server}': {why}; say which server with server="
                );
                return AccessDecision::Deny(PolicyRule { reason: Some(reason), name: rule.name });
            }
            (AccessDecision::Deny(rule), _) => return AccessDecision::Deny(rule),
            (ask @ AccessDecision::Ask(_), Some(AccessDecision::Allow(_)) | None) => {
                result = Some(ask);
            }
            (allow, None) => result = Some(allow),
            _ => {}
        }
    }
    result.unwrap_or_else(|| {
        let reason = Some("there is no server with this name".to_owned());
        AccessDecision::Deny(PolicyRule { name: DEFAULT_RULE.to_owned(), reason })
    })
}
