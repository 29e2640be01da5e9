"""Makes `os.system` fail like other ways to start a process.

Where programs cannot start processes, it would return the status of a shell that did not start, and few
programs look at it.
"""

import errno
import os

# What `os.system` returns if no shell started; a shell returns the second one for an unknown command.
_NO_SHELL = (-1, 127 << 8)

_system = os.system


def system(command):
    """Runs a command in a shell, where programs may start processes."""
    status = _system(command)
    if status in _NO_SHELL:
        try:
            os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {}), 0)
        except OSError:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM)) from None
    return status


os.system = system
