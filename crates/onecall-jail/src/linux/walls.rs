//! Builds the walls in the right order.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use super::counted_user::{self, CountedUser};
use super::syscalls::{CodeSource, FileAccess, Filter, NamespaceScope};
use super::{
    canaries, descriptors, filesystem, inheritance, keeper, lifetime, namespaces, oom, privileges,
    resources, root, scratch,
};
use crate::confinement::Confinement;
use crate::report::{Report, Wall, WallState};
use crate::{
    Canary, EnclosedProcess, Jail, JailError, JailMode, ProgramLimits, Requirement,
    SandboxedProcess, ScratchFolder, SyscallFilter, environment, signals,
};

const ALLOW_NAMESPACES: &str = "allow unprivileged user namespaces \
     (sysctl user.max_user_namespaces > 0, kernel.unprivileged_userns_clone=1, \
     kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile \
     that allows unshare)";
const NEWER_KERNEL: &str = "use a kernel from 5.13 on with landlock and seccomp enabled";
const REPORT_BUG: &str = "report this as a bug of onecall";

/// The walls of the Linux kernel.
pub struct Linux;

/// The state that `isolate` creates in a zygote, for all processes that it forks.
#[derive(Clone, Debug)]
pub struct Isolation {
    walls: Vec<Wall>,
    /// The root directory for workers, or why there is none.
    root: Result<PathBuf, NoRoot>,
    /// The system call filter for workers, unless the sandbox is off, or why it could not be made.
    filter: Result<Option<Filter>, Arc<io::Error>>,
    /// The file operations that the filter allows.
    files: FileAccess,
    /// The user whose threads the kernel counts, because it would not count those of root.
    counted: Option<CountedUser>,
}

/// Why workers have no separate root.
#[derive(Clone, Debug, thiserror::Error)]
enum NoRoot {
    #[error("the sandbox is off")]
    Off,
    #[error("it needs namespaces: {reason}")]
    NoNamespaces { reason: String },
    #[error(transparent)]
    NotBuilt(Arc<io::Error>),
}

impl Confinement for Linux {
    type Isolation = Isolation;

    /// Always succeeds: every kernel has some wall, and each worker's report shows which ones were
    /// built.
    fn check(_requirement: &Requirement) -> Result<(), JailError> {
        Ok(())
    }

    fn isolate(jail: &Jail) -> Result<Isolation, JailError> {
        environment::remove_allocator_setting();
        signals::reset();
        oom::prefer_as_victim();
        if jail.requirement.mode == JailMode::Off {
            return Ok(Isolation {
                walls: Vec::new(),
                root: Err(NoRoot::Off),
                filter: Ok(None),
                files: FileAccess::Writable,
                counted: None,
            });
        }
        let mut kept = Ok(());
        let mut counted = None;
        let namespaces = Wall::build("namespaces", ALLOW_NAMESPACES, || {
            let id_map_writer = counted_user::IdMapWriter::start();
            let identity = namespaces::enter_new();
            // The helper process has to exit in any case.
            counted = id_map_writer.and_then(counted_user::IdMapWriter::finish);
            let identity = identity?;
            kept = keeper::start();
            namespaces::set_neutral_identity(identity, counted.is_some())
        });
        kept.map_err(JailError::Keeper)?;
        let root = match &namespaces.state {
            WallState::Holds => {
                root::build(jail).map_err(|error| NoRoot::NotBuilt(Arc::new(error)))
            }
            WallState::Missing { reason, .. } => {
                counted = counted_user::without_namespaces();
                Err(NoRoot::NoNamespaces { reason: reason.clone() })
            }
        };
        let files = accessible_files(jail, root.is_ok(), filesystem::is_supported());
        let code = if jail.loadable.is_empty() { CodeSource::Sealed } else { CodeSource::Files };
        let namespace_scope =
            if namespaces.holds() { NamespaceScope::Own } else { NamespaceScope::Shared };
        let filter = Filter::new(files, code, namespace_scope).map(Some).map_err(Arc::new);
        Ok(Isolation { walls: vec![namespaces], root, filter, files, counted })
    }

