//! Policies that are evaluated together.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::{AuthorizationError, Authorizer, Entities, PolicySet, PolicySetError, Request};
use foldhash::fast::RandomState;
use moka::sync::Cache;
use onecall_core::{PolicyRule, ToolSpec};

use crate::source::SourcePolicy;

/// The lists of policies that are in use, by the numbers of the policies. Users and tools with the
/// same policies share them.
pub(crate) type PolicyLists = Cache<Vec<usize>, Arc<PolicyList>, RandomState>;

/// Policies whose scope covers a call, and whose conditions are evaluated together. All have the same
/// effect.
#[derive(Debug, Default)]
pub(crate) struct PolicyList {
    set: PolicySet,
    /// The policies by their names.
    policies: BTreeMap<String, Arc<SourcePolicy>>,
}

impl PolicyList {
    /// The list of these policies, from `lists` if it is in use already.
    pub(crate) fn shared(
        policies: &[Arc<SourcePolicy>],
        lists: &PolicyLists,
    ) -> Result<Arc<Self>, Box<PolicySetError>> {
        let numbers: Vec<usize> = policies.iter().map(|policy| policy.number).collect();
        if let Some(list) = lists.get(&numbers) {
            return Ok(list);
        }
        let list = Arc::new(Self {
            set: PolicySet::from_policies(policies.iter().map(|policy| policy.conditions.clone()))
                .map_err(Box::new)?,
            policies: policies.iter().map(|it| (it.name.clone(), Arc::clone(it))).collect(),
        });
        lists.insert(numbers, Arc::clone(&list));
        Ok(list)
    }

    /// Whether there are no policies.
    pub(crate) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// The policies.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Arc<SourcePolicy>> {
        self.policies.values()
    }

    /// The rule of the first policy that is satisfied, if there is one. The error is the rule of the
    /// first policy that could not be evaluated.
    pub(crate) fn evaluate(
        &self,
        request: &Request,
        entities: &Entities,
        tool: &ToolSpec,
    ) -> Result<Option<PolicyRule>, PolicyRule> {
        if self.is_empty() {
            return Ok(None);
        }
        let response = Authorizer::new().is_authorized(request, &self.set, entities);
        let failed = response.diagnostics().errors().filter_map(|error| {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            let policy = self.policies.get::<str>(error.policy_id().as_ref())?;
            Some((policy, error.inner().to_string()))
        });
        if let Some((policy, why)) = failed.min_by_key(|(policy, _)| policy.number) {
            return Err(policy.failed_rule(tool, &why));
        }
        let satisfied = response.diagnostics().reason();
        let satisfied = satisfied.filter_map(|id| self.policies.get::<str>(id.as_ref()));
        Ok(satisfied.min_by_key(|policy| policy.number).map(|policy| policy.rule()))
    }
}
