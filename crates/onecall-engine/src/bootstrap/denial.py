"""Recognises from a program's exception what the sandbox has denied.

The gateway has a hint for each of these, which says what to do instead. Only exceptions that the
interpreter or a library raised count; those that a program raises itself prove nothing.
"""

import errno
import linecache
import os
import re
import socket
import sys

from _onecall_tools import ToolError

NETWORK, FILES, PROCESSES, INPUT = "network", "files", "processes", "input"

_REFUSALS = {errno.EACCES, errno.EPERM, errno.ENETUNREACH, errno.EAFNOSUPPORT}
_NO_SUCH_FILE = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}

# How many exceptions of a chain are examined; a program can create an endless chain.
_LONGEST_CHAIN = 100

# Packages that are of no use without a network.
_HTTP_CLIENTS = ("aiohttp", "httpx", "pycurl", "requests", "urllib3", "websocket", "websockets")

# Library functions that fail because they cannot start a process.
_CANNOT_START = [
    ("asyncio.base_events", "_make_subprocess_transport"),
    ("multiprocessing.util", "spawnv_passfds"),
]

# A line that opens a file for writing, or creates a folder.
_WRITES = re.compile(r"""(['"])[wax]b?t?\+?\1|\b(mkdir|makedirs)\(""")

# Functions of `os` that fail in the line that calls them.
_STARTS_A_PROCESS = re.compile(r"\b(fork|forkpty|exec[vl]\w*|spawn[vl]\w*|posix_spawnp?|system)\s*\(")


def denied(error, is_own):
    """What was denied, or `None`. `is_own(file)` tells which files belong to the program."""
    try:
        return _denied(error, is_own)
    except Exception:
        # This runs methods of the program's exceptions, which may do anything.
        return None


def _denied(error, is_own):
    for _ in range(_LONGEST_CHAIN):
        if error is None or isinstance(error, ToolError):
            return None
        if isinstance(error, BaseExceptionGroup):
            found = (_denied(inner, is_own) for inner in error.exceptions)
            return next(filter(None, found), None)
        frame = _Frame(error)
        is_raised = is_own(frame.file) and frame.line.startswith("raise")
        if not is_raised and (found := _kind(error, frame)):
            return found
        # The context of an exception that the program raises itself need not be its cause.
        earlier = None if is_own(frame.file) else error.__context__
        error = error.__cause__ or earlier
    return None


class _Frame:
    """The place where an exception was raised: the last frame outside of the bootstrap."""

    def __init__(self, error):
        self.file = self.name = self.line = ""
        entry = error.__traceback__
        while entry is not None:
            code = entry.tb_frame.f_code
            if not code.co_filename.startswith("<onecall>"):
                self.file, self.name = code.co_filename, code.co_name
                number = entry.tb_lineno
            entry = entry.tb_next
        if self.file:
            self.line = linecache.getline(self.file, number).strip()

    def is_in(self, module):
        """Whether the frame is in this module of the standard library. In the embedded interpreter
        the file has the module's name."""
        path = module.replace(".", "/")
        return self.file == module or self.file.endswith((f"/{path}.py", f"/{path}/__init__.py"))


def _kind(error, frame):
    if isinstance(error, EOFError):
        return INPUT if "input(" in frame.line and "EOF" in str(error) else None
    if any(frame.is_in(module) and frame.name == name for module, name in _CANNOT_START):
        return PROCESSES
    if isinstance(error, ModuleNotFoundError):
        return NETWORK if (error.name or "").split(".")[0] in _HTTP_CLIENTS else None
    if not isinstance(error, OSError):
        return None
    if isinstance(error, socket.gaierror) or _is_unknown_scheme(error):
        return NETWORK
    if frame.is_in("socket"):
        return NETWORK if error.errno in _REFUSALS else None
    if _starts_process(frame):
        return PROCESSES if error.errno in _REFUSALS else None
    if error.errno in _NO_SUCH_FILE and isinstance(error.filename, (str, bytes)):
        path = os.fsdecode(error.filename)
        is_own = _is_in_own_folder(path) or _is_written_to_scratch(error, path, frame)
        return None if is_own else FILES
    return None


def _is_unknown_scheme(error):
    """Whether `urllib` was used for a URL but has no TLS."""
    urllib = sys.modules.get("urllib.error")
    return (
        urllib is not None
        and isinstance(error, urllib.URLError)
        and str(error.reason).startswith("unknown url type: http")
    )


def _starts_process(frame):
    if frame.is_in("subprocess") or "multiprocessing" in frame.file:
        return True
    return _STARTS_A_PROCESS.search(frame.line) is not None


def _is_written_to_scratch(error, path, frame):
    """Whether the program writes to a folder below its scratch folder that it has not created."""
    is_missing = error.errno == errno.ENOENT and path.startswith("/tmp/")
    return is_missing and _WRITES.search(frame.line) is not None


def _is_in_own_folder(path):
    """Whether the path is in a folder that the program has, so that only the file itself is
    missing."""
    try:
        folder = os.path.dirname(os.path.abspath(path))
        # A scratch folder is empty when a program begins, so what it expects there is elsewhere.
        roots = [root for root in (os.getcwd(), "/tools") if root != "/"]
        return any(f"{folder}/".startswith(f"{root}/") for root in roots)
    except OSError:
        return False
