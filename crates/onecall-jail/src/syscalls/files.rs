//! What a program may ask about files, depending on what it was given.
//!
//! Which files is landlock's to say; a filter cannot read a path.

use std::io;

use libc::*;
use seccompiler::SeccompRule;

use super::conditions::{masked, rule};
use super::{Files, Rules, unconditional};

const READING: &[i64] = &[
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

/// Not links, which could lead the host's user astray, nor modes, owners and times,
/// which landlock does not guard: the readable files would be theirs to change.
const WRITING: &[i64] = &[
    SYS_openat,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
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

/// Opening for writing, and opening without reading, which landlock does not guard.
const NOT_READING: u64 = (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_PATH).cast_unsigned() as u64;

const OF_DESCRIPTOR: u64 = AT_EMPTY_PATH.cast_unsigned() as u64;

/// The part of what is denied that takes a look at the arguments.
pub(super) fn denied(files: Files) -> io::Result<Rules> {
    match files {
        Files::None => Ok(asking_about(0)?.into()),
        Files::Readable | Files::Writable => Ok(Rules::new()),
    }
}

fn asking_about(descriptor: u64) -> io::Result<[(i64, Vec<SeccompRule>); 2]> {
    Ok([
        (SYS_newfstatat, vec![rule(vec![masked(3, OF_DESCRIPTOR, descriptor)?])?]),
        (SYS_statx, vec![rule(vec![masked(2, OF_DESCRIPTOR, descriptor)?])?]),
    ])
}

/// The part of the allowlist that has to do with files.
pub(super) fn rules(files: Files) -> io::Result<Rules> {
    let mut rules = Rules::new();
    match files {
        // Asking about a descriptor is the same call as asking about a path.
        Files::None => rules.extend(asking_about(OF_DESCRIPTOR)?),
        Files::Readable => {
            rules.extend(unconditional(READING));
            rules.insert(SYS_openat, vec![rule(vec![masked(2, NOT_READING, 0)?])?]);
            #[cfg(target_arch = "x86_64")]
            rules.insert(SYS_open, vec![rule(vec![masked(1, NOT_READING, 0)?])?]);
        }
        Files::Writable => {
            rules.extend(unconditional(READING));
            rules.extend(unconditional(WRITING));
        }
    }
    Ok(rules)
}
