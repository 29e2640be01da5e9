//! The configuration of a sandbox, independent of the operating system.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::confinement::{Confinement, System};
use crate::{JailError, Report, Requirement, ScratchFolder};

/// The configuration of a sandbox.
#[derive(Clone, Debug, Default)]
pub struct Jail {
    /// The properties that must hold before a program runs.
    pub requirement: Requirement,
    /// Absolute paths that a program may read; missing ones are ignored.
    pub readable: Vec<PathBuf>,
    /// Absolute paths with the files of an external interpreter, which a program may read and load
    /// as code; missing ones are ignored.
    pub loadable: Vec<PathBuf>,
    /// Directories that a program may read at another path, which comes second. They are only
    /// visible in a separate root.
    pub remapped: Vec<(PathBuf, PathBuf)>,
    /// The absolute path of the only directory that a program may write to.
    pub writable: Option<PathBuf>,
    /// A folder in memory that the programs of this jail share and may write to. It only exists in
    /// a separate root.
    pub scratch: Option<ScratchFolder>,
    /// The directory in which a program starts, absolute and below one of the paths above; the root
    /// if absent.
    pub start_folder: Option<PathBuf>,
}

/// The state that [`Jail::isolate`] creates in a zygote, for all processes that it forks.
pub type Isolation = <System as Confinement>::Isolation;

/// A sandboxed process, before the limits of its program are applied.
#[derive(Clone, Debug)]
pub struct SandboxedProcess {
    /// The report about the walls.
    pub report: Report,
    /// The address space in use before any program runs, in bytes.
    pub(crate) baseline: u64,
}

/// A process that is about to execute another program, with all walls that survive the execution.
#[derive(Clone, Debug)]
pub struct EnclosedProcess {
    /// The report about the walls so far.
    pub report: Report,
    /// The remaining wall, which the workers of that program have to build, unless the sandbox is off.
    pub filter: Option<SyscallFilter>,
    /// The id of the real user that each worker has to become before it gives up its capabilities.
    pub counted_user: Option<u32>,
}

/// A system call filter, for workers that install it themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallFilter {
    /// The instructions in the kernel's format.
    pub program: Vec<u8>,
    /// The placeholder for the process id of the process that installs the filter, which has to be
    /// replaced by it. No process has this id.
    pub own_process: u32,
    /// The number of the system call that installs a filter.
    pub installed_by: i64,
}

/// The limits of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramLimits {
    /// The memory on top of what the process used when it was prepared.
    pub memory_bytes: u64,
    /// The processor time from now on.
    pub cpu_seconds: u64,
    /// The largest file that it may write.
    pub file_bytes: u64,
}

impl Jail {
    /// Leaves the gateway's namespaces for empty ones. A zygote calls it once, while it has a
    /// single thread; it forks one more process, which exits with it.
    ///
    /// A missing wall is detected by [`prepare`](Self::prepare), in the report of the worker.
    pub fn isolate(&self) -> Result<Isolation, JailError> {
        System::isolate(self)
    }

    /// Builds all walls around this process, which must have a single thread. Of the descriptors
    /// above the standard streams, only those in `keep` stay open.
    pub fn prepare(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<SandboxedProcess, JailError> {
        System::prepare(self, isolation, keep)
    }

    /// Builds all walls that survive when this process executes another program. That program
    /// inherits the descriptors in `keep`, and each worker it forks has to become the counted user
    /// and install the filter.
    pub fn enclose(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<EnclosedProcess, JailError> {
        System::enclose(self, isolation, keep)
    }

    /// Changes to the directory in which programs start.
    pub(crate) fn enter_start_folder(&self) -> Result<(), JailError> {
        let Some(folder) = &self.start_folder else { return Ok(()) };
        let failed = |source| JailError::StartFolder { folder: folder.clone(), source };
        rustix::process::chdir(folder).map_err(|error| failed(error.into()))
    }
}

impl Requirement {
    /// Checks whether this operating system has walls, if any is needed. A gateway calls it before
    /// it starts a process for programs.
    ///
    /// # Errors
    /// If the system has no walls, unless the requirement demands no property.
    pub fn check_system(&self) -> Result<(), JailError> {
        System::check(self)
    }
}

impl SandboxedProcess {
    /// Applies the limits of one program.
    pub fn limit(&self, limits: ProgramLimits) -> io::Result<()> {
        System::limit(self.baseline, limits)
    }
}
