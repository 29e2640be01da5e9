"""The scratch folder in memory at `/tmp`, for programs whose source mentions it."""

import errno

try:
    import _onecall_files
except ImportError:
    # Without a sandbox there is no scratch folder.
    _onecall_files = None

# The size of the folder in bytes.
_bytes = 0


def begin(size):
    """Called before a program runs. The program has a scratch folder unless `size` is zero."""
    global _bytes
    if size and not _bytes and _onecall_files:
        _onecall_files.add_scratch()
    _bytes = size


def explain(error):
    """Adds the size of the folder to an error about missing space."""
    if _bytes and isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG):
        error.add_note(
            f"/tmp is a folder in memory; files and what is kept about them may take {_bytes / 2**20:.6g} MB, "
            "a quarter of the program's memory limit (execution.memory_mb)"
        )
