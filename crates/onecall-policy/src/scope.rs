//! For which users, tools and servers a policy is, by its scope alone.

use std::collections::BTreeSet;

use cedar_policy::{
    ActionConstraint, EntityTypeName, EntityUid, Policy, PrincipalConstraint, ResourceConstraint,
};

use crate::entity::{ACTION, GROUP, SERVER, USER, id, is_type};

/// The groups of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ActionGroup {
    /// All tools of servers.
    Call,
    /// The functions for resources.
    Resources,
    /// The functions for prompts.
    Prompts,
}

impl ActionGroup {
    pub(crate) const ALL: [Self; 3] = [Self::Call, Self::Resources, Self::Prompts];

    /// The name of the group in policies.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }

    /// The group with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }
}

/// The users that a policy is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PrincipalScope {
    Anyone,
    User(String),
    Group(String),
    /// No user has the type that the policy names.
    NoOne,
}

/// The actions that a policy is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActionScope {
    /// All tools and functions.
    Any,
    /// The members of these groups, and these tools and functions.
    Only { groups: BTreeSet<ActionGroup>, names: BTreeSet<String> },
}

/// The servers that a policy is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerScope {
    Any,
    Server(String),
    /// No server has the type that the policy names.
    None,
}

/// The scope of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) principal: PrincipalScope,
    pub(crate) action: ActionScope,
    pub(crate) server: ServerScope,
}

impl Scope {
    pub(crate) fn of(policy: &Policy) -> Self {
        Self {
            principal: principal_scope(policy.principal_constraint()),
            action: action_scope(policy.action_constraint()),
            server: server_scope(policy.resource_constraint()),
        }
    }

    /// The tools and functions that the policy names one by one, if it names no group.
    pub(crate) fn named_actions(&self) -> Option<&BTreeSet<String>> {
        match &self.action {
            ActionScope::Only { groups, names } if groups.is_empty() => Some(names),
            _ => None,
        }
    }
}

fn principal_scope(constraint: PrincipalConstraint) -> PrincipalScope {
    let in_entity = |entity: &EntityUid| {
        if is_type(entity.type_name(), GROUP) {
            PrincipalScope::Group(id(entity))
        } else if is_type(entity.type_name(), USER) {
            PrincipalScope::User(id(entity))
        } else {
            PrincipalScope::NoOne
        }
    };
    let is_user = |name: &EntityTypeName| is_type(name, USER);
    match constraint {
        PrincipalConstraint::Any => PrincipalScope::Anyone,
        PrincipalConstraint::Is(name) if is_user(&name) => PrincipalScope::Anyone,
        PrincipalConstraint::Eq(entity) if is_user(entity.type_name()) => {
            PrincipalScope::User(id(&entity))
        }
        PrincipalConstraint::In(entity) => in_entity(&entity),
        PrincipalConstraint::IsIn(name, entity) if is_user(&name) => in_entity(&entity),
        _ => PrincipalScope::NoOne,
    }
}

fn action_scope(constraint: ActionConstraint) -> ActionScope {
    let (mut groups, mut names) = (BTreeSet::new(), BTreeSet::new());
    match constraint {
        ActionConstraint::Any => return ActionScope::Any,
        ActionConstraint::Eq(entity) => {
            names.extend(is_type(entity.type_name(), ACTION).then(|| id(&entity)));
        }
        ActionConstraint::In(entities) => {
            for entity in entities.iter().filter(|it| is_type(it.type_name(), ACTION)) {
                let name = id(entity);
                match ActionGroup::named(&name) {
                    Some(group) => groups.insert(group),
                    None => names.insert(name),
                };
            }
        }
    }
    ActionScope::Only { groups, names }
}

fn server_scope(constraint: ResourceConstraint) -> ServerScope {
    let is_server = |name: &EntityTypeName| is_type(name, SERVER);
    let named = |entity: &EntityUid| match is_server(entity.type_name()) {
        true => ServerScope::Server(id(entity)),
        false => ServerScope::None,
    };
    match constraint {
        ResourceConstraint::Any => ServerScope::Any,
        ResourceConstraint::Is(name) if is_server(&name) => ServerScope::Any,
        ResourceConstraint::Eq(entity) | ResourceConstraint::In(entity) => named(&entity),
        ResourceConstraint::IsIn(name, entity) if is_server(&name) => named(&entity),
        _ => ServerScope::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::of(&Policy::parse(None, format!("permit({text});")).unwrap())
    }

    #[test]
    fn every_form_of_a_scope_is_understood() {
        use PrincipalScope::*;
        for (text, expected) in [
            ("principal, action, resource", Anyone),
            ("principal is User, action, resource", Anyone),
            ("principal is Server, action, resource", NoOne),
            ("principal == User::\"a\", action, resource", User("a".to_owned())),
            ("principal == Group::\"a\", action, resource", NoOne),
            ("principal in Group::\"a\", action, resource", Group("a".to_owned())),
            ("principal in User::\"a\", action, resource", User("a".to_owned())),
            ("principal is User in Group::\"a\", action, resource", Group("a".to_owned())),
            ("principal is Group in Group::\"a\", action, resource", NoOne),
            ("principal == Other::User::\"a\", action, resource", NoOne),
        ] {
            assert_eq!(scope(text).principal, expected, "{text}");
        }
        let only = |groups: &[ActionGroup], names: &[&str]| ActionScope::Only {
            groups: groups.iter().copied().collect(),
            names: names.iter().map(ToString::to_string).collect(),
        };
        for (text, expected) in [
            ("principal, action, resource", ActionScope::Any),
            ("principal, action == Action::\"x\", resource", only(&[], &["x"])),
            ("principal, action in Action::\"call\", resource", only(&[ActionGroup::Call], &[])),
            (
                "principal, action in [Action::\"x\", Action::\"prompts\"], resource",
                only(&[ActionGroup::Prompts], &["x"]),
            ),
        ] {
            assert_eq!(scope(text).action, expected, "{text}");
        }
        for (text, expected) in [
            ("principal, action, resource", ServerScope::Any),
            ("principal, action, resource == Server::\"s\"", ServerScope::Server("s".to_owned())),
            ("principal, action, resource in Server::\"s\"", ServerScope::Server("s".to_owned())),
            ("principal, action, resource is Server", ServerScope::Any),
            ("principal, action, resource == User::\"s\"", ServerScope::None),
        ] {
            assert_eq!(scope(text).server, expected, "{text}");
        }
    }
}
