//! The boundary between the jail and the operating system.
//!
//! `linux/` has walls; every other system is `Unconfined`, which
//! runs programs only where the configuration demands no wall. Which of the two this build has is
//! decided here and nowhere else.

use std::fmt::Debug;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::{Canary, Enclosed, Jail, JailError, Prepared, ProgramLimits, Requirement, Scratch};

#[cfg(target_os = "linux")]
pub(crate) use crate::linux::Linux as System;
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::unconfined::Unconfined as System;

/// What an operating system does to lock programs in.
pub trait Confinement {
    /// Where a zygote has brought itself and all it forks.
    type Isolation: Clone + Debug + Send + Sync;

    /// Checks whether this system has walls at all, if the configuration demands a property. Whether
    /// each wall can be built shows when it is built.
    ///
    /// # Errors
    /// Fails where no property that is demanded could hold.
    fn check(requirement: &Requirement) -> Result<(), JailError>;

    /// Does what [`Jail::isolate`] promises.
    ///
    /// # Errors
    /// Fails where workers could not be forked, or could never be locked in.
    fn isolate(jail: &Jail) -> Result<Self::Isolation, JailError>;

    /// Does what [`Jail::prepare`] promises.
    ///
    /// # Errors
    /// Fails where no wall holds a property that the configuration demands.
    fn prepare(
        jail: &Jail,
        isolation: &Self::Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Prepared, JailError>;

    /// Does what [`Jail::enclose`] promises.
    ///
    /// # Errors
    /// Fails where no wall holds a property that the configuration demands.
    fn enclose(
        jail: &Jail,
        isolation: &Self::Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Enclosed, JailError>;

    /// Applies the limits of one program to this process, in every mode of the sandbox. Its address
    /// space had `baseline` bytes when it was prepared.
    ///
    /// # Errors
    /// Fails where the system refuses a limit.
    fn limit(baseline: u64, limits: ProgramLimits) -> io::Result<()>;

    /// The attempts to break out that a worker prepared with `keep` survives.
    fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>>;

    /// The attempt to break out that a worker does not survive where the wall holds.
    fn deadly_canary();

    /// Makes a folder in memory, without a place in any file tree.
    ///
    /// # Errors
    /// Fails where the system does not let this process make one.
    fn make_scratch(scratch: Scratch) -> io::Result<OwnedFd>;

    /// Has the system kill this process when its parent dies, where the system can.
    ///
    /// # Errors
    /// Fails if the parent is gone already.
    fn die_with_parent() -> io::Result<()>;

    /// Checks that this process has a single thread, where the system says how many it has.
    ///
    /// # Errors
    /// Fails if there are several.
    fn check_single_thread() -> io::Result<()>;
}
