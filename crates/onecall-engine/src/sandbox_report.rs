//! The report of a worker that has tested its own sandbox.

use std::time::Duration;

use onecall_jail::{FileCalls, Property, Wall, WallState};
use serde::{Deserialize, Serialize};

/// The walls of a worker's sandbox, and the results of attempts to break out.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct SandboxReport {
    /// The walls, in the order in which they are built.
    pub walls: Vec<WallReport>,
    /// Whether the wall `system calls` lets programs open files by name.
    pub file_calls: bool,
    /// The attempts, in the order in which they were made.
    pub attempts: Vec<EscapeAttempt>,
}

/// One wall of the sandbox.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct WallReport {
    /// The name of the wall.
    pub name: String,
    /// Why the wall could not be built, and what would help; `None` if it was built.
    pub missing: Option<String>,
    /// How long it took to build the wall.
    pub cost: Duration,
}

/// One attempt to break out.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct EscapeAttempt {
    /// The name of the property that it tests.
    pub property: String,
    /// A description of the attempt.
    pub tried: String,
    /// How the attempt succeeded; `None` if it was refused.
    pub broke: Option<String>,
}

impl From<&Wall> for WallReport {
    fn from(wall: &Wall) -> Self {
        Self {
            name: wall.name.to_owned(),
            missing: match &wall.state {
                WallState::Holds => None,
                WallState::Missing { reason, remedy } => Some(format!("{reason}; {remedy}")),
            },
            cost: wall.cost,
        }
    }
}

impl SandboxReport {
    /// The walls that ensure a property, in groups of which each is sufficient by itself; empty if
    /// none does.
    #[must_use]
    pub fn holders(&self, property: Property) -> Vec<&'static [&'static str]> {
        let calls = if self.file_calls { FileCalls::Allowed } else { FileCalls::Refused };
        property
            .holders(calls, |name| self.wall(name).is_some_and(|it| it.missing.is_none()))
            .collect()
    }

    /// The attempts to violate a property.
    pub fn attempts_at(&self, property: Property) -> impl Iterator<Item = &EscapeAttempt> {
        self.attempts.iter().filter(move |attempt| attempt.property == property.name())
    }

    /// Why a property does not hold; `None` if a wall ensures it and every attempt was refused.
    #[must_use]
    pub fn fault(&self, property: Property) -> Option<String> {
        if self.holders(property).is_empty() {
            let missing = self.walls.iter().filter_map(|wall| {
                Some(format!("its wall `{}` is missing: {}", wall.name, wall.missing.as_ref()?))
            });
            return Some(missing.collect::<Vec<_>>().join(", "));
        }
        let EscapeAttempt { tried, broke, .. } =
            self.attempts_at(property).find(|attempt| attempt.broke.is_some())?;
        let how = broke.as_deref().unwrap_or_default();
        Some(format!("a worker tried to {tried}, and {how}"))
    }

    /// Why a wall is missing; `None` if it was built.
    pub(crate) fn missing(&self, wall: &str) -> Option<&str> {
        self.wall(wall)?.missing.as_deref()
    }

    fn wall(&self, name: &str) -> Option<&WallReport> {
        self.walls.iter().find(|wall| wall.name == name)
    }
}
