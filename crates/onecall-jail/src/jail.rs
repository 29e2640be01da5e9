//! The order in which the walls go up.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use crate::report::{Report, Wall};
use crate::{
    JailError, descriptors, environment, filesystem, keeper, namespaces, privileges, resources,
    root, syscalls,
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
    /// The one directory a program may write to.
    pub writable: Option<Writable>,
}

/// A directory a program may write to.
#[derive(Clone, Debug)]
pub struct Writable {
    /// Absolute.
    pub path: PathBuf,
    /// The largest file it may become.
    pub max_file_bytes: u64,
}

/// Where a zygote has brought itself and all it forks.
#[derive(Clone, Debug)]
pub struct Isolation {
    walls: Vec<Wall>,
    /// The root for workers, or why there is none.
    root: Result<PathBuf, String>,
}

/// A process locked in, but for the limits of its program.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What stands.
    pub report: Report,
    /// Address space in use before any program.
    baseline: u64,
}

impl Jail {
    /// Leaves the gateway's namespaces for empty ones. For a zygote, once, while it
    /// has a single thread; it forks one more process, which ends with it.
    ///
    /// A missing wall is found by [`prepare`](Self::prepare), in the worker's report.
    pub fn isolate(&self) -> Result<Isolation, JailError> {
        if self.mode == Mode::Off {
            return Ok(Isolation { walls: Vec::new(), root: Err(String::new()) });
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
        Ok(Isolation { walls: vec![namespaces], root })
    }

    /// Builds every wall around this process, which has a single thread and of the
    /// descriptors above the standard streams uses only `keep`.
    pub fn prepare(
        &self,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<Prepared, JailError> {
        let baseline = resources::virtual_memory().map_err(JailError::Size)?;
        let mut report = Report { walls: isolation.walls.clone() };
        if self.mode != Mode::Off {
            self.build(isolation, keep, &mut report.walls);
        }
        if self.mode == Mode::Required {
            report.complete()?;
        }
        Ok(Prepared { report, baseline })
    }

    /// Each wall may need what the next one takes away.
    fn build(&self, isolation: &Isolation, keep: &[BorrowedFd<'_>], walls: &mut Vec<Wall>) {
        let file_bytes = self.writable.as_ref().map_or(0, |writable| writable.max_file_bytes);
        walls.extend([
            Wall::build("environment", OUR_FAULT, environment::check),
            Wall::build("descriptors", NEWER_KERNEL, || descriptors::close_all_but(keep)),
            Wall::build("resources", OUR_FAULT, || resources::limit(file_bytes)),
            Wall::build("empty root", ALLOW_NAMESPACES, || match &isolation.root {
                Ok(root) => root::enter(root),
                Err(reason) => Err(io::Error::other(reason.clone())),
            }),
            Wall::build("privileges", OUR_FAULT, privileges::drop_all),
            Wall::build("filesystem", NEWER_KERNEL, || filesystem::restrict(self)),
            Wall::build("system calls", NEWER_KERNEL, || syscalls::restrict(self)),
        ]);
    }

    /// All that a program may see of the disk.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let writable = self.writable.iter().map(|writable| &writable.path);
        self.readable.iter().chain(writable).map(PathBuf::as_path)
    }
}

impl Prepared {
    /// Applies the limits of one program: memory on top of what the process used when
    /// it was prepared, and computing time from now on.
    pub fn limit(&self, memory_bytes: u64, cpu_seconds: Option<u64>) -> io::Result<()> {
        resources::limit_memory(self.baseline, memory_bytes)?;
        cpu_seconds.map_or(Ok(()), resources::limit_cpu)
    }
}
