//! The user, the tool and the server that a decision is about, as Cedar's entities.

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Entities, EntityUid, PolicySet, Request,
    RestrictedExpression,
};
use onecall_core::Principal;

use crate::entity::{ACTION, EntityError, SERVER, USER, entities, entity_uid};
use crate::profile::ToolProfile;
use crate::source::SourcePolicy;

/// The user, the action and the server of a request, with their entities.
#[derive(Debug)]
pub(crate) struct Scene {
    principal: EntityUid,
    action: EntityUid,
    server: EntityUid,
    pub(crate) entities: Entities,
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

    /// The request with a context.
    pub(crate) fn request(&self, context: Context) -> Result<Request, String> {
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
