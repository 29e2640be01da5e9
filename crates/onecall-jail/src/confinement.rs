//! The interface between the jail and the operating system.
//!
//! `linux/` implements the walls; every other system uses `Unconfined`, which runs programs only if
//! the configuration demands no wall. The choice between the two is made here and nowhere else.

use std::fmt::Debug;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::{
    Canary, EnclosedProcess, Jail, JailError, ProgramLimits, Requirement, SandboxedProcess,
    ScratchFolder,
};

#[cfg(target_os = "linux")]
pub(crate) use crate::linux::Linux as System;
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::unconfined::Unconfined as System;

/// The operations with which an operating system sandboxes programs.
pub trait Confinement {
    /// The state that `isolate` creates in a zygote, for all processes that it forks.
    type Isolation: Clone + Debug + Send + Sync;

    /// Checks whether this system has walls at all, if the configuration demands a property.
    /// Whether each wall can be built only shows when it is built.
    ///
    /// # Errors
    /// If no demanded property could hold.
    fn check(requirement: &Requirement) -> Result<(), JailError>;

    /// Implements [`Jail::isolate`].
    ///
    /// # Errors
    /// If workers could not be forked, or could never be sandboxed.
    fn isolate(jail: &Jail) -> Result<Self::Isolation, JailError>;

    /// Implements [`Jail::prepare`].
    ///
    /// # Errors
    /// If no wall holds a property that the configuration demands.
    fn prepare(
        jail: &Jail,
        isolation: &Self::Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<SandboxedProcess, JailError>;

    /// Implements [`Jail::enclose`].
    ///
    /// # Errors
    /// If no wall holds a property that the configuration demands.
    fn enclose(
        jail: &Jail,
        isolation: &Self::Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<EnclosedProcess, JailError>;

    /// Applies the limits of one program to this process, in every mode of the sandbox. Its address
    /// space had `baseline` bytes when it was prepared.
    ///
    /// # Errors
    /// If the system rejects a limit.
    fn limit(baseline: u64, limits: ProgramLimits) -> io::Result<()>;

    /// The escape attempts that a worker survives. The worker was prepared with `keep`.
    fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>>;

    /// Makes the escape attempt that a worker does not survive if the wall holds.
    fn deadly_canary();

    /// Creates a folder in memory that is not mounted anywhere.
    ///
    /// # Errors
    /// If the system does not allow this process to create one.
    fn make_scratch(scratch: ScratchFolder) -> io::Result<OwnedFd>;

    /// Makes the system kill this process when its parent dies, if the system supports it.
    ///
    /// # Errors
    /// If the parent is already gone.
    fn die_with_parent() -> io::Result<()>;

    /// Checks that this process has a single thread, if the system can report the number.
    ///
    /// # Errors
    /// If there are several threads.
    fn check_single_thread() -> io::Result<()>;
}
