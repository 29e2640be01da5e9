"""What is said of a program that failed: its traceback, without what its author cannot change."""

import os
import re
import traceback
import types

import _onecall as wire
import _onecall_denial
import _onecall_scratch
import _onecall_tools
from _onecall_tools import PROGRAM

# Frames of these files are ours, and no business of a program's author.
OURS = "<onecall>"

_OF_CODECS = re.compile("(?:en|de)coding with '.*' codec failed")

# How much of the text of a failure goes out; no gateway shows more.
MAX_FAILURE = 4 * 1024 * 1024
MAX_MESSAGE = 16 * 1024


class Failure:
    """What went wrong: a text for whoever wrote the program, and a summary of it."""

    def __init__(self, text, kind, message="", line=None, denied=None, plan_part=None):
        self.text, self.kind, self.message, self.line = text, kind, message, line
        # What the sandbox denied, if that is what went wrong.
        self.denied = denied
        # The part of a plan that failed. Its author has not seen the program, so there is no
        # traceback: the text is the message.
        self.plan_part = plan_part

    @classmethod
    def of(cls, error):
        """`None` if it is an exit that says nothing."""
        kind = type(error).__name__
        try:
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
            return cls(text, kind, _message(error), _line(error), denied)
        except BaseException as trouble:
            # Methods of the program run here, and a chain of errors may be longer than our stack.
            return cls(f"{kind} (it cannot be shown: {type(trouble).__name__})", kind)


def _message(error):
    try:
        return str(error)
    except BaseException:
        return ""


def told(failure):
    """A summary as JSON, and the text."""
    if failure is None:
        return "", None
    text, half = failure.text, MAX_FAILURE // 2
    if len(text) > MAX_FAILURE:
        text = text[:half] + "\n...\n" + text[-half:]
    summary = {"type": failure.kind, "message": failure.message[:MAX_MESSAGE], "line": failure.line}
    if failure.denied:
        summary["denied"] = failure.denied
    if failure.plan_part:
        summary["plan_part"] = failure.plan_part
    try:
        return wire.to_json(summary), text
    except ValueError:
        # The message is not Unicode.
        return wire.to_json({**summary, "message": ascii(summary["message"])}), text


def _line(error):
    """The line of the program where it happened."""
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(PROGRAM[:-1]):
        return error.lineno
    line, entry = None, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename.startswith(PROGRAM[:-1]):
            line = entry.tb_lineno
        entry = entry.tb_next
    return line


def _is_own(file):
    """Whether a file is the program's: its source, code that it made, a module in its folder."""
    if file.startswith("<"):
        return not file.startswith((OURS, "<frozen"))
    try:
        folder = os.getcwd()
    except OSError:
        return False
    return folder != "/" and file.startswith(folder + "/")


def _shorten(error, seen):
    """Leaves the frames that the program's author can do something about, of an exception and of
    those that led to it: the program's own, and the last one if that is a library's. Where a
    library raised one exception after another, only its first and its last are left."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    _leave_own_frames(error)
    _leave_own_notes(error)
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
    """The first exception of those that a library raised one after another up to this one. This
    recurses because a program can make a chain without an end."""
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


def _leave_own_frames(error):
    entries = [(entry, file) for entry, file in _entries(error) if not file.startswith(OURS)]
    # Whatever led to the program is how we run it.
    reached = [file.startswith(PROGRAM[:-1]) for _, file in entries]
    entries = entries[reached.index(True) :] if True in reached else entries
    shown = None
    for entry, file in reversed(entries):
        if _is_own(file) or entry is entries[-1][0]:
            shown = types.TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = shown


def _leave_own_notes(error):
    """Drops what the embedded Python notes on every text that cannot be encoded or decoded, and
    CPython only on codecs that are rarely used."""
    if isinstance(error, UnicodeError) and hasattr(error, "__notes__"):
        error.__notes__ = [note for note in error.__notes__ if not _OF_CODECS.fullmatch(note)]


def with_forgotten_calls(failure, source):
    """Adds the calls that the program made and never awaited, which is a failure, too."""
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
