//! Canaries: escape attempts that are made in a sandboxed process that runs no program, to verify
//! the sandbox.
//!
//! Each attempt tests one property of the sandbox, whichever wall provides it, and is harmless if
//! it succeeds.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::Property;
use crate::confinement::{Confinement, System};

/// One escape attempt.
pub struct Canary<'a> {
    /// The property that is violated if the attempt succeeds.
    pub property: Property,
    /// A description of the attempt.
    pub attempt: &'static str,
    pub(crate) run: Box<dyn Fn() -> io::Result<()> + 'a>,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CanaryResult {
    /// The attempt was rejected with this error.
    Refused(Errno),
    /// The attempt succeeded, or failed for another reason than a rejection.
    Escaped(String),
}

impl Canary<'_> {
    /// Makes the attempt. An error other than a rejection means that the attempt passed the wall
    /// and failed behind it.
    #[must_use]
    pub fn attempt_escape(&self) -> CanaryResult {
        match (self.run)() {
            Ok(()) => CanaryResult::Escaped("it succeeded".to_owned()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(errno @ (Errno::PERM | Errno::ACCESS | Errno::ROFS | Errno::NOSYS)) => {
                    CanaryResult::Refused(errno)
                }
                _ => CanaryResult::Escaped(format!("it was not refused: {error}")),
            },
        }
    }
}

/// The attempts that a worker survives. The worker was prepared with `keep`.
#[must_use]
pub fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
    System::canaries(keep)
}

/// Makes the attempt that a worker does not survive: if the wall holds, the kernel kills the
/// process with SIGSYS, and this function does not return.
pub fn deadly_canary() {
    System::deadly_canary();
}
