//! Finds the policies whose scope covers a user and a tool, without looking at the others.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onecall_core::Principal;

use crate::scope::{ActionScope, PrincipalScope, ServerScope};
use crate::source::SourcePolicy;

type Map<V> = HashMap<String, V, RandomState>;

/// The policies, by their scope.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Policies that name a tool or function.
    actions: Map<ByPrincipal>,
    /// Policies for all tools of a server, or a group of actions there.
    servers: Map<ByPrincipal>,
    /// Policies for all servers.
    anywhere: ByPrincipal,
}

/// Policies with the same kind of scope, by the users that they are for.
#[derive(Debug, Default)]
struct ByPrincipal {
    anyone: Vec<usize>,
    users: Map<Vec<usize>>,
    groups: Map<Vec<usize>>,
}

impl Index {
    /// An index of the policies.
    pub(crate) fn of(policies: &[Arc<SourcePolicy>]) -> Self {
        let mut index = Self::default();
        for policy in policies {
            let (number, scope) = (policy.number, &policy.scope);
            let is_broad = match &scope.action {
                ActionScope::Any => true,
                ActionScope::Only { groups, names } => {
                    for name in names {
                        let place = index.actions.entry(name.clone()).or_default();
                        place.insert(&scope.principal, number);
                    }
                    !groups.is_empty()
                }
            };
            if is_broad {
                match &scope.server {
                    ServerScope::Any => index.anywhere.insert(&scope.principal, number),
                    ServerScope::Server(name) => {
                        let place = index.servers.entry(name.clone()).or_default();
                        place.insert(&scope.principal, number);
                    }
                    ServerScope::None => {}
                }
            }
        }
        index
    }

    /// The policies that could cover calls of an action on a server by a user, in their order. The
    /// scope of each still has to be compared.
    pub(crate) fn candidates(
        &self,
        principal: &Principal,
        action: &str,
        server: &str,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        let places = [self.actions.get(action), self.servers.get(server), Some(&self.anywhere)];
        for place in places.into_iter().flatten() {
            place.collect(principal, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl ByPrincipal {
    fn insert(&mut self, principal: &PrincipalScope, number: usize) {
        match principal {
            PrincipalScope::Anyone => self.anyone.push(number),
            PrincipalScope::User(name) => self.users.entry(name.clone()).or_default().push(number),
            PrincipalScope::Group(name) => {
                self.groups.entry(name.clone()).or_default().push(number)
            }
            PrincipalScope::NoOne => {}
        }
    }

    fn collect(&self, principal: &Principal, found: &mut Vec<usize>) {
        found.extend(&self.anyone);
        found.extend(self.users.get(principal.user.as_str()).into_iter().flatten());
        if !self.groups.is_empty() {
            let groups = principal.groups.iter().filter_map(|group| self.groups.get(group));
            found.extend(groups.flatten());
        }
    }
}
