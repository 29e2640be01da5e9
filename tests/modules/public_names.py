"""Writes what CPython's standard library has: its modules, and the public names of each.

    python3 public_names.py python3.11 python3.12 python3.13 > public_names.txt

asks each interpreter and merges what they say. A line is a module, a colon and its names. Modules
that only some machines have (Windows, and the tests and tools of Python itself) are left out.
"""

import contextlib
import importlib
import io
import json
import pkgutil
import subprocess
import sys
import types
import warnings

# Of other systems, or with an effect when they are imported, or no libraries.
LEFT_OUT = {
    "antigravity", "idlelib", "lib2to3", "msilib", "msvcrt", "nt", "pydoc_data", "test", "this",
    "turtledemo", "winreg", "winsound",
}
LEFT_OUT_BELOW = {"asyncio.windows_events", "asyncio.windows_utils", "ctypes.macholib",
                  "ctypes.wintypes", "encodings", "multiprocessing.popen_spawn_win32", "tkinter.tix"}

# Since Python 3.14, for interpreters that are older.
NEWER = {"compression.zstd": ["ZstdCompressor", "ZstdDecompressor", "ZstdFile", "compress", "decompress", "open"]}


def modules():
    """The names of the public modules of this interpreter, whether they can be imported or not."""
    for name in sorted(sys.stdlib_module_names):
        if not name.startswith("_") and name not in LEFT_OUT:
            yield name
            yield from below(name)


def below(package):
    folder = getattr(imported(package), "__path__", None)
    if folder is None or package in LEFT_OUT_BELOW:
        return
    for found in pkgutil.iter_modules(folder, package + "."):
        last = found.name.rpartition(".")[2]
        if last.startswith("_") or last in ("test", "tests") or found.name in LEFT_OUT_BELOW:
            continue
        yield found.name
        yield from below(found.name)


def imported(name):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(name)
    except ImportError:
        return None


def names(name):
    """The public names that a module defines itself."""
    module = imported(name)
    if module is None:
        return []
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(key for key, value in vars(module).items() if is_own(name, key, value))


def is_own(module, key, value):
    if key.startswith("_") or isinstance(value, types.ModuleType):
        return False
    # What is written in C names the module it is written in.
    return getattr(value, "__module__", None) in (module, f"_{module}", None)


def merged(interpreters):
    everything = {name: set(found) for name, found in NEWER.items()}
    for interpreter in interpreters:
        said = subprocess.run([interpreter, "-I", __file__], capture_output=True, check=True)
        for name, found in json.loads(said.stdout).items():
            everything.setdefault(name, set()).update(found)
    for name in sorted(everything):
        yield f"{name}: {' '.join(sorted(everything[name]))}".rstrip()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        print("\n".join(merged(sys.argv[1:])))
    else:
        print(json.dumps({name: names(name) for name in modules()}))
