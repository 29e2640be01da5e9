//! Attempts to break out, to be made in a locked-in process that runs no program.
//!
//! Each tries one property of the sandbox, whichever wall holds it, and is harmless where it
//! succeeds.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::Property;
use crate::confinement::{Confinement, System};

/// One attempt to break out.
pub struct Canary<'a> {
    /// What would not hold if it succeeded.
    pub property: Property,
    /// What it tries.
    pub attempt: &'static str,
    pub(crate) run: Box<dyn Fn() -> io::Result<()> + 'a>,
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was refused, with this error.
    Held(Errno),
    /// It was not, or not by the wall.
    Broken(String),
}

impl Canary<'_> {
    /// Tries to break out. An error other than a refusal means that the attempt got
    /// past the wall and failed behind it.
    #[must_use]
    pub fn sing(&self) -> Verdict {
        match (self.run)() {
            Ok(()) => Verdict::Broken("it succeeded".to_owned()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(errno @ (Errno::PERM | Errno::ACCESS | Errno::ROFS | Errno::NOSYS)) => {
                    Verdict::Held(errno)
                }
                _ => Verdict::Broken(format!("it was not refused: {error}")),
            },
        }
    }
}

/// The attempts that a worker survives. It was prepared with `keep`.
#[must_use]
pub fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
    System::canaries(keep)
}

/// The attempt that a worker does not survive: where the wall holds, the kernel ends
/// the process by SIGSYS, and this does not return.
pub fn deadly_canary() {
    System::deadly_canary();
}
