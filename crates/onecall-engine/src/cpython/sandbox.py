"""The sandbox of a program on the system's Python: most walls were built before this interpreter
was started, and each worker builds the last one itself before it gets a program."""

import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import struct
import threading
import time

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION = 0x20080522
SECCOMP_SET_MODE_FILTER = 1
PTRACE_TRACEME = 0

_libc = ctypes.CDLL(None, use_errno=True)

# The original, because programs see another one; see machine.py.
_uname = os.uname

# The setup that the process before this interpreter has prepared.
_setup = None

# The address space in use before any program runs.
_baseline = 0

# The wall that each worker builds itself, for the report.
_own_walls = []


class _Program(ctypes.Structure):
    """A filter in the format of the kernel."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def configure(setup):
    """Sets the setup; called once in the zygote."""
    global _setup
    _setup = setup


def confines_effects():
    """Whether the sandbox keeps programs from changing files, other processes and the network."""
    return _setup["confines_effects"]


def _checked(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _prctl(option, value):
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def begin_worker():
    """Called first in each worker: makes the kernel kill it when its parent dies, and measures its
    address space."""
    global _baseline
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The file was opened by the zygote, when there was a /proc, so it has the zygote's size. A
    # worker begins as its copy.
    pages = os.pread(_setup["size"], 256, 0).split()[0]
    os.close(_setup["size"])
    _baseline = int(pages) * mmap.PAGESIZE


def lock(keep):
    """Builds the last walls of this worker's sandbox; it keeps only the descriptors in `keep`."""
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, 4096)
    if not _setup["filter"]:
        return
    begun = time.perf_counter_ns()
    missing = None
    try:
        _become_counted_user()
        # The kernel resets this flag when a program is executed.
        _prctl(PR_SET_DUMPABLE, 0)
        _install(_setup["filter"])
    except OSError as error:
        if _setup["is_required"]:
            raise
        missing = str(error)
    cost = time.perf_counter_ns() - begun
    _own_walls.append(_wall("system calls", missing, cost))


def _become_counted_user():
    """Switches to the real user whose threads the kernel counts, keeps the effective user, and
    drops the capability for it."""
    user = _setup["counted_user"]
    if user is None:
        return
    os.setresuid(user, os.geteuid(), os.geteuid())
    _checked(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    _checked(_libc.capset(struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)))


def _install(filter):
    # Replaces the placeholder for the process id.
    placeholder, own = (struct.pack("=I", pid) for pid in (filter["own_process"], os.getpid()))
    instructions = b"".join(
        code + (own if operand == placeholder else operand)
        for code, operand in struct.iter_unpack("4s4s", bytes.fromhex(filter["program"]))
    )
    program = _Program(len(instructions) // 8, instructions)
    install = ctypes.c_long(filter["installed_by"])
    _checked(_libc.syscall(install, SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(program)))


def limit(memory_bytes, cpu_seconds, file_bytes):
    """Applies the limits of the next program."""
    _lower_limit(resource.RLIMIT_AS, _baseline + memory_bytes)
    _lower_limit(resource.RLIMIT_FSIZE, file_bytes)
    _lower_limit(resource.RLIMIT_NPROC, _setup["threads"])
    # The kernel counts from the fork, so the time of the warm-up is added. SIGXCPU comes first; a
    # program that ignores it has one more second.
    seconds = int(time.process_time()) + 1 + cpu_seconds
    _lower_limit(resource.RLIMIT_CPU, seconds, seconds + 1)


def _lower_limit(kind, soft, hard=None):
    most = resource.getrlimit(kind)[1]
    most = 2**63 - 1 if most == resource.RLIM_INFINITY else most
    resource.setrlimit(kind, (min(soft, most), min(soft if hard is None else hard, most)))


def _wall(name, missing, nanoseconds):
    seconds, nanoseconds = divmod(nanoseconds, 10**9)
    return {"name": name, "missing": missing, "cost": {"secs": seconds, "nanos": nanoseconds}}


def test(keep):
    """Tests the sandbox by attempts to break out; each is harmless if it succeeds. The worker
    cannot run a program afterwards."""
    attempts = []
    for property, tried, attempt in _canaries(keep):
        broke = None
        try:
            if attempt():
                broke = "it succeeded"
        except PermissionError:
            pass
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.ENOENT, errno.ENOSYS):
                broke = f"it was not refused: {error}"
        attempts.append({"property": property, "tried": tried, "broke": broke})
    walls = _setup["walls"] + _own_walls
    return {"walls": walls, "file_calls": _setup["file_calls"], "attempts": attempts}


