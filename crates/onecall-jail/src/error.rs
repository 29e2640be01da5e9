//! Errors of sandboxing a process.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Property;

/// Why a process could not be sandboxed. After any of these errors the process is partly sandboxed
/// and must exit.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// No wall holds a property that the configuration demands.
    #[error(
        "the sandbox cannot keep programs from {} (`{}`): its wall `{wall}` is missing: {reason}; \
         {remedy}, or {workaround}",
        property.prevented_actions(), property.name()
    )]
    MissingProperty {
        /// The property.
        property: Property,
        /// A wall that would hold it.
        wall: &'static str,
        /// The error of the kernel when that wall was built.
        reason: String,
        /// What would allow the wall to be built.
        remedy: &'static str,
        /// How to run programs nevertheless.
        workaround: String,
    },
    /// The configuration demands a property, and this operating system has no walls.
    #[error(
        "onecall has no sandbox on {system}: nothing would keep programs from {prevented_actions}; run \
         onecall in WSL 2, in a Linux container or on a Linux machine, or run programs without any \
         wall with `sandbox: off`"
    )]
    NoWalls {
        /// The name of the operating system.
        system: &'static str,
        /// What the demanded properties would keep programs from.
        prevented_actions: String,
    },
    /// The keeper process could not be started, so no workers could be forked.
    #[error("the process that holds the workers' process namespace did not start: {0}")]
    Keeper(#[source] io::Error),
    /// The start folder cannot be entered, for example because the workspace was removed.
    #[error("programs cannot start in {}: {source}", folder.display())]
    StartFolder {
        /// The folder in which programs start.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The root directory in which the scratch folder is mounted is missing.
    #[error("programs cannot be moved to the root that holds their scratch folder")]
    Root,
    /// The system call filter could not be made.
    #[error("the sandbox cannot build its wall `system calls`: {0}")]
    Filter(#[source] Arc<io::Error>),
    /// The memory in use could not be read, from which the limits of a program are computed.
    #[error("cannot read this process's size from /proc/self/statm: {0}")]
    Size(#[source] io::Error),
}
