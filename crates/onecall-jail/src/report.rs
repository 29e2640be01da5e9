//! What stands between a program and the machine, wall by wall.

use std::time::Duration;

use crate::property::FileCalls;

/// Every wall that was to be built, in the order of building.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Walls of the zygote first, then the worker's own.
    pub walls: Vec<Wall>,
    /// Whether the wall `system calls` lets programs name files.
    pub file_calls: FileCalls,
}

/// One wall and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wall {
    /// Short and stable, for people and for tests.
    pub name: &'static str,
    /// Whether it stands.
    pub state: State,
    /// How long the building took.
    pub cost: Duration,
}

/// Whether a wall stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It stands.
    Holds,
    /// It could not be built.
    Missing {
        /// What the kernel said.
        reason: String,
        /// What would let it be built.
        remedy: &'static str,
    },
}

impl Wall {
    /// Whether it stands.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.state == State::Holds
    }
}

impl Report {
    /// The time all walls took together.
    #[must_use]
    pub fn cost(&self) -> Duration {
        self.walls.iter().map(|wall| wall.cost).sum()
    }
}
