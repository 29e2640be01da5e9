//! What a worker reports of its walls when it is asked to test them.

use std::time::Duration;

use onecall_jail::{State, Wall};
use serde::{Deserialize, Serialize};

/// The walls around a worker, and what became of attempts to break out.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct Examination {
    /// In the order of building.
    pub walls: Vec<ExaminedWall>,
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
    /// The wall it ran against.
    pub wall: String,
    /// What it tried.
    pub tried: String,
    /// How it got through; absent if the wall held.
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
    /// What is wrong, a line each; empty if every wall stands and holds.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let missing = self.walls.iter().filter_map(|wall| {
            let reason = wall.missing.as_ref()?;
            Some(format!("the sandbox lacks its wall `{}`: {reason}", wall.name))
        });
        let broken = self.attempts.iter().filter_map(|attempt| {
            let Attempt { wall, tried, broke } = attempt;
            // A wall that is missing cannot hold, which need not be said twice.
            let stands = |it: &&ExaminedWall| it.name == *wall && it.missing.is_none();
            self.walls.iter().find(stands)?;
            let how = broke.as_ref()?;
            Some(format!(
                "the sandbox's wall `{wall}` does not hold: a worker tried to {tried}, and {how}"
            ))
        });
        missing.chain(broken).collect()
    }
}
