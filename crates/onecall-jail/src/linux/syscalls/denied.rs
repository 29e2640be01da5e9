//! Calls that ordinary programs make and that are rejected like a missing file permission: with
//! "permission denied", which Python raises as `PermissionError`.
//!
//! If a program was given paths, the allowlist contains some of these calls, and they are not
//! denied then.

use libc::*;

/// Calls that get `EACCES`.
pub(super) const CALLS: &[i64] = &[
    // Files by path.
    SYS_openat,
    SYS_openat2,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_statfs,
    SYS_truncate,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_utimensat,
    SYS_chdir,
    SYS_fchdir,
    SYS_getdents64,
    SYS_inotify_add_watch,
    // The older variants of these calls, which aarch64 does not have.
    #[cfg(target_arch = "x86_64")]
    SYS_open,
    #[cfg(target_arch = "x86_64")]
    SYS_creat,
    #[cfg(target_arch = "x86_64")]
    SYS_stat,
    #[cfg(target_arch = "x86_64")]
    SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    SYS_access,
    #[cfg(target_arch = "x86_64")]
    SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    SYS_rename,
    #[cfg(target_arch = "x86_64")]
    SYS_link,
    #[cfg(target_arch = "x86_64")]
    SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    SYS_chown,
    #[cfg(target_arch = "x86_64")]
    SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    SYS_utime,
    #[cfg(target_arch = "x86_64")]
    SYS_utimes,
    SYS_renameat,
    // Sockets. Pairs as well: a datagram socket of a pair can send to any address.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
];
