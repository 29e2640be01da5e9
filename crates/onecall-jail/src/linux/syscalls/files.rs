//! The file operations that a program may request, depending on the paths it was given.
//!
//! Landlock decides which files can be accessed; a filter cannot read a path.

use libc::*;

use super::conditions::Condition;
use super::{FileAccess, Rules, unconditional};

const READ_CALLS: &[i64] = &[
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    #[cfg(target_arch = "x86_64")]
    SYS_stat,
    #[cfg(target_arch = "x86_64")]
    SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    SYS_access,
    #[cfg(target_arch = "x86_64")]
    SYS_readlink,
];

/// Excludes links, which could mislead the user of the host, and modes, owners and times, which
/// landlock does not protect: a program could change them even for files that it may only read.
const WRITE_CALLS: &[i64] = &[
    SYS_openat,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_copy_file_range,
    SYS_sendfile,
    #[cfg(target_arch = "x86_64")]
    SYS_open,
    #[cfg(target_arch = "x86_64")]
    SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    SYS_rename,
];

/// Calls for a program that can only change its own files.
const OWNER_CALLS: &[i64] = &[
    SYS_fchmod,
    SYS_fchmodat,
    SYS_utimensat,
    SYS_truncate,
    // Queried when a file is copied with its times.
    SYS_listxattr,
    SYS_llistxattr,
    #[cfg(target_arch = "x86_64")]
    SYS_chmod,
];

/// Flags for opening to write, and for opening without reading, which landlock does not protect.
const NON_READ_FLAGS: u32 = (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_PATH).cast_unsigned();

/// Calls that take a descriptor or a path, which a filter cannot distinguish: even with
/// `AT_EMPTY_PATH`, a path that is given is followed. `fstat` takes descriptors only.
const STAT_CALLS: &[i64] = &[SYS_newfstatat, SYS_statx];

/// The denied calls that depend on the permitted file operations.
pub(super) fn denied(files: FileAccess) -> Rules {
    match files {
        FileAccess::None => unconditional(STAT_CALLS),
        FileAccess::Readable | FileAccess::Writable | FileAccess::Private => Rules::new(),
    }
}

/// The part of the allowlist for files.
pub(super) fn rules(files: FileAccess) -> Rules {
    let mut rules = Rules::new();
    match files {
        FileAccess::None => {}
        FileAccess::Readable => {
            rules.extend(unconditional(READ_CALLS));
            rules.insert(SYS_openat, vec![vec![Condition::masked(2, NON_READ_FLAGS, 0)]]);
            #[cfg(target_arch = "x86_64")]
            rules.insert(SYS_open, vec![vec![Condition::masked(1, NON_READ_FLAGS, 0)]]);
        }
        FileAccess::Writable => {
            rules.extend(unconditional(READ_CALLS));
            rules.extend(unconditional(WRITE_CALLS));
        }
        FileAccess::Private => {
            rules.extend(unconditional(READ_CALLS));
            rules.extend(unconditional(WRITE_CALLS));
            rules.extend(unconditional(OWNER_CALLS));
        }
    }
    rules
}
