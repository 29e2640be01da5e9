//! A root directory with nothing in it but what a program may reach.
//!
//! Landlock refuses to open files but not to ask whether they exist; here there is
//! nothing to ask about. The zygote lays the root out once, each worker moves in.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    mount_remount, move_mount, open_tree,
};
use rustix::process::{chdir, chroot};

use crate::Jail;

/// Where the root is mounted, in the zygote's own view: the first that exists.
/// Interpreters do not live there, so hiding what is below does no harm.
const PLACES: [&str; 3] = ["/sys", "/mnt", "/tmp"];

const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Lays the root out. The caller has just entered its own mount namespace.
pub(crate) fn build(jail: &Jail) -> io::Result<PathBuf> {
    // Nothing mounted here may appear on the host.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Taken before the mount, which may hide them.
    let visible = visible_trees(jail)?;
    let root = PLACES
        .iter()
        .map(PathBuf::from)
        .find(|place| place.is_dir())
        .ok_or_else(|| io::Error::other(format!("none of {PLACES:?} exists")))?;
    mount("onecall", &root, "tmpfs", HARMLESS, c"size=64k,nr_inodes=1024,mode=0755")?;
    for (path, tree) in visible {
        show(&root, path, &tree)?;
    }
    mount_remount(&root, MountFlags::BIND | MountFlags::RDONLY | HARMLESS, c"")?;
    Ok(root)
}

/// Makes `root` the root of this process, for good: it has no descriptor outside,
/// and the capability to do this again is dropped next.
pub(crate) fn enter(root: &Path) -> io::Result<()> {
    chdir(root)?;
    chroot(".")?;
    Ok(())
}

fn visible_trees(jail: &Jail) -> io::Result<Vec<(&Path, OwnedFd)>> {
    let mut paths: Vec<&Path> = jail.paths().filter(|path| path.exists()).collect();
    // An outer directory comes before what is mounted inside it.
    paths.sort_unstable();
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    paths.into_iter().map(|path| Ok((path, open_tree(CWD, path, flags)?))).collect()
}

fn show(root: &Path, path: &Path, tree: &OwnedFd) -> io::Result<()> {
    let inside = path
        .strip_prefix("/")
        .map_err(|_| io::Error::other(format!("{} is not absolute", path.display())))?;
    let place = root.join(inside);
    if fs::metadata(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(tree)))?.is_dir() {
        fs::create_dir_all(&place)?;
    } else {
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::File::create(&place)?;
    }
    move_mount(tree, c"", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}
