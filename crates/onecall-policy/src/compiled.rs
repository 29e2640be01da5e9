//! The policies that can apply to the calls of one tool by one user.
//!
//! What does not depend on the single call is evaluated when they are put together. Often nothing is
//! left then, and the decision is the same for all calls.

use std::sync::Arc;

use cedar_policy::{Context, RestrictedExpression};
use foldhash::fast::RandomState;
use moka::sync::Cache;
use onecall_core::{AccessDecision, AccessOutlook, AccessRequest, PolicyRule, Principal};

use crate::argument_value::argument_values;
use crate::entity::EntityError;
use crate::index::Index;
use crate::policy_list::{PolicyList, PolicyLists};
use crate::profile::{ToolProfile, run_context};
use crate::reads::{INPUT, InputReads};
use crate::scene::Scene;
use crate::scope::{ActionScope, Scope, ServerScope};
use crate::source::{DEFAULT_RULE, PolicyEffect, SourcePolicy};

/// The decision about the calls of one tool by one user, on one server.
#[derive(Debug)]
pub(crate) enum Compiled {
    /// All calls are decided alike.
    Constant(AccessDecision),
    /// The decision depends on the call.
    Conditional(Box<Conditional>),
}

/// Decides by what differs from call to call.
#[derive(Debug)]
pub(crate) struct Conditional {
    profile: Arc<ToolProfile>,
    /// The policy that permits all calls, if there is one.
    permitted: Option<PolicyRule>,
    /// The policy that has a person asked about all calls, if there is one.
    asked: Option<PolicyRule>,
    /// The policies that are left, for each name of the tool.
    groups: Vec<PolicyGroup>,
    /// What the policies read of the arguments.
    input: InputReads,
    reads_run: bool,
    /// The part of the context that is the same for all calls, if a policy reads it.
    context: Vec<(String, RestrictedExpression)>,
}

/// Policies that are evaluated with the same name of the tool.
#[derive(Debug)]
struct PolicyGroup {
    scene: Arc<Scene>,
    permits: Arc<PolicyList>,
    forbids: Arc<PolicyList>,
    asks: Arc<PolicyList>,
}

/// The policies, and where to find those for a call.
#[derive(Clone, Copy)]
pub(crate) struct PolicyIndex<'a> {
    pub(crate) policies: &'a [Arc<SourcePolicy>],
    pub(crate) index: &'a Index,
    pub(crate) lists: &'a PolicyLists,
    pub(crate) scenes: &'a Scenes,
}

/// The scenes that are in use. Users share them where no policy is about the user.
pub(crate) type Scenes = Cache<SceneKey, Arc<Scene>, RandomState>;

/// What a scene is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SceneKey {
    /// The number of the user; `None` if policies do not read it.
    pub(crate) principal: Option<u64>,
    /// The number of the tool's profile.
    pub(crate) profile: u64,
    /// The place of the server, for functions.
    pub(crate) server: usize,
}

/// Puts the policies for a user, a tool and a server together.
struct Compiler<'a> {
    source: PolicyIndex<'a>,
    principal: &'a Principal,
    profile: &'a Arc<ToolProfile>,
    server: &'a str,
    key: SceneKey,
    permitted: Option<PolicyRule>,
    asked: Option<PolicyRule>,
    groups: Vec<PolicyGroup>,
    input: InputReads,
    reads_run: bool,
    reads_tool: bool,
}

/// Whether a scope covers a tool on a server, under one of the tool's names. The user was compared
/// before.
pub(crate) fn covers(scope: &Scope, profile: &ToolProfile, action: &str, server: &str) -> bool {
    let covers_action = match &scope.action {
        ActionScope::Any => true,
        ActionScope::Only { groups, names } => {
            groups.contains(&profile.group()) || names.contains(action)
        }
    };
    covers_action
        && match &scope.server {
            ServerScope::Any => true,
            ServerScope::Server(name) => name == server,
            ServerScope::None => false,
        }
}

impl Compiled {
    /// Puts the policies for a user and a tool together. Whatever fails denies all calls.
    pub(crate) fn new(
        source: PolicyIndex<'_>,
        principal: &Principal,
        profile: &Arc<ToolProfile>,
        server: &str,
        key: SceneKey,
    ) -> Self {
        let mut compiler = Compiler {
            source,
            principal,
            profile,
            server,
            key,
            permitted: None,
            asked: None,
            groups: Vec::new(),
            input: InputReads::Nothing,
            reads_run: false,
            reads_tool: false,
        };
        let names = [Some(profile.spec.callable.as_str()), profile.natural_name.as_deref()];
        for action in names.into_iter().flatten() {
            if let Err(rule) = compiler.add_group(action) {
                return Self::Constant(AccessDecision::Deny(rule));
            }
        }
        compiler.finish()
    }

