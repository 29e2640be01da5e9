"""Describes the failure of a program: its traceback, reduced to what its author can change."""

import os
import re
import sys
import traceback
import types

import _onecall as wire
import _onecall_denial
import _onecall_scratch
import _onecall_tools
from _onecall_tools import PROGRAM

# The file names of the bootstrap begin with this; its frames are not shown to authors.
BOOTSTRAP_PREFIX = "<onecall>"

# What imports modules, before a program adds to it.
importers = ()

_CODEC_NOTE = re.compile("(?:en|de)coding with '.*' codec failed")

# Characters of a failure's text that are sent; the gateway shows no more.
MAX_FAILURE = 4 * 1024 * 1024
MAX_MESSAGE = 16 * 1024
# The exceptions of programs that use a value of another type than they expect.
VALUE_ERRORS = (AttributeError, LookupError, StopIteration, SyntaxError, TypeError, ValueError)


class Failure:
    """A failure: a text for the author of the program, and a summary for the gateway."""

    def __init__(self, text, kind, message="", line=None, denied=None, plan_part=None):
        self.text, self.kind, self.message, self.line = text, kind, message, line
        # What the sandbox denied, if that is the cause.
        self.denied = denied
        # Whether it is a group of exceptions, and one of them is about a value.
        self.has_value_error = False
        # The part of a plan that failed. The author of a plan has not seen the program, so there is
        # no traceback: the text is the message.
        self.plan_part = plan_part

    @classmethod
    def of(cls, error):
        """The failure for an exception; `None` for an exit without an error."""
        kind = type(error).__name__
        of_program = sys.meta_path
        try:
            # The text needs modules that nothing has imported yet.
            sys.meta_path = [*importers]
            if isinstance(error, SystemExit):
                if error.code in (None, 0):
                    return None
                return cls(f"SystemExit: {error.code}", kind, str(error.code))
            if plan_part := vars(error).get("_onecall_plan_part"):
                return cls(str(error), kind, str(error), plan_part=plan_part)
            denied = _onecall_denial.denied(error, _is_own)
            _shorten(error, set())
            _onecall_scratch.explain(error)
            text = "".join(traceback.format_exception(error)).rstrip("\n")
            failure = cls(text, kind, _message(error), _line(error), denied)
            if isinstance(error, BaseExceptionGroup):
                failure.has_value_error = error.subgroup(VALUE_ERRORS) is not None
            return failure
        except BaseException as trouble:
            # This runs methods of the program, and a chain of exceptions may be deeper than the
            # stack.
            return cls(f"{kind} (it cannot be shown: {type(trouble).__name__})", kind)
        finally:
            sys.meta_path = of_program


def _message(error):
    try:
        return str(error)
    except BaseException:
        return ""


def encode_failure(failure):
    """The summary as JSON, and the text."""
    if failure is None:
        return "", None
    text, half = failure.text, MAX_FAILURE // 2
    if len(text) > MAX_FAILURE:
        text = text[:half] + "\n...\n" + text[-half:]
    summary = {"type": failure.kind, "message": failure.message[:MAX_MESSAGE], "line": failure.line}
    if failure.has_value_error:
        summary["has_value_error"] = True
    if failure.denied:
        summary["denied"] = failure.denied
    if failure.plan_part:
        summary["plan_part"] = failure.plan_part
    try:
        return wire.to_json(summary), text
    except ValueError:
        # The message is not valid Unicode.
        return wire.to_json({**summary, "message": ascii(summary["message"])}), text


def _line(error):
    """The line of the program in which the exception occurred."""
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(PROGRAM[:-1]):
        return error.lineno
    line, entry = None, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename.startswith(PROGRAM[:-1]):
            line = entry.tb_lineno
        entry = entry.tb_next
    return line


def _is_own(file):
    """Whether a file belongs to the program: its source, code that it created, a module in its
    folder."""
    if file.startswith("<"):
        return not file.startswith((BOOTSTRAP_PREFIX, "<frozen"))
    try:
        folder = os.getcwd()
    except OSError:
        return False
    return folder != "/" and file.startswith(folder + "/")


def _shorten(error, seen):
    """Removes the frames that the program's author cannot change from an exception and those that
    led to it: the program's own frames are kept, and the last one if that is in a library. Of a
    series of exceptions that a library raised, only the first and the last are kept."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    _keep_own_frames(error)
    _remove_codec_notes(error)
    earlier = _first_of_library(_earlier(error), seen)
    if error.__cause__ is not None:
        error.__cause__ = earlier
    elif not error.__suppress_context__:
        error.__context__ = earlier
    _shorten(earlier, seen)
    for inner in getattr(error, "exceptions", ()):
        if isinstance(inner, BaseException):
            _shorten(inner, seen)


def _first_of_library(error, seen):
    """The first exception in a series that a library raised, ending with this one. This is
    recursive, so that an endless chain ends with a `RecursionError`."""
    if error is None or _has_own_frame(error) or id(error) in seen:
        return error
    earlier = _earlier(error)
    if earlier is None:
        error.__traceback__ = None
        return error
    seen.add(id(error))
    return _first_of_library(earlier, seen)


def _earlier(error):
    """The exception that a traceback shows before this one."""
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def _entries(error):
    entry = error.__traceback__
    while entry is not None:
        yield entry, entry.tb_frame.f_code.co_filename
        entry = entry.tb_next


def _has_own_frame(error):
    return any(_is_own(file) for _, file in _entries(error))


def _keep_own_frames(error):
    entries = [(entry, file) for entry, file in _entries(error) if not file.startswith(BOOTSTRAP_PREFIX)]
    # The frames before the program belong to the bootstrap.
    reached = [file.startswith(PROGRAM[:-1]) for _, file in entries]
    entries = entries[reached.index(True) :] if True in reached else entries
    shown = None
    for entry, file in reversed(entries):
        if _is_own(file) or entry is entries[-1][0]:
            shown = types.TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = shown


def _remove_codec_notes(error):
    """Removes notes that the embedded Python adds to every encoding or decoding error, and CPython
    only for codecs that are rarely used."""
    if isinstance(error, UnicodeError) and hasattr(error, "__notes__"):
        error.__notes__ = [note for note in error.__notes__ if not _CODEC_NOTE.fullmatch(note)]


def with_forgotten_calls(failure, source):
    """Adds the calls that the program made but never awaited, which count as a failure."""
    forgotten = _onecall_tools.never_awaited()
    if not forgotten:
        return failure
    lines = source.splitlines()
    notes = []
    for name, line in forgotten[:5]:
        shown = f"\n    {lines[line - 1].strip()}" if line and line <= len(lines) else ""
        notes.append(
            f"RuntimeError: {name}() on line {line} was never awaited, so it did not run{shown}\n"
            f"Write: await {name}(...)"
        )
    if len(forgotten) > 5:
        notes.append(f"... and {len(forgotten) - 5} more calls that were never awaited")
    if failure is None:
        name, line = forgotten[0]
        failure = Failure("", "RuntimeError", f"{name}() was never awaited", line)
    failure.text = "\n".join(([failure.text] if failure.text else []) + notes)
    return failure
