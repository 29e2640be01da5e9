"""Semaphores of `multiprocessing` for the threads of one process.

The kernel's semaphores are files that are shared between processes; a program can neither create
such files nor start processes. But pools of threads (`multiprocessing.pool.ThreadPool`,
`multiprocessing.dummy`) need semaphores as well.
"""

import threading

try:
    import _multiprocessing
except ImportError:
    # This Python has no `multiprocessing` either.
    _multiprocessing = None

RECURSIVE_MUTEX = 0


class ThreadLock:
    """Does what the semaphores of `_multiprocessing` do, within this process."""

    # There is no file that would have to be removed.
    name = None
    handle = 0

    def __init__(self, kind, value, maxvalue, name=None, unlink=True):
        self.kind, self.maxvalue = kind, maxvalue
        self._value = value
        self._owner, self._depth = None, 0
        self._changed = threading.Condition()

    def acquire(self, block=True, timeout=None):
        """Takes one; `False` if there is none, or none in time."""
        with self._changed:
            if self.kind == RECURSIVE_MUTEX and self._is_mine():
                self._depth += 1
                return True
            wait_timeout = timeout if block else 0
            if not self._changed.wait_for(lambda: self._value > 0, wait_timeout):
                return False
            self._value -= 1
            self._owner = threading.get_ident()
            self._depth += 1
            return True

    def release(self):
        """Gives one back."""
        with self._changed:
            if self.kind == RECURSIVE_MUTEX:
                if not self._is_mine():
                    raise AssertionError("attempt to release recursive lock not owned by thread")
                self._depth -= 1
                if self._depth:
                    return
                self._owner = None
            else:
                if self._value >= self.maxvalue:
                    raise ValueError("semaphore or lock released too many times")
                self._depth -= 1
            self._value += 1
            self._changed.notify()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_error):
        self.release()

    def _count(self):
        return self._depth

    def _is_mine(self):
        return self._depth > 0 and self._owner == threading.get_ident()

    def _get_value(self):
        return self._value

    def _is_zero(self):
        return self._value == 0

    def _after_fork(self):
        self._depth = 0


def install(native):
    """Makes `multiprocessing` use the semaphores of the kernel only if they can be created."""

    class SemLock:
        """A semaphore or a recursive lock."""

        SEM_VALUE_MAX = native.SEM_VALUE_MAX
        _rebuild = native._rebuild

        def __new__(cls, *arguments):
            try:
                return native(*arguments)
            except OSError:
                return ThreadLock(*arguments)

    _multiprocessing.SemLock = SemLock


if _multiprocessing:
    install(_multiprocessing.SemLock)
