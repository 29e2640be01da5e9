//! What stands between a program and the machine, wall by wall.

use std::io;
use std::time::{Duration, Instant};

use crate::JailError;

/// Every wall that was to be built, in the order of building.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Walls of the zygote first, then the worker's own.
    pub walls: Vec<Wall>,
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
    /// Builds a wall and takes the time.
    pub(crate) fn build(
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

    /// The first wall that is missing, as an error.
    pub fn complete(&self) -> Result<(), JailError> {
        self.walls.iter().try_for_each(|wall| match &wall.state {
            State::Holds => Ok(()),
            State::Missing { reason, remedy } => {
                Err(JailError::MissingWall { wall: wall.name, reason: reason.clone(), remedy })
            }
        })
    }
}