def _canaries(keep):
    def create():
        path = f"/onecall-canary-{os.getpid()}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.remove(path)
        return True

    def fork():
        if os.fork() == 0:
            os._exit(0)
        return True

    def map_code():
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        return True

    def execute():
        # Without the wall, the call fails only because the file does not exist.
        try:
            os.execv("/onecall-canary", ["canary"])
        except FileNotFoundError:
            return True

    def raise_a_limit():
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        except ValueError:
            # This module reports a missing permission in this way.
            return False
        return True

    def is_open(descriptor):
        try:
            return bool(os.fstat(descriptor))
        except OSError:
            return False

    def visible(path):
        os.stat(path)
        return True

    def signal_first():
        os.kill(1, 0)
        return True

    def become_root():
        os.setuid(0)
        return True

    def see_the_name():
        return _uname().nodename != "onecall"

    def ask_about_first():
        return os.sched_getaffinity(1)

    def read_clock_of_first():
        time.clock_gettime((~1 << 3) | 2)
        return True

    def learn_the_peer():
        return any(map(peer, keep))

    def peer(descriptor):
        size = ctypes.c_uint(12)
        found = ctypes.create_string_buffer(12)
        asked = descriptor, socket.SOL_SOCKET, socket.SO_PEERCRED, found, ctypes.byref(size)
        return _libc.getsockopt(*asked) == 0

    def start_a_thread_too_many():
        resource.setrlimit(resource.RLIMIT_NPROC, (0, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
        try:
            threading.Thread(target=int).start()
        except RuntimeError:
            return False
        return True

    others = [descriptor for descriptor in range(3, 1024) if descriptor not in keep]
    return [
        ("files", "read /etc/passwd", lambda: open("/etc/passwd").read()),
        ("files", "read /proc/1/environ", lambda: open("/proc/1/environ").read()),
        ("files", "list the root", lambda: os.listdir("/")),
        ("files", "create a file", create),
        ("metadata", "see /etc/passwd", lambda: visible("/etc/passwd")),
        ("metadata", "follow /proc/self/exe", lambda: os.readlink("/proc/self/exe")),
        ("network", "open a TCP socket", lambda: socket.socket(socket.AF_INET)),
        ("network", "open a UDP socket", lambda: socket.socket(type=socket.SOCK_DGRAM)),
        ("network", "open a Unix socket", lambda: socket.socket(socket.AF_UNIX)),
        ("processes", "fork", fork),
        ("processes", "signal process 1", signal_first),
        ("processes", "ask for the processors of process 1", ask_about_first),
        ("processes", "read the clock of process 1", read_clock_of_first),
        ("processes", "learn who started it", learn_the_peer),
        ("names", "see the number of the parent process", lambda: os.getppid() != 0),
        ("names", "see the machine's name", see_the_name),
        ("privileges", "execute a program", execute),
        ("privileges", "become root", become_root),
        ("privileges", "make memory executable", map_code),
        ("inheritance", "find a descriptor of the gateway's", lambda: any(map(is_open, others))),
        ("inheritance", "see a variable", lambda: set(os.environ) - set(_setup["environment"])),
        ("limits", "raise a limit", raise_a_limit),
        ("limits", "start a thread that is one too many", start_a_thread_too_many),
    ]


def deadly_canary():
    """The attempt that kills the worker if the sandbox works."""
    _libc.ptrace(PTRACE_TRACEME, 0, 0, 0)
