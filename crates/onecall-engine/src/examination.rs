//! What a worker reports of its walls when it is asked to test them.

use std::time::Duration;

use onecall_jail::{FileCalls, Property, State, Wall};
use serde::{Deserialize, Serialize};

/// The walls around a worker, and what became of attempts to break out.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct Examination {
    /// In the order of building.
    pub walls: Vec<ExaminedWall>,
    /// Whether the wall `system calls` lets programs name files.
    pub file_calls: bool,
    /// In the order of trying.
    pub attempts: Vec<Attempt>,
}

/// One wall.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct ExaminedWall {
    /// Its name.
    pub name: String,
    /// Why it could not be built, and what would help; absent if it was.
    pub missing: Option<String>,
    /// How long the building took.
    pub cost: Duration,
}

/// One attempt to break out.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Attempt {
    /// The name of the property that it tried.
    pub property: String,
    /// What it tried.
    pub tried: String,
    /// How it got through; absent if it was refused.
    pub broke: Option<String>,
}

impl From<&Wall> for ExaminedWall {
    fn from(wall: &Wall) -> Self {
        Self {
            name: wall.name.to_owned(),
            missing: match &wall.state {
                State::Holds => None,
                State::Missing { reason, remedy } => Some(format!("{reason}; {remedy}")),
            },
            cost: wall.cost,
        }
    }
}

impl Examination {
    /// The walls that hold a property, in groups of which each holds it by itself; none if no wall
    /// does.
    #[must_use]
    pub fn holders(&self, property: Property) -> Vec<&'static [&'static str]> {
        let calls = if self.file_calls { FileCalls::Allowed } else { FileCalls::Refused };
        property
            .holders(calls, |name| self.wall(name).is_some_and(|it| it.missing.is_none()))
            .collect()
    }

    /// What was tried against a property.
    pub fn attempts_at(&self, property: Property) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(move |attempt| attempt.property == property.name())
    }

    /// Why a property does not hold; absent if some wall holds it and every attempt was refused.
    #[must_use]
    pub fn fault(&self, property: Property) -> Option<String> {
        if self.holders(property).is_empty() {
            let missing = self.walls.iter().filter_map(|wall| {
                Some(format!("its wall `{}` is missing: {}", wall.name, wall.missing.as_ref()?))
            });
            return Some(missing.collect::<Vec<_>>().join(", "));
        }
        let Attempt { tried, broke, .. } =
            self.attempts_at(property).find(|attempt| attempt.broke.is_some())?;
        let how = broke.as_deref().unwrap_or_default();
        Some(format!("a worker tried to {tried}, and {how}"))
    }

    /// Why a wall is missing; absent if it stands.
    pub(crate) fn missing(&self, wall: &str) -> Option<&str> {
        self.wall(wall)?.missing.as_deref()
    }

    fn wall(&self, name: &str) -> Option<&ExaminedWall> {
        self.walls.iter().find(|wall| wall.name == name)
    }
}
