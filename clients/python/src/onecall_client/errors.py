"""What can go wrong outside of a program."""

from __future__ import annotations


class OnecallError(Exception):
    """onecall could not do what it was asked for; the message says why."""


class BinaryNotFound(OnecallError):
    """There is no `onecall` to start."""


class ProcessLost(OnecallError):
    """onecall ended under a program. Its calls may have had effects."""


class ProgramFailed(OnecallError):
    """A program failed, and `Outcome.raise_for_error` was asked to raise."""


def described(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error)
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind
