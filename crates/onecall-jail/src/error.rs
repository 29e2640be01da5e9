//! Why a process could not be locked in.

use std::io;
use std::path::PathBuf;

/// After any of these the process is half locked in and must end.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// A wall is missing and the mode is [`Mode::Required`](crate::Mode::Required).
    #[error(
        "the sandbox cannot build its wall `{wall}`: {reason}; {remedy}, \
         or accept less with `sandbox: best-effort` or `sandbox: off`"
    )]
    MissingWall {
        /// Which wall.
        wall: &'static str,
        /// What the kernel said.
        reason: String,
        /// What would let it be built.
        remedy: &'static str,
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
    /// The list of system calls could not be compiled.
    #[error("the sandbox cannot build its wall `system calls`: {0}")]
    Filters(String),
    /// The limits of a program hold in every mode.
    #[error("cannot read this process's size from /proc/self/statm: {0}")]
    Size(#[source] io::Error),
}