    /// The decision about one call.
    pub(crate) fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision {
        match self {
            Self::Constant(decision) => decision.clone(),
            Self::Conditional(conditional) => match conditional.decide(request) {
                Ok(decision) => decision,
                Err(rule) => AccessDecision::Deny(rule),
            },
        }
    }

    /// What could be decided about calls.
    pub(crate) fn outlook(&self) -> AccessOutlook {
        match self {
            Self::Constant(AccessDecision::Allow(_)) => {
                AccessOutlook { may_call: true, may_ask: false }
            }
            Self::Constant(AccessDecision::Ask(_)) => {
                AccessOutlook { may_call: true, may_ask: true }
            }
            Self::Constant(AccessDecision::Deny(_)) => {
                AccessOutlook { may_call: false, may_ask: false }
            }
            Self::Conditional(conditional) => AccessOutlook {
                may_call: true,
                may_ask: conditional.asked.is_some()
                    || conditional.groups.iter().any(|group| !group.asks.is_empty()),
            },
        }
    }

    /// How much memory it takes, compared with a constant decision.
    pub(crate) fn weight(&self) -> u32 {
        match self {
            Self::Constant(_) => 1,
            Self::Conditional(_) => 4,
        }
    }
}

impl Compiler<'_> {
    /// Adds the policies that cover the tool under this name. The error is a rule that denies all
    /// calls.
    fn add_group(&mut self, action: &str) -> Result<(), PolicyRule> {
        let is_own_name = action == self.profile.spec.callable.as_str();
        let mut scene: Option<Scene> = None;
        let [mut permits, mut forbids, mut asks] = [(); 3].map(|()| Vec::new());
        for number in self.source.index.candidates(self.principal, action, self.server) {
            let Some(policy) = self.source.policies.get(number) else { continue };
            // Another tool with the same name must not shake off what forbids this one, and must not
            // get what permits it.
            let names_it = policy.scope.named_actions().is_some_and(|it| it.contains(action));
            let counts = is_own_name || (names_it && policy.effect != PolicyEffect::Permit);
            if !counts || !covers(&policy.scope, self.profile, action, self.server) {
                continue;
            }
            let failed = |why: &str| policy.failed_rule(&self.profile.spec, why);
            self.profile.fits(policy, action).map_err(|why| failed(&why))?;
            if !policy.reads.is_static() {
                self.input.extend(&policy.reads.input);
                self.reads_run |= policy.reads.request;
                self.reads_tool |= policy.reads.tool;
                match policy.effect {
                    PolicyEffect::Permit => permits.push(Arc::clone(policy)),
                    PolicyEffect::Forbid => forbids.push(Arc::clone(policy)),
                    PolicyEffect::Ask => asks.push(Arc::clone(policy)),
                }
                continue;
            }
            // The scope covers the call, so a policy without conditions is satisfied.
            let is_satisfied = !policy.policy.has_non_scope_constraint() || {
                let known = match scene.take() {
                    Some(scene) => scene,
                    None => self.scene(action).map_err(|error| broken(&error.to_string()))?,
                };
                let known = scene.insert(known);
                known.is_satisfied(policy, self.profile.context()).map_err(|why| failed(&why))?
            };
            match policy.effect {
                _ if !is_satisfied => {}
                PolicyEffect::Forbid => return Err(policy.rule()),
                PolicyEffect::Permit => _ = self.permitted.get_or_insert_with(|| policy.rule()),
                PolicyEffect::Ask => _ = self.asked.get_or_insert_with(|| policy.rule()),
            }
        }
        if permits.is_empty() && forbids.is_empty() && asks.is_empty() {
            return Ok(());
        }
        let list = |policies: &[Arc<SourcePolicy>]| {
            let list = PolicyList::shared(policies, self.source.lists);
            list.map_err(|error| broken(&error.to_string()))
        };
        let about_user = |policy: &Arc<SourcePolicy>| policy.reads.principal;
        let is_about_user = [&permits, &forbids, &asks].into_iter().flatten().any(about_user);
        let scene = self.shared_scene(action, is_about_user);
        let scene = scene.map_err(|error| broken(&error.to_string()))?;
        let [permits, forbids, asks] = [list(&permits)?, list(&forbids)?, list(&asks)?];
        self.groups.push(PolicyGroup { scene, permits, forbids, asks });
        Ok(())
    }

    /// The scene for conditions. Only the tool's own name is shared: other names are rare.
    fn shared_scene(&self, action: &str, is_about_user: bool) -> Result<Arc<Scene>, EntityError> {
        if action != self.profile.spec.callable.as_str() {
            return self.scene(action).map(Arc::new);
        }
        let principal = self.key.principal.filter(|_| is_about_user);
        let key = SceneKey { principal, ..self.key };
        if let Some(scene) = self.source.scenes.get(&key) {
            return Ok(scene);
        }
        let scene = Arc::new(self.scene(action)?);
        self.source.scenes.insert(key, Arc::clone(&scene));
        Ok(scene)
    }

    fn scene(&self, action: &str) -> Result<Scene, EntityError> {
        Scene::new(self.principal, self.profile, action, self.server)
    }

    fn finish(self) -> Compiled {
        let may_permit = self.groups.iter().any(|group| !group.permits.is_empty());
        let decision = match (self.permitted, self.asked) {
            (None, _) if !may_permit => AccessDecision::Deny(not_permitted()),
            (permitted, asked) if !self.groups.is_empty() => {
                return Compiled::Conditional(Box::new(Conditional {
                    profile: Arc::clone(self.profile),
                    permitted,
                    asked,
                    groups: self.groups,
                    input: self.input,
                    reads_run: self.reads_run,
                    context: if self.reads_tool { self.profile.context() } else { Vec::new() },
                }));
            }
            (_, Some(asked)) => AccessDecision::Ask(asked),
            (Some(permitted), None) => AccessDecision::Allow(permitted),
            (None, None) => AccessDecision::Deny(not_permitted()),
        };
        Compiled::Constant(decision)
    }
}

