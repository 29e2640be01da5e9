"""Runs one program from its source to its outcome."""

import ast
import asyncio
import atexit
import importlib.util
import inspect
import io
import linecache
import os
import sys
import threading
import traceback
import types

import _onecall as wire
import _onecall_cache
import _onecall_display
import _onecall_loop
import _onecall_output
import _onecall_tools
from _onecall_tools import PROGRAM

# Frames of these files are ours, and no business of a program's author.
OURS = "<onecall>"


# How much of the text of a failure goes out; no gateway shows more.
MAX_FAILURE = 4 * 1024 * 1024
MAX_MESSAGE = 16 * 1024


def run(source, condition, stays, wants_value):
    """Runs a program to its end, threads and exit handlers included, if `condition` allows;
    returns what is to be said of it. If it `stays`, another will find its variables."""
    _onecall_display.begin()
    value = Value() if wants_value else None
    failure = rehearse(source, condition, value, stays)
    last_steps = [_join_threads] if stays else [threading._shutdown, atexit._run_exitfuncs]
    for last_step in last_steps:
        try:
            last_step()
        except BaseException as error:
            failure = failure or Failure.of(error)
    return (value.text() if value and not failure else "", *told(failure))


def _join_threads():
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


# The programs that ran in this process.
_ran = 0


def rehearse(source, condition="", value=None, stays=False):
    """Runs a program and leaves the process able to run another. Returns its failure."""
    global _ran
    sys.stdin = sys.__stdin__ = io.StringIO("")
    sys.stdout = sys.__stdout__ = _onecall_output.TextOutput(to_stderr=False)
    sys.stderr = sys.__stderr__ = _onecall_output.TextOutput(to_stderr=True)
    sys.argv = [PROGRAM]
    sys.executable = sys.orig_argv = None
    _ran = _ran + 1 if stays else 0
    # What earlier programs defined keeps its own lines.
    file = PROGRAM if _ran <= 1 else f"{PROGRAM[:-1]} {_ran}>"
    # With a line break at the very end, without which older tracebacks misplace their marks.
    lines = [line + "\n" for line in source.splitlines()]
    linecache.cache[file] = (len(source), None, lines, file)
    failure = None
    try:
        _execute(source, file, condition, value)
    except MemoryError as error:
        # What filled the memory must go before there is room to tell of it.
        traceback.clear_frames(error.__traceback__)
        error.__context__ = None
        vars(sys.modules["__main__"]).clear()
        failure = Failure.of(error)
    except BaseException as error:
        failure = Failure.of(error)
    return _with_forgotten_calls(failure, source)


def _module():
    """Where the program's variables are."""
    if _ran > 1:
        return sys.modules["__main__"]
    module = types.ModuleType("__main__")
    module.__file__ = PROGRAM
    module.__builtins__ = _onecall_tools.names()
    module.__builtins__["display"] = _onecall_display.display
    module.__builtins__["cache"] = _onecall_cache.cache
    sys.modules["__main__"] = module
    return module


def _execute(source, file, condition, value):
    module = _module()
    code = compile(
        value.kept_by(source, file) if value else source,
        file,
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    if condition:
        _stop_without_modules(code, condition)
    # Nothing is to be done here when that fails: CPython 3.11 cannot enter a `finally` without
    # memory, and tries forever.
    if code.co_flags & inspect.CO_COROUTINE:
        _run_coroutine(code, module.__dict__)
    else:
        exec(code, module.__dict__)
    if value:
        value.take_from(module.__dict__)


def _run_coroutine(code, namespace):
    with asyncio.Runner(loop_factory=_onecall_loop.Loop) as runner:
        runner.run(_await_module(code, namespace))


class Value:
    """The value of a program's last expression."""

    # No name that a program can write.
    NAME = "<value>"

    # Longer ones are no answer but a result to be printed in part.
    MAX_LENGTH = 1024 * 1024

    def __init__(self):
        self.value = None

    def kept_by(self, source, file):
        """The program, its last expression an assignment."""
        tree = compile(source, file, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            target = ast.copy_location(ast.Name(self.NAME, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        return tree

    def take_from(self, namespace):
        self.value = namespace.pop(self.NAME, None)

    def text(self):
        """As JSON; nothing if it is no plain data."""
        try:
            text = wire.to_json(self.value)
        except Exception:
            return ""
        return text if len(text) <= self.MAX_LENGTH else ""


def _stop_without_modules(code, condition):
    """Ends this process if the program is better run by another interpreter: for `*` if it
    imports a module that is not there, otherwise if none of the modules listed is."""
    wanted = wire.imports(code) if condition == "*" else condition.split("\n")
    absent = [name for name in wanted if not _is_there(name)]
    if absent and (condition == "*" or len(absent) == len(wanted)):
        wire.lacks("\n".join(absent))
        os._exit(0)


# Modules that an interpreter may have without the native part that makes them work.
NATIVE_PART = {
    "sqlite3": "_sqlite3",
    "ssl": "_ssl",
    "tkinter": "_tkinter",
    "tracemalloc": "_tracemalloc",
    "turtle": "_tkinter",
}


def _is_there(module):
    if not module or module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(NATIVE_PART.get(module, module)) is not None
    except (ImportError, ValueError):
        return False


async def _await_module(code, namespace):
    await eval(code, namespace)


class Failure:
    """What went wrong: a text for whoever wrote the program, and a summary of it."""

    def __init__(self, text, kind, message="", line=None):
        self.text, self.kind, self.message, self.line = text, kind, message, line

    @classmethod
    def of(cls, error):
        """`None` if it is an exit that says nothing."""
        kind = type(error).__name__
        try:
            if isinstance(error, SystemExit):
                if error.code in (None, 0):
                    return None
                return cls(f"SystemExit: {error.code}", kind, str(error.code))
            _hide_our_frames(error, set())
            text = "".join(traceback.format_exception(error)).rstrip("\n")
            return cls(text, kind, _message(error), _line(error))
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


def _hide_our_frames(error, seen):
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    reached = False
    entries = []
    entry = error.__traceback__
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if file.startswith(PROGRAM[:-1]) and not reached:
            # Whatever led to the program is how we run it.
            entries.clear()
            reached = True
        if not file.startswith(OURS):
            entries.append(entry)
        entry = entry.tb_next
    rebuilt = None
    for entry in reversed(entries):
        rebuilt = types.TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = rebuilt
    _hide_our_frames(error.__cause__, seen)
    _hide_our_frames(error.__context__, seen)
    for inner in getattr(error, "exceptions", ()):
        if isinstance(inner, BaseException):
            _hide_our_frames(inner, seen)


def _with_forgotten_calls(failure, source):
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
