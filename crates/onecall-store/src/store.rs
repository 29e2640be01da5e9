//! The one trait behind which a store lives.

use crate::{Answers, Runs, Shapes};

/// Everything that is remembered. Methods block, though not for long.
pub trait Store: Runs + Shapes + Answers {}

impl<T: Runs + Shapes + Answers> Store for T {}
