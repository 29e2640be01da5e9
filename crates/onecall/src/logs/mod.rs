//! Log files in the user's state directory: one for each server, with its stderr and the events of
//! its life, and one for the gateway.
//!
//! [`Collector`] is a log layer that puts lines into a bounded queue; a thread redacts and writes
//! them (`writer.rs`). Every command that uses servers calls [`configure`] first. `onecall logs`
//! reads the files with [`Tail`].

mod collector;
mod entry;
mod file;
mod folder;
mod tail;
mod writer;

pub(crate) use collector::{Collector, are_written, configure, finish};
pub(crate) use entry::{EntrySource, LogFileEntry};
pub(crate) use folder::LogFolder;
pub(crate) use tail::Tail;
