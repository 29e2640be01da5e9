//! How programs are locked in, the same for every operating system.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::confinement::{Confinement, System};
use crate::{JailError, Report, Requirement, Scratch};

/// How programs are locked in.
#[derive(Clone, Debug, Default)]
pub struct Jail {
    /// What has to hold before a program runs.
    pub requirement: Requirement,
    /// Absolute paths a program may read; what does not exist is passed over.
    pub readable: Vec<PathBuf>,
    /// The same for the files of an interpreter other than this binary, which it may
    /// also load as code.
    pub loadable: Vec<PathBuf>,
    /// Directories that a program sees at another place than they are, where they come
    /// second, and may read. Without a root of its own it does not see them.
    pub presented: Vec<(PathBuf, PathBuf)>,
    /// The one directory a program may write to, absolute.
    pub writable: Option<PathBuf>,
    /// A folder in memory that the programs of this jail have together, to write to. Without a
    /// root of its own, a program has none.
    pub scratch: Option<Scratch>,
    /// Where a program starts, absolute and below one of the paths above; the root
    /// if absent.
    pub folder: Option<PathBuf>,
}

/// Where a zygote has brought itself and all it forks.
pub type Isolation = <System as Confinement>::Isolation;

/// A process locked in, but for the limits of its program.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What stands.
    pub report: Report,
    /// Address space in use before any program, in bytes.
    pub(crate) baseline: u64,
}

/// A process that is about to become another program, behind every wall that such a
/// change leaves standing.
#[derive(Clone, Debug)]
pub struct Enclosed {
    /// What stands so far.
    pub report: Report,
    /// The wall that is left for the workers of that program to build.
    pub filters: Filters,
    /// The number of the real user that each worker has to become, and then give up its
    /// capabilities.
    pub counted_user: Option<u32>,
}

/// System call filters, for workers that install them themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// The instructions of each filter as the kernel reads them, in the order of installing.
    pub programs: Vec<Vec<u8>>,
    /// Stands for the process that installs a filter wherever one names it, and has to be
    /// replaced there. No process has such a number.
    pub own_process: u32,
    /// The number of the system call that installs a filter.
    pub installed_by: i64,
}

/// What one program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Memory on top of what the process used when it was prepared.
    pub memory_bytes: u64,
    /// Computing time from now on.
    pub cpu_seconds: u64,
    /// The largest file it may write, where it may write at all.
    pub file_bytes: u64,
}

impl Jail {
    /// Leaves the gateway's namespaces for empty ones. For a zygote, once, while it
    /// has a single thread; it forks one more process, which ends with it.
    ///
    /// A missing wall is found by [`prepare`](Self::prepare), in the worker's report.
    pub fn isolate(&self) -> Result<Isolation, JailError> {
        System::isolate(self)
    }

    /// Builds every wall around this process, which has a single thread and of the
    /// descriptors above the standard streams uses only `keep`.
    pub fn prepare(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Prepared, JailError> {
        System::prepare(self, isolation, keep)
    }

    /// Builds every wall that stays when this process executes another program. That
    /// program inherits the descriptors in `keep`, and each worker it forks has to
    /// become the counted user and install the filters.
    pub fn enclose(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Enclosed, JailError> {
        System::enclose(self, isolation, keep)
    }

    /// Moves this process to the folder where programs start.
    pub(crate) fn enter_folder(&self) -> Result<(), JailError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let failed = |source| JailError::Folder { folder: folder.clone(), source };
        rustix::process::chdir(folder).map_err(|error| failed(error.into()))
    }
}

impl Requirement {
    /// Checks whether this operating system has walls, if any is needed. A gateway asks before it
    /// starts a process for programs.
    ///
    /// # Errors
    /// Fails on a system without walls, unless the requirement demands no property.
    pub fn check_system(&self) -> Result<(), JailError> {
        System::check(self)
    }
}

impl Prepared {
    /// Applies the limits of one program.
    pub fn limit(&self, limits: ProgramLimits) -> io::Result<()> {
        System::limit(self.baseline, limits)
    }
}
