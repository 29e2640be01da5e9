"""Replaces the name of the machine, which programs must not see, by a fixed one.

With namespaces of its own, a worker has that name anyway. Without them the sandbox refuses the
system call, and a program that makes it must not fail. This module is loaded before all others,
because some of them read the name when they are imported and keep it.
"""

import os
import socket
import threading

NAME = "onecall"

_names = os.uname_result(("Linux", NAME, "", "", os.uname().machine))


def uname():
    """The system's names, as far as they are no secret."""
    return _names


def gethostname():
    """The machine's name."""
    return NAME


def update_thread_id():
    """Updates the thread id of the main thread: inside the sandbox the kernel reports another one
    than at the time of the fork."""
    threading.main_thread()._set_native_id()


os.uname = uname
socket.gethostname = gethostname
