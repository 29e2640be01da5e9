//! The one trait behind which a store lives.

use crate::{Answers, Listings, Runs, Shapes};

/// Everything that is remembered. Methods block, though not for long.
pub trait Store: Runs + Shapes + Answers + Listings {}

impl<T: Runs + Shapes + Answers + Listings> Store for T {}
