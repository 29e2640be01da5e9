//! The parts of a worker process that do not depend on its language: how it is forked, its end of the
//! socket, and its sandbox.

pub(crate) mod argument_path;
pub(crate) mod forks;
pub(crate) mod sandbox;
pub(crate) mod socket;
