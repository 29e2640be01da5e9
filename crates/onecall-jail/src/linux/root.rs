//! A separate root directory that contains only what a program may access.
//!
//! Landlock prevents opening files but not asking whether they exist; in this root there is nothing
//! else to ask about. The zygote builds the root once, and each worker enters it.
#![expect(unsafe_code, reason = "the attributes of a mount have no safe form")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    mount_remount, move_mount, open_tree,
};
use rustix::process::{chdir, chroot};

use super::scratch;
use crate::Jail;

/// The candidates for the mount point in the zygote's own view; the first that exists is used. No
/// interpreter is installed there, so hiding what is below does no harm.
const MOUNT_POINTS: [&str; 3] = ["/sys", "/mnt", "/tmp"];

const SAFE_MOUNT_FLAGS: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Builds the root. The caller has just entered its own mount namespace.
pub(crate) fn build(jail: &Jail) -> io::Result<PathBuf> {
    // No mount made here may appear on the host.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Cloned before the mount, which may hide them.
    let visible = visible_trees(jail)?;
    let root = MOUNT_POINTS
        .iter()
        .map(PathBuf::from)
        .find(|target| target.is_dir())
        .ok_or_else(|| io::Error::other(format!("none of {MOUNT_POINTS:?} exists")))?;
    mount("onecall", &root, "tmpfs", SAFE_MOUNT_FLAGS, c"size=64k,nr_inodes=1024,mode=0755")?;
    // Mounted first, because a directory of the program may be inside.
    if let Some(scratch) = jail.scratch {
        scratch::mount_in(scratch, &root)?;
    }
    for (path, tree) in visible {
        mount_tree(&root, path, &tree)?;
    }
    mount_remount(&root, MountFlags::BIND | MountFlags::RDONLY | SAFE_MOUNT_FLAGS, c"")?;
    Ok(root)
}

/// Makes `root` the root of this process permanently: it has no descriptor outside, and the
/// capability to change the root again is dropped next.
pub(crate) fn enter(root: &Path) -> io::Result<()> {
    chdir(root)?;
    chroot(".")?;
    Ok(())
}

/// All directories that a program may see and their paths, as trees that are not mounted yet.
fn visible_trees(jail: &Jail) -> io::Result<Vec<(&Path, OwnedFd)>> {
    let readable = jail.readable.iter().map(|path| (path, READ_ONLY | NO_CODE));
    let loadable = jail.loadable.iter().map(|path| (path, READ_ONLY));
    let writable = jail.writable.iter().map(|path| (path, NO_CODE));
    let mut paths: Vec<(&PathBuf, u64)> = readable.chain(loadable).chain(writable).collect();
    paths.retain(|(path, _)| path.exists());
    // An outer directory comes before what is mounted inside it, and includes inner ones with the
    // same access.
    paths.sort_unstable();
    paths.dedup_by(|(inner, inner_access), (outer, access)| {
        inner == outer || (inner_access == access && inner.starts_with(&**outer))
    });
    let in_place = paths.into_iter().map(|(path, access)| (path.as_path(), path, access));
    let remapped = jail.remapped.iter().filter(|(path, _)| path.exists());
    let remapped = remapped.map(|(path, target)| (target.as_path(), path, READ_ONLY | NO_CODE));
    let all = in_place.chain(remapped);
    all.map(|(target, path, access)| Ok((target, clone_tree(path, access)?))).collect()
}

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_CODE: u64 = libc::MOUNT_ATTR_NOEXEC;

fn clone_tree(path: &Path, access: u64) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags)?;
    let attributes = libc::mount_attr {
        attr_set: access | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the kernel reads the empty path and the attributes, both alive here and
    // of the sizes given.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if set == 0 { Ok(tree) } else { Err(io::Error::last_os_error()) }
}

fn mount_tree(root: &Path, path: &Path, tree: &OwnedFd) -> io::Result<()> {
    let inside = path
        .strip_prefix("/")
        .map_err(|_| io::Error::other(format!("{} is not absolute", path.display())))?;
    let target = root.join(inside);
    if fs::metadata(format!("/proc/self/fd/{}", tree.as_raw_fd()))?.is_dir() {
        fs::create_dir_all(&target)?;
    } else {
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        if !target.exists() {
            fs::File::create(&target)?;
        }
    }
    move_mount(tree, c"", CWD, &target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}
