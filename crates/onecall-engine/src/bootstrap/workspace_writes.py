"""Notices when a journalled program writes to the workspace, or without a sandbox to anything else: it
cannot be repeated then."""

import os
import sys

import _onecall_observations as observations
import _onecall_unconfined_effects as unconfined_effects

try:
    import _onecall_folders as sandbox

    _IS_EMBEDDED = True
except ImportError:
    import _onecall_sandbox as sandbox

    _IS_EMBEDDED = False

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Events of Python that change files, except for opening one.
_CHANGES = frozenset(
    (
        "os.chmod",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "os.utime",
        "sqlite3.connect",
    )
)


def begin(names):
    """Watches the program that begins; `names` are its builtins."""
    files = sys.modules.get("_onecall_files")
    asks_gateway = hasattr(files, "before_change")
    if asks_gateway:
        # The embedded interpreter asks the gateway to change files.
        files.before_change = lambda: observations.in_place("workspace")
    if sandbox.confines_effects():
        if not _IS_EMBEDDED:
            _watch_workspace()
    elif _IS_EMBEDDED:
        unconfined_effects.replace_functions(names, has_files=not asks_gateway)
    else:
        unconfined_effects.watch_events()


def _watch_workspace():
    folder = os.getcwd()
    if folder == "/":
        # There is no workspace.
        return

    def watch(event, arguments):
        if event == "open":
            path, _, flags = arguments
            is_change = bool(flags and flags & _WRITING) and _is_below(path, folder)
        else:
            is_change = event in _CHANGES and any(_is_below(it, folder) for it in arguments[:2])
        if is_change:
            observations.in_place("workspace")

    sys.addaudithook(watch)


def _is_below(path, folder):
    try:
        path = os.path.join(folder, os.fsdecode(path))
    except TypeError:
        return False
    return os.path.normpath(path).startswith(folder + "/")
