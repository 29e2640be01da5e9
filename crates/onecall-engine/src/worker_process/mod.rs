//! The parts of a worker process that do not depend on its language: its end of the socket, and its
//! sandbox.

pub(crate) mod argument_path;
pub(crate) mod sandbox;
pub(crate) mod socket;
