//! Creates the report about the walls, and checks it against the requirement.

use std::io;
use std::time::Instant;

use crate::{JailError, Property, Report, Requirement, State, Wall};

impl Wall {
    /// Builds a wall and measures the time.
    pub(super) fn build(
        name: &'static str,
        remedy: &'static str,
        build: impl FnOnce() -> io::Result<()>,
    ) -> Self {
        let start = Instant::now();
        let state = match build() {
            Ok(()) => State::Holds,
            Err(error) => State::Missing { reason: error.to_string(), remedy },
        };
        Self { name, state, cost: start.elapsed() }
    }
}

impl Report {
    /// Checks that every required property is held by some wall. The walls named in `to_come` count
    /// as built.
    pub(super) fn satisfies(
        &self,
        requirement: &Requirement,
        to_come: &[&str],
    ) -> Result<(), JailError> {
        let stands = |name: &str| {
            to_come.contains(&name)
                || self.walls.iter().any(|wall| wall.name == name && wall.holds())
        };
        let lacks = |property: &Property| property.holders(self.file_calls, stands).count() == 0;
        match Property::ALL.into_iter().filter(|it| requirement.demands(*it)).find(lacks) {
            None => Ok(()),
            Some(property) => Err(self.lack_of(property, requirement)),
        }
    }

    /// The error for a missing property, with the first missing wall that would hold it.
    fn lack_of(&self, property: Property, requirement: &Requirement) -> JailError {
        let groups = property.held_by(self.file_calls).iter().copied().flatten();
        let wall = groups
            .filter_map(|name| self.walls.iter().find(|wall| wall.name == *name))
            .find_map(|wall| match &wall.state {
                State::Holds => None,
                State::Missing { reason, remedy } => Some((wall.name, reason.clone(), *remedy)),
            });
        let (wall, reason, remedy) = wall.unwrap_or(("system calls", String::new(), ""));
        let way_out = requirement.way_out(property);
        JailError::MissingProperty { property, wall, reason, remedy, way_out }
    }
}
