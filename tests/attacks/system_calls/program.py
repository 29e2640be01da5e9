import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
IS_X86 = os.uname().machine == "x86_64"

def system_call(x86_64, aarch64, *arguments):
    result = libc.syscall(ctypes.c_long(x86_64 if IS_X86 else aarch64), *map(ctypes.c_long, arguments))
    print("survived:", result, os.strerror(ctypes.get_errno()))

# %% ptrace
system_call(101, 117, 0, 0, 0, 0)

# %% process_vm_readv
system_call(310, 270, {{gateway_pid}}, 0, 0, 0, 0, 0)

# %% process_vm_writev
system_call(311, 271, 1, 0, 0, 0, 0, 0)

# %% process_madvise
system_call(440, 440, 3, 0, 0, 4, 0)

# %% pidfd_getfd
system_call(438, 438, 3, 0, 0)

# %% kcmp
system_call(312, 272, 1, 1, 0, 0, 0)

# %% unshare
system_call(272, 97, 0x10000000)

# %% setns
system_call(308, 268, 3, 0)

# %% mount
system_call(165, 40, 0, 0, 0, 0, 0)

# %% umount2
system_call(166, 39, 0, 2)

# %% pivot_root
system_call(155, 41, 0, 0)

# %% move_mount
system_call(429, 429, -100, 0, -100, 0, 0)

# %% open_tree
system_call(428, 428, -100, 0, 1)

# %% mount_setattr
system_call(442, 442, -100, 0, 0, 0, 0)

# %% fsopen
system_call(430, 430, 0, 0)

# %% fsconfig
system_call(431, 431, 3, 0, 0, 0, 0)

# %% fsmount
system_call(432, 432, 3, 0, 0)

# %% fspick
system_call(433, 433, -100, 0, 0)

# %% open_by_handle_at
system_call(304, 265, 3, 0, 0)

# %% bpf
system_call(321, 280, 0, 0, 0)

# %% init_module
system_call(175, 105, 0, 0, 0)

# %% finit_module
system_call(313, 273, 3, 0, 0)

# %% delete_module
system_call(176, 106, 0, 0)

# %% kexec_load
system_call(246, 104, 0, 0, 0, 0)

# %% kexec_file_load
system_call(320, 294, 3, 3, 0, 0, 0)

# %% io_uring_setup
system_call(425, 425, 8, 0)

# %% io_uring_enter
system_call(426, 426, 3, 1, 0, 0, 0, 0)

# %% io_uring_register
system_call(427, 427, 3, 0, 0, 0)

# %% perf_event_open
system_call(298, 241, 0, 0, -1, -1, 0)

# %% userfaultfd
system_call(323, 282, 0)

# %% add_key
system_call(248, 217, 0, 0, 0, 0, -2)

# %% request_key
system_call(249, 218, 0, 0, 0, 0)

# %% keyctl
system_call(250, 219, 0, -2, 0)

# %% seccomp
system_call(317, 277, 0, 0, 0)

# %% reboot
system_call(169, 142, 0, 0, 0, 0)

# %% swapon
system_call(167, 224, 0, 0)

# %% swapoff
system_call(168, 225, 0)

# %% acct
system_call(163, 89, 0)

# %% quotactl
system_call(179, 60, 0, 0, 0, 0)

# %% syslog
system_call(103, 116, 3, 0, 0)
