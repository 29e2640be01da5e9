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
import _onecall_loop
import _onecall_output
import _onecall_tools
from _onecall_tools import PROGRAM

# Frames of these files are ours, and no business of a program's author.
OURS = "<onecall>"


# How much of the text of a failure goes out; no gateway shows more.
MAX_FAILURE = 4 * 1024 * 1024


def run(source, condition):
    """Runs a program to its end, threads and exit handlers included, if `condition` allows;
    returns the text of its failure, or `None`."""
    failure = rehearse(source, condition)
    for last_step in threading._shutdown, atexit._run_exitfuncs:
        try:
            last_step()
        except BaseException as error:
            failure = failure or _describe(error)
    if failure is not None and len(failure) > MAX_FAILURE:
        failure = failure[: MAX_FAILURE // 2] + "\n...\n" + failure[-MAX_FAILURE // 2 :]
    return failure


def rehearse(source, condition=""):
    """Runs a program and leaves the process able to run another."""
    sys.stdin = sys.__stdin__ = io.StringIO("")
    sys.stdout = sys.__stdout__ = _onecall_output.TextOutput(to_stderr=False)
    sys.stderr = sys.__stderr__ = _onecall_output.TextOutput(to_stderr=True)
    sys.argv = [PROGRAM]
    sys.executable = sys.orig_argv = None
    # With a line break at the very end, without which older tracebacks misplace their marks.
    lines = [line + "\n" for line in source.splitlines()]
    linecache.cache[PROGRAM] = (len(source), None, lines, PROGRAM)
    failure = None
    try:
        _execute(source, condition)
    except MemoryError as error:
        # What filled the memory must go before there is room to tell of it.
        traceback.clear_frames(error.__traceback__)
        error.__context__ = None
        vars(sys.modules["__main__"]).clear()
        failure = _describe(error)
    except BaseException as error:
        failure = _describe(error)
    return _with_forgotten_calls(failure, source)


def _execute(source, condition):
    module = types.ModuleType("__main__")
    module.__file__ = PROGRAM
    module.__builtins__ = _onecall_tools.names()
    sys.modules["__main__"] = module
    code = compile(
        source, PROGRAM, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    if condition:
        _stop_without_modules(code, condition)
    if code.co_flags & inspect.CO_COROUTINE:
        with asyncio.Runner(loop_factory=_onecall_loop.Loop) as runner:
            runner.run(_await_module(code, module.__dict__))
    else:
        exec(code, module.__dict__)


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


def _describe(error):
    """The text of a failure; `None` if it is an exit without one."""
    try:
        if isinstance(error, SystemExit):
            return None if error.code in (None, 0) else f"SystemExit: {error.code}"
        _hide_our_frames(error, set())
        return "".join(traceback.format_exception(error)).rstrip("\n")
    except BaseException as trouble:
        # Methods of the program run here, and a chain of errors may be longer than our stack.
        return f"{type(error).__name__} (it cannot be shown: {type(trouble).__name__})"


def _hide_our_frames(error, seen):
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    reached = False
    entries = []
    entry = error.__traceback__
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if file == PROGRAM and not reached:
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
    return "\n".join(([failure] if failure else []) + notes)
