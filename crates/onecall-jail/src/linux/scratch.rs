//! The in-memory file system of a scratch folder on Linux.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::{fs, io};

use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, fsconfig_create, fsconfig_set_string,
    fsmount, fsopen, mount,
};

use crate::ScratchFolder;

/// The kernel memory for a file, a folder or a name of the largest length.
const KERNEL_BYTES_PER_FILE: u64 = 2048;

/// The bytes of the folder for each file that it may contain.
const BYTES_PER_FILE: u64 = 16 * 1024;

/// The largest number of files in a scratch folder.
const MAX_FILES: u64 = 10_000;

/// The number of files and folders that it can contain.
fn files(scratch: ScratchFolder) -> u64 {
    (scratch.bytes / BYTES_PER_FILE).min(MAX_FILES)
}

fn options(scratch: ScratchFolder) -> [(&'static str, String); 3] {
    let files = files(scratch);
    let contents = scratch.bytes.saturating_sub(files.saturating_mul(KERNEL_BYTES_PER_FILE));
    [("size", contents.to_string()), ("nr_inodes", files.to_string()), ("mode", "1777".to_owned())]
}

/// Mounts the folder below a root that is being built.
pub(crate) fn mount_in(scratch: ScratchFolder, root: &Path) -> io::Result<()> {
    let target = root.join(ScratchFolder::PATH.trim_start_matches('/'));
    fs::create_dir_all(&target)?;
    let options = options(scratch).map(|(key, value)| format!("{key}={value}")).join(",");
    let harmless = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("onecall", &target, "tmpfs", harmless, CString::new(options)?.as_c_str())?)
}

/// Creates the folder as [`ScratchFolder::make`] describes.
pub(crate) fn make(scratch: ScratchFolder) -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options(scratch) {
        fsconfig_set_string(&context, key, value)?;
    }
    fsconfig_create(&context)?;
    let harmless = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, harmless)?)
}