    fn prepare(
        jail: &Jail,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<SandboxedProcess, JailError> {
        let baseline = resources::virtual_memory().map_err(JailError::Size)?;
        let mut walls = enclosing_walls(jail, isolation, keep, privileges::drop_all)?;
        if jail.requirement.mode != JailMode::Off {
            walls.push(Wall::build("system calls", NEWER_KERNEL, || match &isolation.filter {
                Ok(filter) => filter.as_ref().map_or(Ok(()), Filter::install),
                Err(error) => Err(io::Error::other(Arc::clone(error))),
            }));
        }
        let report = Report { walls, file_calls: isolation.files.into() };
        report.check(&jail.requirement, &[])?;
        Ok(SandboxedProcess { report, baseline })
    }

    fn enclose(
        jail: &Jail,
        isolation: &Isolation,
        keep: &[BorrowedFd<'_>],
    ) -> Result<EnclosedProcess, JailError> {
        let walls = enclosing_walls(jail, isolation, keep, privileges::keep_for_workers)?;
        let report = Report { walls, file_calls: isolation.files.into() };
        report.check(&jail.requirement, &["system calls"])?;
        let filter = isolation.filter.as_ref().map_err(|it| JailError::Filter(Arc::clone(it)))?;
        let filter = filter.as_ref().map(|filter| SyscallFilter {
            program: filter.bytes(),
            own_process: Filter::OWN_PROCESS,
            installed_by: Filter::INSTALLED_BY,
        });
        Ok(EnclosedProcess {
            report,
            filter,
            counted_user: isolation.counted.map(CountedUser::number),
        })
    }

    fn limit(baseline: u64, limits: ProgramLimits) -> io::Result<()> {
        resources::limit_program(baseline, limits)
    }

    fn canaries<'a>(keep: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
        canaries::all(keep)
    }

    fn deadly_canary() {
        canaries::deadly();
    }

    fn make_scratch(scratch: ScratchFolder) -> io::Result<OwnedFd> {
        scratch::make(scratch)
    }

    fn die_with_parent() -> io::Result<()> {
        lifetime::die_with_parent()
    }

    fn check_single_thread() -> io::Result<()> {
        match fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(()),
            _ => Err(io::Error::other("a process with several threads cannot be forked")),
        }
    }
}

/// The file operations that programs may request. If neither their `own_root` nor landlock
/// restricts the files, `best-effort` allows none; an interpreter can hardly load a module then, so
/// `required` reports the missing property instead.
fn accessible_files(jail: &Jail, own_root: bool, landlock: bool) -> FileAccess {
    let paths = jail.readable.len() + jail.loadable.len() + jail.remapped.len();
    match jail {
        _ if !own_root && !landlock && jail.requirement.mode == JailMode::BestEffort => {
            FileAccess::None
        }
        Jail { writable: Some(_), .. } => FileAccess::Writable,
        Jail { scratch: Some(_), .. } if own_root => FileAccess::Private,
        _ if paths > 0 => FileAccess::Readable,
        _ => FileAccess::None,
    }
}

/// Builds the walls in an order in which none removes what a later one needs.
fn enclosing_walls(
    jail: &Jail,
    isolation: &Isolation,
    keep: &[BorrowedFd<'_>],
    give_up: fn(Option<CountedUser>) -> io::Result<()>,
) -> Result<Vec<Wall>, JailError> {
    let mut walls = isolation.walls.clone();
    if jail.requirement.mode == JailMode::Off {
        jail.enter_start_folder()?;
        return Ok(walls);
    }
    walls.extend([
        Wall::build("environment", REPORT_BUG, inheritance::check_environment),
        Wall::build("descriptors", NEWER_KERNEL, || descriptors::close_all_but(keep)),
        Wall::build("resources", REPORT_BUG, resources::limit),
        Wall::build("empty root", ALLOW_NAMESPACES, || match &isolation.root {
            Ok(root) => root::enter(root),
            Err(reason) => Err(io::Error::other(reason.clone())),
        }),
    ]);
    // Without a separate root, these paths could exist on the host.
    let own_root = walls.last().is_some_and(Wall::holds);
    let remapped = if own_root { jail.remapped.as_slice() } else { &[] };
    // The filter of a jail with a scratch folder rely on the mounts of its root.
    if jail.scratch.is_some() && isolation.root.is_ok() && !own_root {
        return Err(JailError::Root);
    }
    let scratch = if own_root { jail.scratch } else { None };
    jail.enter_start_folder()?;
    walls.extend([
        Wall::build("privileges", REPORT_BUG, || give_up(isolation.counted)),
        Wall::build("filesystem", NEWER_KERNEL, || filesystem::restrict(jail, remapped, scratch)),
    ]);
    Ok(walls)
}
