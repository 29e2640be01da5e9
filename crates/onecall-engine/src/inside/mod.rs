//! What is inside every worker of this binary, whatever language it runs: its end of
//! the socket and the walls around it.

pub(crate) mod cell;
pub(crate) mod place;
pub(crate) mod socket;
