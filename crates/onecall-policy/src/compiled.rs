//! The policies that can apply to the calls of one tool by one user.
//!
//! What does not depend on the single call is evaluated when they are put together. Often nothing is
//! left then, and the decision is the same for all calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Entities, EntityUid, PolicySet, Request,
    RestrictedExpression,
};
use onecall_core::{AccessDecision, AccessOutlook, AccessRequest, PolicyRule, Principal, ToolSpec};

use crate::argument_value::argument_values;
use crate::entity::{ACTION, EntityError, SERVER, USER, entities, entity_uid};
use crate::index::Index;
use crate::profile::{ToolProfile, run_context};
use crate::reads::InputReads;
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
    context: Vec<(String, RestrictedExpression)>,
}

/// Policies that are evaluated with the same name of the tool.
#[derive(Debug)]
struct PolicyGroup {
    scene: Scene,
    permits: PolicyList,
    forbids: PolicyList,
    asks: PolicyList,
}

/// The user, the action and the server of a request, with their entities.
#[derive(Debug)]
pub(crate) struct Scene {
    principal: EntityUid,
    action: EntityUid,
    server: EntityUid,
    entities: Entities,
}

/// Policies that are evaluated together.
#[derive(Debug, Default)]
struct PolicyList {
    set: PolicySet,
    /// The policies by their names.
    policies: BTreeMap<String, Arc<SourcePolicy>>,
}

/// What came of the evaluation of policies.
#[derive(Debug, Default)]
struct Evaluation {
    /// The name of the first policy that is satisfied.
    satisfied: Option<PolicyRule>,
    /// The rule of the first policy that failed.
    failed: Option<PolicyRule>,
}

impl Scene {
    /// A request of a user for a tool on a server; `action` is the name of the tool that policies
    /// have to match.
    pub(crate) fn new(
        principal: &Principal,
        profile: &ToolProfile,
        action: &str,
        server: &str,
    ) -> Result<Self, EntityError> {
        let action = entity_uid(ACTION, action)?;
        let entities = entities(principal, server, &action, Some(profile.group().name()))?;
        Ok(Self {
            principal: entity_uid(USER, principal.user.as_str())?,
            server: entity_uid(SERVER, server)?,
            action,
            entities,
        })
    }

    fn request(&self, context: Context) -> Result<Request, String> {
        let Self { principal, action, server, .. } = self;
        Request::new(principal.clone(), action.clone(), server.clone(), context, None)
            .map_err(|error| error.to_string())
    }

    /// Whether a policy is satisfied.
    pub(crate) fn is_satisfied(
        &self,
        policy: &SourcePolicy,
        context: Vec<(String, RestrictedExpression)>,
    ) -> Result<bool, String> {
        let context = Context::from_pairs(context).map_err(|error| error.to_string())?;
        let set = PolicySet::from_policies([policy.policy.clone()]);
        let set = set.map_err(|error| error.to_string())?;
        let response =
            Authorizer::new().is_authorized(&self.request(context)?, &set, &self.entities);
        match response.diagnostics().errors().next() {
            Some(AuthorizationError::PolicyEvaluationError(error)) => {
                Err(error.inner().to_string())
            }
            None => Ok(response.diagnostics().reason().next().is_some()),
        }
    }
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
    /// Puts the policies for a user and a tool together. An error denies all calls.
    pub(crate) fn new(
        policies: &[Arc<SourcePolicy>],
        index: &Index,
        principal: &Principal,
        profile: &Arc<ToolProfile>,
        server: &str,
    ) -> Self {
        let built = Self::build(policies, index, principal, profile, server);
        built.unwrap_or_else(|error| {
            let reason = Some(error.to_string());
            let rule = PolicyRule { name: DEFAULT_RULE.to_owned(), reason };
            Self::Constant(AccessDecision::Deny(rule))
        })
    }

    fn build(
        policies: &[Arc<SourcePolicy>],
        index: &Index,
        principal: &Principal,
        profile: &Arc<ToolProfile>,
        server: &str,
    ) -> Result<Self, EntityError> {
        let callable = profile.spec.callable.as_str();
        let mut building = Conditional {
            profile: Arc::clone(profile),
            permitted: None,
            asked: None,
            groups: Vec::new(),
            input: InputReads::Nothing,
            reads_run: false,
            context: profile.context(),
        };
        for action in [Some(callable), profile.natural_name.as_deref()].into_iter().flatten() {
            let is_own_name = action == callable;
            let scene = Scene::new(principal, profile, action, server)?;
            let mut group = PolicyGroup::new(scene);
            for number in index.candidates(principal, action, server) {
                let Some(policy) = policies.get(number) else { continue };
                // Another tool with the same name must not shake off what forbids this one, and must
                // not get what permits it.
                let names_it = policy.scope.named_actions().is_some_and(|it| it.contains(action));
                let counts = is_own_name || (names_it && policy.effect != PolicyEffect::Permit);
                if !counts || !covers(&policy.scope, profile, action, server) {
                    continue;
                }
                let fits = profile.fits(policy, action);
                if let Some(denied) = building.add(policy, fits, &mut group) {
                    return Ok(Self::Constant(AccessDecision::Deny(denied)));
                }
            }
            building.groups.push(group);
        }
        building.groups.retain(|group| !group.is_empty());
        Ok(building.finish())
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
                    || conditional.groups.iter().any(|group| !group.asks.policies.is_empty()),
            },
        }
    }

    /// How much memory it takes, compared with a constant decision.
    pub(crate) fn weight(&self) -> u32 {
        match self {
            Self::Constant(_) => 1,
            Self::Conditional(_) => 32,
        }
    }
}

