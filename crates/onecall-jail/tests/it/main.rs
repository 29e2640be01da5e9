//! The walls around a worker. Each test locks in a process of its own, the inmate, since walls
//! cannot be taken down again.

#![expect(clippy::unwrap_used, reason = "a test ends where its setup does")]

mod breaches;
mod descriptors;
mod files;
mod inmate;
mod limits;
mod ordinary;
mod walls;
