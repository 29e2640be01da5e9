//! Calls that no program makes by accident: a process that makes one is trying to escape, and is
//! killed.

use libc::*;

/// Calls that kill the process.
pub(super) const CALLS: &[i64] = &[
    // Other processes: their memory, their descriptors, their control flow.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    // New namespaces give capabilities over a part of the kernel that is rarely reachable without
    // privileges, and much of it has been exploited.
    SYS_unshare,
    SYS_setns,
    // The mount table.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_move_mount,
    SYS_open_tree,
    SYS_mount_setattr,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    // It opens a file without a path, past every check of directories.
    SYS_open_by_handle_at,
    // Code in the kernel.
    SYS_bpf,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    // Large interfaces with a long list of exploits. io_uring would also make calls that no filter
    // sees.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Further filters, which could make calls fail that this program relies on.
    SYS_seccomp,
    // The machine as a whole.
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    #[cfg(target_arch = "x86_64")]
    SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    SYS_modify_ldt,
];