impl PolicyGroup {
    fn policies(&self) -> impl Iterator<Item = &Arc<SourcePolicy>> {
        [&self.permits, &self.forbids, &self.asks].into_iter().flat_map(|list| list.policies())
    }
}

impl Conditional {
    /// The decision about one call; the error is the rule that denies it.
    fn decide(&self, request: &AccessRequest<'_>) -> Result<AccessDecision, PolicyRule> {
        let tool = &self.profile.spec;
        let context = self.context_of(request)?;
        let context = Context::from_pairs(context).map_err(|error| broken(&error.to_string()))?;
        let (mut permitted, mut asked) = (None, None);
        for group in &self.groups {
            let request = group.scene.request(context.clone()).map_err(|error| broken(&error))?;
            let evaluate = |list: &PolicyList| list.evaluate(&request, &group.scene.entities, tool);
            if let Some(rule) = evaluate(&group.forbids)? {
                return Err(rule);
            }
            permitted = permitted.or(evaluate(&group.permits)?);
            asked = asked.or(evaluate(&group.asks)?);
        }
        let permitted = self.permitted.clone().or(permitted).ok_or_else(not_permitted)?;
        Ok(match self.asked.clone().or(asked) {
            Some(rule) => AccessDecision::Ask(rule),
            None => AccessDecision::Allow(permitted),
        })
    }

    fn context_of(
        &self,
        request: &AccessRequest<'_>,
    ) -> Result<Vec<(String, RestrictedExpression)>, PolicyRule> {
        let mut context = self.context.clone();
        if self.reads_run {
            context.extend(run_context(request.run));
        }
        if self.input == InputReads::Nothing {
            return Ok(context);
        }
        let policies = || self.groups.iter().flat_map(PolicyGroup::policies);
        let failed = |reads: &dyn Fn(&InputReads) -> bool, why: &str| {
            let readers = policies().filter(|policy| reads(&policy.reads.input));
            let first = readers.min_by_key(|policy| policy.number);
            first.map(|policy| policy.failed_rule(&self.profile.spec, why))
        };
        let types = self.profile.types().map_err(|why| broken(&why.to_string()))?;
        let values = argument_values(request.arguments.get(), types, &self.input);
        let values = values.map_err(|why| {
            let reader = failed(&|reads| *reads != InputReads::Nothing, &why.to_string());
            reader.unwrap_or_else(|| broken(&why.to_string()))
        })?;
        for (name, why) in &values.unreadable {
            let why = format!("of the argument '{name}', {why}");
            if let Some(rule) = failed(&|reads| reads.contains(name), &why) {
                return Err(rule);
            }
        }
        context.push((INPUT.to_owned(), values.input));
        Ok(context)
    }
}

/// The rule that denies what no policy permits.
pub(crate) fn not_permitted() -> PolicyRule {
    PolicyRule { name: DEFAULT_RULE.to_owned(), reason: Some("no policy permits it".to_owned()) }
}

/// The rule that denies a call that cannot be evaluated, for a reason that no policy has caused.
fn broken(why: &str) -> PolicyRule {
    PolicyRule { name: DEFAULT_RULE.to_owned(), reason: Some(why.to_owned()) }
}
