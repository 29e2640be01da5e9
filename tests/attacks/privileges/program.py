{{attempt}}
import fcntl, os, resource, signal, sys, termios, time

def by_libc(name, *arguments):
    import ctypes
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if name == "mmap":
        function.restype = ctypes.c_void_p
    # A number fills its register, whatever the function takes of it.
    gain = function(*(ctypes.c_ulong(it) if isinstance(it, int) else it for it in arguments))
    if gain in (-1, 2**64 - 1):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return gain

attempt("setuid", lambda: os.setuid(0))
attempt("seteuid", lambda: os.seteuid(0))
attempt("setgid", lambda: os.setgid(0))
attempt("setresuid", lambda: os.setresuid(0, 0, 0))
attempt("setgroups", lambda: os.setgroups([0]))
attempt("initgroups", lambda: os.initgroups("root", 0))
attempt("chroot", lambda: os.chroot("."))
attempt("nice", lambda: os.nice(-10))
attempt("nice to others", lambda: os.nice(10))
attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("a scheduler", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("a processor", lambda: by_libc("sched_setaffinity", 0, 8, b"\1" + bytes(7)))
for name in "RLIMIT_AS", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NICE":
    number = getattr(resource, name, {"RLIMIT_NICE": 13}.get(name))
    attempt(f"raise {name}", lambda: resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
    limit = b"\xff" * 16
    attempt(f"raise {name} by prlimit", lambda: by_libc("prlimit", 0, number, limit, None))
attempt("another's limit", lambda: by_libc("prlimit", {{gateway_pid}}, 7, None, bytes(16)))
attempt("the first process's limit", lambda: by_libc("prlimit", 1, 7, None, bytes(16)))
attempt("to be dumpable", lambda: by_libc("prctl", 4, 1, 0, 0, 0))
attempt("to keep capabilities", lambda: by_libc("prctl", 8, 1, 0, 0, 0))
attempt("to outlive the parent", lambda: by_libc("prctl", 1, 0, 0, 0, 0))
attempt("to reap others", lambda: by_libc("prctl", 36, 1, 0, 0, 0))
attempt("to be traced by anyone", lambda: by_libc("prctl", 0x59616D61, -1, 0, 0, 0))
attempt("a filter of its own", lambda: by_libc("prctl", 22, 2, 0, 0, 0))
attempt("speculation", lambda: by_libc("prctl", 53, 0, 2, 0, 0))
attempt("capabilities", lambda: by_libc("syscall", 126 if os.uname().machine == "x86_64" else 91, 0, 0))
attempt("a session", os.setsid)
attempt("a process group", lambda: os.setpgid(0, 0))
attempt("type into a terminal", lambda: fcntl.ioctl(3, termios.TIOCSTI, b"x"))
attempt("type into a terminal past 32 bits", lambda: by_libc("ioctl", 3, 0x100005412, b"x"))
attempt("a controlling terminal", lambda: fcntl.ioctl(3, termios.TIOCSCTTY, 0))
attempt("a terminal's console", lambda: fcntl.ioctl(3, 0x541C, b"\x03"))
attempt("an owner of signals", lambda: fcntl.fcntl(3, 8, {{gateway_pid}}))
attempt("an extended owner", lambda: fcntl.fcntl(3, 15, b"\0" * 8))
attempt("a signal of choice", lambda: fcntl.fcntl(3, 10, 9))
attempt("signals for input", lambda: fcntl.ioctl(3, 0x8901, (1).to_bytes(4, "little")))
attempt("a pipe of a megabyte", lambda: fcntl.fcntl(os.pipe()[0], 1031, 1 << 20))
attempt("a lease", lambda: fcntl.fcntl(3, 1024, 0))
attempt("the time", lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()))
attempt("the machine's name", lambda: by_libc("sethostname", os.uname().nodename.encode(), len(os.uname().nodename)))
attempt("a mask for files", lambda: by_libc("umask", 0))
attempt("no randomness of addresses", lambda: by_libc("personality", 0x0040000))
page = lambda protection: by_libc("mmap", None, 4096, protection, 0x22, -1, 0)
attempt("executable memory", lambda: page(7))
attempt("executable memory that cannot be read", lambda: page(4))
attempt("memory made executable", lambda: by_libc("mprotect", page(3), 4096, 5))
attempt("locked memory", lambda: by_libc("mlock", page(3), 4096))
attempt("memory by number", lambda: by_libc("shmget", 0, 4096, 0o1777))
attempt("messages by number", lambda: by_libc("msgget", 0, 0o1777))
attempt("semaphores by number", lambda: by_libc("semget", 0, 1, 0o1777))
attempt("a message queue", lambda: by_libc("syscall", 240 if os.uname().machine == "x86_64" else 180, b"{{mark}}", 0o100, 0o666, None))
attempt("a handle of a process", lambda: os.pidfd_open(1))
attempt("a timer", lambda: by_libc("timer_create", 0, None, bytes(8)))
