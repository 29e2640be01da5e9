//! The report about the walls around a process.

use std::time::Duration;

use crate::property::FileCalls;

/// All walls that were attempted, in the order of building.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The walls, those of the zygote first, then those of the worker.
    pub walls: Vec<Wall>,
    /// Whether the wall `system calls` allows calls with paths.
    pub file_calls: FileCalls,
}

/// One wall and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wall {
    /// The name, short and stable, for people and for tests.
    pub name: &'static str,
    /// Whether the wall was built.
    pub state: WallState,
    /// How long building it took.
    pub cost: Duration,
}

/// Whether a wall was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WallState {
    /// The wall was built.
    Holds,
    /// The wall could not be built.
    Missing {
        /// The error of the kernel.
        reason: String,
        /// What would allow the wall to be built.
        remedy: &'static str,
    },
}

impl Wall {
    /// Whether the wall was built.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.state == WallState::Holds
    }
}

impl Report {
    /// The time for building all walls.
    #[must_use]
    pub fn cost(&self) -> Duration {
        self.walls.iter().map(|wall| wall.cost).sum()
    }
}
