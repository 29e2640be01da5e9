"""Notices what a journalled program does to the machine where no sandbox keeps it from that: it changes
files, starts processes, or sends something to other processes. Such a program cannot be repeated.

The system's interpreter reports such actions itself. In the embedded one, the functions are replaced.
What native libraries do by themselves is not noticed.
"""

import _io
import _posixsubprocess
import _socket
import builtins
import functools
import io
import os
import posix
import sys

import _onecall as wire
import _onecall_observations as observations

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Events of the system's interpreter that change files, start or signal processes, send something, or load
# libraries that may do anything. The event for opening a file is not among them.
_EFFECTS = frozenset(
    (
        "ctypes.dlopen",
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "pty.spawn",
        "socket.bind",
        "socket.connect",
        "socket.sendmsg",
        "socket.sendto",
        "sqlite3.connect",
        "subprocess.Popen",
    )
)

# The first arguments with which they have none: the interpreter's own library, a database in memory.
_HARMLESS = {"ctypes.dlopen": None, "sqlite3.connect": ":memory:"}

# Functions of `os` in the embedded interpreter that do the same.
_FILE_FUNCTIONS = (
    "chmod chown fchmod fchown lchmod lchown link mkdir mkdirs mkfifo mknod remove removexattr rename "
    "replace rmdir setxattr symlink truncate unlink utime"
).split()
_PROCESS_FUNCTIONS = "execv execve fork forkpty kill killpg posix_spawn posix_spawnp system".split()
_SOCKET_METHODS = "bind connect connect_ex sendmsg sendto".split()

# Modules with copies of the function that opens files.
_COPIES_OF_OPEN = ("bz2", "_builtin_open"), ("tarfile", "bltn_open")

_native_open, _native_os_open = builtins.open, posix.open


def _report():
    observations.in_place("unconfined")


def watch_events():
    """Watches a program on the system's interpreter."""

    def watch(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if flags and flags & _WRITING and not _is_harmless(path):
                _report()
        elif event in _EFFECTS and (event not in _HARMLESS or arguments[0] != _HARMLESS[event]):
            _report()

    sys.addaudithook(watch)


def replace_functions(names, has_files):
    """Watches a program on the embedded interpreter; `names` are its builtins, and `has_files` says whether
    it opens files itself."""
    for name in _PROCESS_FUNCTIONS + (_FILE_FUNCTIONS if has_files else []):
        if function := getattr(os, name, None):
            _replace((os, posix), name, _reported(function))
    modules = _posixsubprocess, sys.modules.get("subprocess")
    _replace(modules[:1], "fork_exec", _reported(_posixsubprocess.fork_exec))
    if modules[1] is not None:
        modules[1]._fork_exec = _posixsubprocess.fork_exec
    for name in _SOCKET_METHODS:
        if method := getattr(_socket.socket, name, None):
            wire.replace_attribute(_socket.socket, name, _reported(method))
    if has_files:
        _replace((os, posix), "open", _os_open)
        _replace((builtins, io, _io), "open", _open)
        _replace((io, _io), "FileIO", FileIO)
        names["open"] = _open
        for module, name in _COPIES_OF_OPEN:
            if module in sys.modules:
                setattr(sys.modules[module], name, _open)


def _replace(modules, name, function):
    for module in modules:
        setattr(module, name, function)


def _reported(function):
    """The function, which reports each use of it."""

    @functools.wraps(function)
    def reported(*arguments, **options):
        _report()
        return function(*arguments, **options)

    return reported


@functools.wraps(_native_os_open)
def _os_open(path, flags, *arguments, **options):
    if flags & _WRITING and not _is_harmless(path):
        _report()
    return _native_os_open(path, flags, *arguments, **options)


@functools.wraps(_native_open)
def _open(file, mode="r", *arguments, **options):
    _before_open(file, mode)
    return _native_open(file, mode, *arguments, **options)


class _FileIOType(type(_io.FileIO)):
    def __instancecheck__(cls, thing, native=_io.FileIO):
        return isinstance(thing, native)


class FileIO(_io.FileIO, metaclass=_FileIOType):
    """A file without a buffer."""

    def __init__(self, file, mode="r", *arguments, **options):
        _before_open(file, mode)
        super().__init__(file, mode, *arguments, **options)


FileIO.__module__ = "_io"


def _before_open(file, mode):
    if isinstance(mode, str) and not {*mode}.isdisjoint("wax+") and not _is_harmless(file):
        _report()


def _is_harmless(file):
    """Whether nothing happens if something is written there. A descriptor was opened before."""
    return isinstance(file, int) or file == os.devnull
