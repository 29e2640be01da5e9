//! The parts of a worker process that do not depend on its language: its end of the socket, and its
//! sandbox.

pub(crate) mod cell;
pub(crate) mod place;
pub(crate) mod socket;
