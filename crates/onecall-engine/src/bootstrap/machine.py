"""What a program sees of the machine: a name that says nothing.

In namespaces of its own a worker has that name anyway. Elsewhere the kernel refuses the question,
and a program that asks must not fail for it. This module comes before all others, because some
of them ask when they are imported and keep the answer.
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


def forget_number():
    """Has the main thread take the number that the kernel tells a worker which is locked in, in
    the place of the true one that it got when the worker was forked."""
    threading.main_thread()._set_native_id()


os.uname = uname
socket.gethostname = gethostname
