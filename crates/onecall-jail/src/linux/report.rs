//! Creates the report about the walls, and checks it against the requirement.

use std::io;
use std::time::Instant;

use crate::{JailError, Property, Report, Requirement, Wall, WallState};

impl Wall {
    /// Builds a wall and measures the time.
    pub(super) fn build(
        name: &'static str,
        remedy: &'static str,
        build: impl FnOnce() -> io::Result<()>,
    ) -> Self {
        let start = Instant::now();
        let state = match build() {
            Ok(()) => WallState::Holds,
            Err(error) => WallState::Missing { reason: error.to_string(), remedy },
        };
        Self { name, state, cost: start.elapsed() }
    }
}

impl Report {
    /// Checks that every required property is held by some wall. The walls named in `pending` count
    /// as built.
    pub(super) fn check(
        &self,
        requirement: &Requirement,
        pending: &[&str],
    ) -> Result<(), JailError> {
        let is_built = |name: &str| {
            pending.contains(&name)
                || self.walls.iter().any(|wall| wall.name == name && wall.holds())
        };
        let lacks = |property: &Property| property.holders(self.file_calls, is_built).count() == 0;
        match Property::ALL.into_iter().filter(|it| requirement.demands(*it)).find(lacks) {
            None => Ok(()),
            Some(property) => Err(self.missing_property(property, requirement)),
        }
    }

    /// The error for a missing property, with the first missing wall that would hold it.
    fn missing_property(&self, property: Property, requirement: &Requirement) -> JailError {
        let groups = property.held_by(self.file_calls).iter().copied().flatten();
        let wall = groups
            .filter_map(|name| self.walls.iter().find(|wall| wall.name == *name))
            .find_map(|wall| match &wall.state {
                WallState::Holds => None,
                WallState::Missing { reason, remedy } => Some((wall.name, reason.clone(), *remedy)),
            });
        let (wall, reason, remedy) = wall.unwrap_or(("system calls", String::new(), ""));
        let workaround = requirement.workaround(property);
        JailError::MissingProperty { property, wall, reason, remedy, workaround }
    }
}
