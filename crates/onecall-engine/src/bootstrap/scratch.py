"""The folder in memory that a program has at `/tmp`, if its text names it."""

import errno

try:
    import _onecall_files
except ImportError:
    # Without a sandbox, there is none.
    _onecall_files = None

# How much memory it may take.
_bytes = 0


def begin(size):
    """Called before a program runs, which has such a folder unless `size` is zero."""
    global _bytes
    if size and not _bytes and _onecall_files:
        _onecall_files.show_scratch()
    _bytes = size


def explain(error):
    """Says with an error for want of space how much there is."""
    if _bytes and isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG):
        error.add_note(
            f"/tmp is a folder in memory; files and what is kept about them may take {_bytes / 2**20:.6g} MB, "
            "a quarter of the program's memory limit (execution.memory_mb)"
        )
