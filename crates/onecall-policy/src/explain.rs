//! Explains a decision: what came of each policy.

use std::sync::Arc;

use onecall_core::{AccessDecision, AccessRequest, ServerName};

use crate::argument_value::argument_values;
use crate::compiled::covers;
use crate::policies::{Policies, strictest};
use crate::profile::{ToolProfile, run_context};
use crate::reads::{INPUT, InputReads};
use crate::scene::Scene;
use crate::scope::{ActionScope, PrincipalScope, ServerScope};
use crate::source::{PolicyEffect, SourcePolicy};

/// A decision about a call, and what came of each policy.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The decision.
    pub decision: AccessDecision,
    /// All policies, in the order of the files and lines.
    pub policies: Vec<ExplainedPolicy>,
}

/// A policy that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPolicy {
    /// The name of the policy.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line at which it begins.
    pub line: usize,
    /// The policy as it is written.
    pub text: String,
}

/// What came of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedPolicy {
    /// The name of the policy.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line at which it begins.
    pub line: usize,
    /// What it does with the calls that satisfy it.
    pub effect: PolicyEffect,
    /// The policy as it is written.
    pub text: String,
    /// What came of it.
    pub result: PolicyResult,
}

/// What came of a policy for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyResult {
    /// The call satisfies it.
    Satisfied,
    /// It covers the call, but its conditions are not satisfied.
    ConditionFalse,
    /// It could not be evaluated, which denies the call.
    Failed(String),
    /// Its scope does not cover the call, for this reason.
    NotCovered(String),
}

impl Policies {
    /// All policies, in the order of the files and lines.
    #[must_use]
    pub fn list(&self) -> Vec<ListedPolicy> {
        let listed = self.source().policies.iter().map(|policy| {
            let (file, line) = policy.place();
            let (name, text) = (policy.name.clone(), policy.text().to_owned());
            ListedPolicy { name, file: file.to_owned(), line, text }
        });
        listed.collect()
    }

    /// Decides about a call, and explains the decision.
    #[must_use]
    pub fn explain(&self, request: &AccessRequest<'_>) -> Explanation {
        let profile = self.profile(request.tool);
        let decisions = self.decide_on_servers(request, &profile);
        // Of several servers, the one that decides is explained.
        let decision = strictest(decisions.clone());
        let rank = |decision: &AccessDecision| match decision {
            AccessDecision::Deny(_) => 0,
            AccessDecision::Ask(_) => 1,
            AccessDecision::Allow(_) => 2,
        };
        let decisive = decisions.iter().min_by_key(|(_, decision)| rank(decision));
        let server = decisive.map(|(server, _)| *server);
        let explain = |policy: &Arc<SourcePolicy>| {
            let (file, line) = policy.place();
            let result = match server {
                Some(server) => self.result(policy, request, &profile, server),
                None => PolicyResult::NotCovered("the call names no server that exists".to_owned()),
            };
            ExplainedPolicy {
                name: policy.name.clone(),
                file: file.to_owned(),
                line,
                effect: policy.effect,
                text: policy.text().to_owned(),
                result,
            }
        };
        let policies = self.source().policies.iter().map(explain).collect();
        Explanation { decision, policies }
    }

    fn result(
        &self,
        policy: &SourcePolicy,
        request: &AccessRequest<'_>,
        profile: &ToolProfile,
        server: &ServerName,
    ) -> PolicyResult {
        if let Some(why) = other_principal(policy, request) {
            return PolicyResult::NotCovered(why);
        }
        let callable = profile.spec.callable.as_str();
        let natural = profile.natural_name.as_deref().filter(|name| {
            let names_it = policy.scope.named_actions().is_some_and(|it| it.contains(*name));
            names_it && policy.effect != PolicyEffect::Permit
        });
        let action = natural.unwrap_or(callable);
        if !covers(&policy.scope, profile, action, server.as_str()) {
            return PolicyResult::NotCovered(other_target(policy, server));
        }
        if let Err(why) = profile.fits(policy, action) {
            return PolicyResult::Failed(why);
        }
        let evaluated = context(policy, request, profile).and_then(|context| {
            let principal = &request.run.principal;
            let scene = Scene::new(principal, profile, action, server.as_str());
            scene.map_err(|error| error.to_string())?.is_satisfied(policy, context)
        });
        match evaluated {
            Ok(true) => PolicyResult::Satisfied,
            Ok(false) => PolicyResult::ConditionFalse,
            Err(why) => PolicyResult::Failed(why),
        }
    }
}

type ContextPairs = Vec<(String, cedar_policy::RestrictedExpression)>;

/// The context, as far as the policy reads it.
fn context(
    policy: &SourcePolicy,
    request: &AccessRequest<'_>,
    profile: &ToolProfile,
) -> Result<ContextPairs, String> {
    let mut context = profile.context();
    context.extend(run_context(request.run));
    if policy.reads.input != InputReads::Nothing {
        let types = profile.types().map_err(|why| why.to_string())?;
        let values = argument_values(request.arguments.get(), types, &policy.reads.input);
        let values = values.map_err(|why| why.to_string())?;
        if let Some((name, why)) = values.unreadable.first_key_value() {
            return Err(format!("of the argument '{name}', {why}"));
        }
        context.push((INPUT.to_owned(), values.input));
    }
    Ok(context)
}

/// Why the policy is not for the user, if it is not.
fn other_principal(policy: &SourcePolicy, request: &AccessRequest<'_>) -> Option<String> {
    let principal = &request.run.principal;
    match &policy.scope.principal {
        PrincipalScope::Anyone => None,
        PrincipalScope::User(name) if name == principal.user.as_str() => None,
        PrincipalScope::Group(name) if principal.groups.contains(name) => None,
        PrincipalScope::User(name) => Some(format!("it is for the user '{name}'")),
        PrincipalScope::Group(name) => Some(format!("it is for the group '{name}'")),
        PrincipalScope::NoOne => Some("it is for no user".to_owned()),
    }
}

/// Why the policy is not for the tool or the server.
fn other_target(policy: &SourcePolicy, server: &ServerName) -> String {
    match (&policy.scope.server, &policy.scope.action) {
        (ServerScope::Server(name), _) if name != server.as_str() => {
            format!("it is for the server '{name}'")
        }
        (_, ActionScope::Only { groups, names }) => match (groups.first(), names.first()) {
            (None, Some(name)) if names.len() == 1 => format!("it is for '{name}'"),
            (None, Some(_)) => "it is for other tools".to_owned(),
            (Some(group), None) => format!("it is for the group of actions '{}'", group.name()),
            _ => "it is for other actions".to_owned(),
        },
        _ => "it is for other servers".to_owned(),
    }
}