impl PolicyGroup {
    fn new(scene: Scene) -> Self {
        let (permits, forbids, asks) = Default::default();
        Self { scene, permits, forbids, asks }
    }

    fn is_empty(&self) -> bool {
        self.lists().iter().all(|list| list.policies.is_empty())
    }

    fn lists(&self) -> [&PolicyList; 3] {
        [&self.permits, &self.forbids, &self.asks]
    }

    fn list(&mut self, effect: PolicyEffect) -> &mut PolicyList {
        match effect {
            PolicyEffect::Permit => &mut self.permits,
            PolicyEffect::Forbid => &mut self.forbids,
            PolicyEffect::Ask => &mut self.asks,
        }
    }
}

impl PolicyList {
    fn add(&mut self, policy: &Arc<SourcePolicy>) -> Result<(), String> {
        self.set.add(policy.policy.clone()).map_err(|error| error.to_string())?;
        self.policies.insert(policy.name.clone(), Arc::clone(policy));
        Ok(())
    }

    fn evaluate(&self, request: &Request, entities: &Entities, tool: &ToolSpec) -> Evaluation {
        if self.policies.is_empty() {
            return Evaluation::default();
        }
        let response = Authorizer::new().is_authorized(request, &self.set, entities);
        let satisfied = response.diagnostics().reason();
        let satisfied = satisfied.filter_map(|id| self.policies.get::<str>(id.as_ref()));
        let failed = response.diagnostics().errors().filter_map(|error| {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            let policy = self.policies.get::<str>(error.policy_id().as_ref())?;
            Some((policy, error.inner().to_string()))
        });
        Evaluation {
            satisfied: satisfied.min_by_key(|policy| policy.number).map(|policy| policy.rule()),
            failed: failed
                .min_by_key(|(policy, _)| policy.number)
                .map(|(policy, why)| policy.failed_rule(tool, &why)),
        }
    }
}

impl Conditional {
    /// Adds a policy. What does not depend on the call is evaluated at once; the rule that denies all
    /// calls is returned if there is one.
    fn add(
        &mut self,
        policy: &Arc<SourcePolicy>,
        fits: Result<(), String>,
        group: &mut PolicyGroup,
    ) -> Option<PolicyRule> {
        let tool = &self.profile.spec;
        if let Err(why) = fits {
            return Some(policy.failed_rule(tool, &why));
        }
        if !policy.reads.is_static() {
            self.input.extend(&policy.reads.input);
            self.reads_run |= policy.reads.request;
            return group
                .list(policy.effect)
                .add(policy)
                .err()
                .map(|why| policy.failed_rule(tool, &why));
        }
        match (group.scene.is_satisfied(policy, self.context.clone()), policy.effect) {
            (Err(why), _) => return Some(policy.failed_rule(tool, &why)),
            (Ok(false), _) => {}
            (Ok(true), PolicyEffect::Forbid) => return Some(policy.rule()),
            (Ok(true), PolicyEffect::Permit) => _ = self.permitted.get_or_insert(policy.rule()),
            (Ok(true), PolicyEffect::Ask) => _ = self.asked.get_or_insert(policy.rule()),
        }
        None
    }

    fn finish(self) -> Compiled {
        let may_permit = self.groups.iter().any(|group| !group.permits.policies.is_empty());
        let decision = match (self.permitted, self.asked) {
            (None, _) if !may_permit => AccessDecision::Deny(not_permitted()),
            (permitted, asked) if !self.groups.is_empty() => {
                return Compiled::Conditional(Box::new(Self { permitted, asked, ..self }));
            }
            (_, Some(asked)) => AccessDecision::Ask(asked),
            (Some(permitted), None) => AccessDecision::Allow(permitted),
            (None, None) => AccessDecision::Deny(not_permitted()),
        };
        Compiled::Constant(decision)
    }

    /// The decision about one call; the error is the rule that denies it.
    fn decide(&self, request: &AccessRequest<'_>) -> Result<AccessDecision, PolicyRule> {
        let tool = &self.profile.spec;
        let context = self.context_of(request)?;
        let context = Context::from_pairs(context).map_err(|error| broken(&error.to_string()))?;
        let (mut permitted, mut asked) = (None, None);
        for group in &self.groups {
            let request = group.scene.request(context.clone()).map_err(|error| broken(&error))?;
            let evaluate = |list: &PolicyList| {
                let Evaluation { satisfied, failed } =
                    list.evaluate(&request, &group.scene.entities, tool);
                failed.map_or(Ok(satisfied), Err)
            };
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
        let policies = || {
            let lists = self.groups.iter().flat_map(PolicyGroup::lists);
            lists.flat_map(|list| list.policies.values())
        };
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
        context.push((crate::reads::INPUT.to_owned(), values.input));
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
