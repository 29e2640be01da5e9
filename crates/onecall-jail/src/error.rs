//! Why a process could not be locked in.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Property;

/// After any of these the process is half locked in and must end.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// No wall holds a property that the configuration demands.
    #[error(
        "the sandbox cannot keep programs from {} (`{}`): its wall `{wall}` is missing: {reason}; \
         {remedy}, or {way_out}",
        property.kept_from(), property.name()
    )]
    MissingProperty {
        /// Which property.
        property: Property,
        /// A wall that would hold it.
        wall: &'static str,
        /// What the kernel said when that wall was built.
        reason: String,
        /// What would let it be built.
        remedy: &'static str,
        /// How to run programs nevertheless.
        way_out: String,
    },
    /// The configuration demands a property, and this operating system has no wall.
    #[error(
        "onecall has no sandbox on {system}: nothing would keep programs from {kept_from}; run \
         onecall in WSL 2, in a Linux container or on a Linux machine, or run programs without any \
         wall with `sandbox: off`"
    )]
    NoWalls {
        /// The name of the operating system.
        system: &'static str,
        /// What the demanded properties would keep programs from.
        kept_from: String,
    },
    /// Workers could no longer be forked.
    #[error("the process that holds the workers' process namespace did not start: {0}")]
    Keeper(#[source] io::Error),
    /// A workspace that was there when the gateway started may be gone.
    #[error("programs cannot start in {}: {source}", folder.display())]
    Folder {
        /// Where they were to start.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A scratch folder needs the root that it is mounted in.
    #[error("programs cannot be moved to the root that holds their scratch folder")]
    Root,
    /// The list of system calls could not be compiled.
    #[error("the sandbox cannot build its wall `system calls`: {0}")]
    Filters(#[source] Arc<io::Error>),
    /// The limits of a program hold in every mode.
    #[error("cannot read this process's size from /proc/self/statm: {0}")]
    Size(#[source] io::Error),
}
