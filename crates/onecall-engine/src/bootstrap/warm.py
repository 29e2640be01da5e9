"""Prepares the usual modules, so that no program waits for them."""

import functools
import gc
import importlib
import os
import pwd

# Programs have large results and short lives: garbage collection may run less often. The zygote makes no
# garbage while it starts.
gc.set_threshold(50_000, 20, 100)
gc.disable()

# The usual modules that are not needed for running a program itself.
USUAL = (
    "base64",
    "bisect",
    "copy",
    "csv",
    "datetime",
    "enum",
    "hashlib",
    "heapq",
    "json",
    "math",
    "random",
    "string",
    "textwrap",
    "unicodedata",
)


def import_usual_modules():
    """Imports the usual modules, one at each step."""
    for name in USUAL:
        importlib.import_module(name)
        yield
    # The configuration of the interpreter has the home directory of the user. Without the variable, libc
    # would load the machine's user database libraries into the worker of a program that reads it.
    os.environ["HOME"] = "/"
    importlib.import_module("sysconfig").get_config_vars()
    del os.environ["HOME"]


_getpwuid = pwd.getpwuid


@functools.wraps(_getpwuid)
def getpwuid(uid):
    """Finds no user where there is no file of users, as in CPython; the embedded interpreter says
    that a file is missing, which those who ask for a home do not expect."""
    try:
        return _getpwuid(uid)
    except FileNotFoundError:
        raise KeyError(f"getpwuid(): uid not found: {uid}") from None


pwd.getpwuid = getpwuid

# Without the variable, the module would read the whole configuration of the interpreter.
os.environ["PYTHONTZPATH"] = "/usr/share/zoneinfo"
import zoneinfo

del os.environ["PYTHONTZPATH"]
