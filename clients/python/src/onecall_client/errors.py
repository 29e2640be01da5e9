"""The exceptions of this package, for failures outside of a program."""

from __future__ import annotations


class OnecallError(Exception):
    """onecall rejected a request; the message says why."""


class BinaryNotFound(OnecallError):
    """The `onecall` executable was not found."""


class ProcessLost(OnecallError):
    """The onecall process ended while a program was running, whose calls may have had effects."""


class ProgramFailed(OnecallError):
    """Raised by `Outcome.raise_for_error` if the program failed."""


def described(error: BaseException) -> str:
    """Describes an exception in one line."""
    text = str(error)
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind
