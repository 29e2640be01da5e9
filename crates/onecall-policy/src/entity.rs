//! The entities of policies: users, their groups, servers and actions.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression};
use onecall_core::Principal;
use thiserror::Error;

pub(crate) const USER: &str = "User";
pub(crate) const GROUP: &str = "Group";
pub(crate) const SERVER: &str = "Server";
pub(crate) const ACTION: &str = "Action";

/// Entities could not be built. Names of any form are accepted, so this does not happen.
#[derive(Debug, Error)]
#[error("the entities of the request cannot be built: {0}")]
pub(crate) struct EntityError(String);

/// Whether a type has this name and no namespace.
pub(crate) fn is_type(kind: &EntityTypeName, name: &str) -> bool {
    kind.basename() == name && kind.namespace_components().next().is_none()
}

/// The id of an entity, as it is written between the quotes but without escapes.
pub(crate) fn id(entity: &EntityUid) -> String {
    entity.id().unescaped().to_owned()
}

/// The entity of this type and id.
pub(crate) fn entity_uid(kind: &str, id: &str) -> Result<EntityUid, EntityError> {
    let kind: EntityTypeName = kind.parse().map_err(|error| EntityError(format!("{error}")))?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

/// The entities that a decision needs: the user, the server, and the action with its group.
pub(crate) fn entities(
    principal: &Principal,
    server: &str,
    action: &EntityUid,
    group: Option<&str>,
) -> Result<Entities, EntityError> {
    let groups = principal.groups.iter().map(|name| entity_uid(GROUP, name));
    let groups: HashSet<EntityUid> = groups.collect::<Result<_, _>>()?;
    let user = named(USER, principal.user.as_str(), groups)?;
    let server = named(SERVER, server, HashSet::new())?;
    let parents = group.map(|name| entity_uid(ACTION, name)).transpose()?;
    let action = Entity::new_no_attrs(action.clone(), parents.into_iter().collect());
    Entities::from_entities([user, server, action], None)
        .map_err(|error| EntityError(error.to_string()))
}

/// An entity with the attribute `name`.
fn named(kind: &str, name: &str, parents: HashSet<EntityUid>) -> Result<Entity, EntityError> {
    let name_attribute = RestrictedExpression::new_string(name.to_owned());
    let attributes = HashMap::from([("name".to_owned(), name_attribute)]);
    Entity::new(entity_uid(kind, name)?, attributes, parents)
        .map_err(|error| EntityError(error.to_string()))
}
