//! The order in which the walls go up.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::report::{Report, Wall};
use crate::syscalls::Filter;
use crate::{
    JailError, descriptors, environment, filesystem, keeper, namespaces, privileges, resources,
    root, signals, syscalls,
};

const ALLOW_NAMESPACES: &str = "allow unprivileged user namespaces \
     (sysctl user.max_user_namespaces > 0, kernel.unprivileged_userns_clone=1, \
     kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile \
     that allows unshare)";
const NEWER_KERNEL: &str = "use a kernel from 5.13 on with landlock and seccomp enabled";
const OUR_FAULT: &str = "report this as a bug of onecall";

/// What to do where the kernel cannot build a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Refuse to run programs.
    #[default]
    Required,
    /// Run them behind the walls there are.
    BestEffort,
    /// Build none; only the limits of a program hold.
    Off,
}

/// How programs are locked in.
#[derive(Clone, Debug, Default)]
pub struct Jail {
    /// What to do where a wall is missing.
    pub mode: Mode,
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
    /// Where a program starts, absolute and below one of the paths above; the root
    /// if absent.
    pub folder: Option<PathBuf>,
}

/// Where a zygote has brought itself and all it forks.
#[derive(Clone, Debug)]
pub struct Isolation {
    walls: Vec<Wall>,
    /// The root for workers, or why there is none.
    root: Result<PathBuf, String>,
    /// What they may ask of the kernel, or why that could not be written down.
    filters: Result<Vec<Filter>, String>,
}

/// A process locked in, but for the limits of its program.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What stands.
    pub report: Report,
    /// Address space in use before any program.
    baseline: u64,
}

/// A process that is about to become another program, behind every wall that such a
/// change leaves standing.
#[derive(Clone, Debug)]
pub struct Enclosed {
    /// What stands so far.
    pub report: Report,
    /// The wall that is left for the workers of that program to build.
    pub filters: Vec<Filter>,
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
        environment::forget_allocator_setting();
        signals::reset();
        if self.mode == Mode::Off {
            return Ok(Isolation {
                walls: Vec::new(),
                root: Err(String::new()),
                filters: Ok(Vec::new()),
            });
        }
        let mut kept = Ok(());
        let namespaces = Wall::build("namespaces", ALLOW_NAMESPACES, || {
            let identity = namespaces::leave()?;
            kept = keeper::start();
            namespaces::settle(identity)
        });
        kept.map_err(JailError::Keeper)?;
        let root = if namespaces.holds() {
            root::build(self).map_err(|error| error.to_string())
        } else {
            Err("it needs the namespaces".to_owned())
        };
        let filters = syscalls::filters(self).map_err(|error| error.to_string());
        Ok(Isolation { walls: vec![namespaces], root, filters })
    }

    /// Builds every wall around this process, which has a single thread and of the
    /// descriptors above the standard streams uses only `keep`.
    pub fn prepare(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Prepared, JailError> {
        let baseline = resources::virtual_memory().map_err(JailError::Size)?;
        let mut walls = self.enclosing_walls(isolation, keep)?;
        if self.mode != Mode::Off {
            walls.push(Wall::build("system calls", NEWER_KERNEL, || match &isolation.filters {
                Ok(filters) => syscalls::restrict(filters),
                Err(reason) => Err(io::Error::other(reason.clone())),
            }));
        }
        Ok(Prepared { report: self.accept(walls)?, baseline })
    }

    /// Builds every wall that stays when this process executes another program. That
    /// program inherits the descriptors in `keep`, and each worker it forks has to
    /// install the filters.
    pub fn enclose(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Enclosed, JailError> {
        let report = self.accept(self.enclosing_walls(isolation, keep)?)?;
        let filters = isolation.filters.clone().map_err(JailError::Filters)?;
        Ok(Enclosed { report, filters })
    }

    fn accept(&self, walls: Vec<Wall>) -> Result<Report, JailError> {
        let report = Report { walls };
        if self.mode == Mode::Required {
            report.complete()?;
        }
        Ok(report)
    }

    /// Each wall may need what the next one takes away.
    fn enclosing_walls(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Vec<Wall>, JailError> {
        let mut walls = isolation.walls.clone();
        if self.mode == Mode::Off {
            self.enter_folder()?;
            return Ok(walls);
        }
        walls.extend([
            Wall::build("environment", OUR_FAULT, environment::check),
            Wall::build("descriptors", NEWER_KERNEL, || descriptors::close_all_but(keep)),
            Wall::build("resources", OUR_FAULT, || resources::limit(self.writable.is_some())),
            Wall::build("empty root", ALLOW_NAMESPACES, || match &isolation.root {
                Ok(root) => root::enter(root),
                Err(reason) => Err(io::Error::other(reason.clone())),
            }),
        ]);
        // Elsewhere, something of the host could be at those places.
        let own_root = walls.last().is_some_and(Wall::holds);
        let presented = if own_root { self.presented.as_slice() } else { &[] };
        self.enter_folder()?;
        walls.extend([
            Wall::build("privileges", OUR_FAULT, privileges::drop_all),
            Wall::build("filesystem", NEWER_KERNEL, || filesystem::restrict(self, presented)),
        ]);
        Ok(walls)
    }

    fn enter_folder(&self) -> Result<(), JailError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let failed = |source| JailError::Folder { folder: folder.clone(), source };
        rustix::process::chdir(folder).map_err(|error| failed(error.into()))
    }
}

impl Prepared {
    /// Applies the limits of one program.
    pub fn limit(&self, limits: ProgramLimits) -> io::Result<()> {
        resources::limit_program(self.baseline, limits)
    }
}
