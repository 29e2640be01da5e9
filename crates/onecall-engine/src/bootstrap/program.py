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
import _onecall_fast_names
import _onecall_journal
import _onecall_loop
import _onecall_loop_use
import _onecall_nonlocals
import _onecall_output
import _onecall_result
import _onecall_returns
import _onecall_tools
import _onecall_variables
from _onecall_failure import Failure, encode_failure, with_forgotten_calls
from _onecall_tools import PROGRAM


def run(source, condition, argv, fast_names, journal, is_session, value_report):
    """Runs a program to its end, including threads and exit handlers, if `condition` is met.
    `fast_names` are the variables that are kept as local ones, one per line; `journal` has the seed
    and the observations of a journalled run; `value_report` says what to report about its value: 0
    nothing, 1 the value, 2 the name of its type. Returns the outcome to report. In a session, its
    variables are kept for the next program."""
    _onecall_display.begin()
    only_type = value_report == 2
    # The syntax trees of the embedded interpreter cannot hold lone surrogates, which `\ud800` means.
    # A program that may have one is compiled from its text, and its type is not reported.
    is_reported = value_report and not (only_type and "\\ud" in source.lower())
    value = Value(only_type) if is_reported else None
    failure = run_source(source, condition, argv, fast_names, value, is_session, journal)
    last_steps = [_join_threads] if is_session else [threading._shutdown, atexit._run_exitfuncs]
    for last_step in last_steps:
        try:
            last_step()
        except BaseException as error:
            failure = failure or Failure.of(error)
    if journal:
        _onecall_journal.end(is_session)
    return (value.text() if value and not failure else "", *encode_failure(failure))


def _join_threads():
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


# The number of programs that have run in this process.
_program_number = 0


def run_source(
    source, condition="", argv="", fast_names="", value=None, is_session=False, journal=b""
):
    """Runs a program so that the process can run another one. Returns its failure."""
    global _program_number
    sys.stdin = sys.__stdin__ = io.StringIO("")
    sys.stdout = sys.__stdout__ = _onecall_output.TextOutput(to_stderr=False)
    sys.stderr = sys.__stderr__ = _onecall_output.TextOutput(to_stderr=True)
    sys.argv = argv.split("\0") if argv else [PROGRAM]
    sys.executable = sys.orig_argv = None
    _program_number = _program_number + 1 if is_session else 0
    # Each program of a session has its own file name, so that tracebacks find the right lines.
    file = PROGRAM if _program_number <= 1 else f"{PROGRAM[:-1]} {_program_number}>"
    # The last line needs a line break, or older versions misplace the marks in tracebacks.
    lines = [line + "\n" for line in source.splitlines()]
    linecache.cache[file] = (len(source), None, lines, file)
    failure = None
    try:
        code, module = _prepare(source, file, condition, value, fast_names)
        if journal or is_session:
            _onecall_journal.begin(journal, source, is_session, module.__builtins__)
        _execute(code, module, value)
    except MemoryError as error:
        # Frees memory first, or there would be none for the report.
        traceback.clear_frames(error.__traceback__)
        error.__context__ = None
        vars(sys.modules["__main__"]).clear()
        failure = Failure.of(error)
    except BaseException as error:
        if fast_names:
            _onecall_fast_names.keep_values(error)
        failure = Failure.of(error)
    return with_forgotten_calls(failure, source)


def _module():
    """The module that holds the program's variables."""
    if _program_number > 1:
        return sys.modules["__main__"]
    module = types.ModuleType("__main__")
    module.__file__ = PROGRAM
    module.__builtins__ = _onecall_tools.program_builtins()
    module.__builtins__["display"] = _onecall_display.display
    module.__builtins__["cache"] = _onecall_cache.cache
    module.__builtins__["globals"] = _onecall_variables.variables
    sys.modules["__main__"] = module
    return module


def _prepare(source, file, condition, value, fast_names):
    """The compiled program and the module that it runs in."""
    module = _module()
    code = _compiled(source, file, module.__dict__, value, fast_names)
    if condition:
        _stop_without_modules(code, condition)
    return code, module


def _execute(code, module, value):
    # This must not be in a `try` with `finally`: without memory, CPython 3.11 cannot enter the
    # `finally` and tries forever.
    if code.co_flags & inspect.CO_COROUTINE:
        result = _run(_await_module(code, module.__dict__))
    elif _onecall_loop_use.prepare(code):
        result = _run(_call_module(code, module.__dict__))
    else:
        result = eval(code, module.__dict__)
    if value:
        value.take(result, module.__dict__)


def _compiled(source, file, namespace, value, fast_names=""):
    try:
        program = value.with_kept_value(source, file) if value else source
        if fast_names:
            program = _onecall_fast_names.with_end(program, namespace)
        code = compile(
            program, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        return wire.with_fast_names(code, fast_names) if fast_names else code
    except SyntaxError as error:
        if fast_names:
            # The error must not depend on what was added.
            return _compiled(source, file, namespace, value)
        if error.msg == _onecall_returns.REFUSED:
            return _onecall_returns.compiled(source, file, namespace)
        tree = _onecall_nonlocals.read_as_global(source, file, namespace, error)
        if tree is None:
            raise
    return _compiled(tree, file, namespace, value)


def _run(coroutine):
    with asyncio.Runner(loop_factory=_onecall_loop.Loop) as runner:
        return runner.run(coroutine)


class Value:
    """The value of a program: what it returns, or the value of its last expression, or else the
    value of the variable `result` that it assigned at its top level."""

    # A name that no program can write.
    NAME = "<value>"
    RESULT = "result"

    # A longer value is not reported.
    MAX_LENGTH = 1024 * 1024

    def __init__(self, only_type):
        self.only_type = only_type
        self.value = None
        self.assigns_result = False

    def with_kept_value(self, source, file):
        """The program, with its last expression changed into an assignment."""
        tree = compile(source, file, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            target = ast.copy_location(ast.Name(self.NAME, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        self.assigns_result = not self.only_type and _onecall_result.assigns(tree, self.RESULT)
        return tree

    def take(self, result, namespace):
        self.value = namespace.pop(self.NAME, result)
        if self.value is None and self.assigns_result:
            self.value = namespace.get(self.RESULT)

    def text(self):
        """The value as JSON, or empty if it is not plain data; or the name of its type, or empty if
        it is `None`."""
        if self.only_type:
            return "" if self.value is None else type(self.value).__name__
        try:
            text = wire.to_json(self.value)
        except Exception:
            return ""
        return text if len(text) <= self.MAX_LENGTH else ""


def _stop_without_modules(code, condition):
    """Ends this process if another interpreter should run the program. For the condition `*`, that
    is if it uses a module, or a name in one, that does not exist here; otherwise, if none of the
    listed modules exists."""
    wanted = wire.imports(code) if condition == "*" else condition.split("\n")
    absent = [name for name in wanted if not _is_available(name)]
    if absent and (condition == "*" or len(absent) == len(wanted)):
        wire.report_missing_modules("\n".join(absent))
        os._exit(0)


# Modules that may exist without the native part that they need.
NATIVE_PART = {
    "_ctypes": "_ctypes",
    "ctypes": "_ctypes",
    "sqlite3": "_sqlite3",
    "ssl": "_ssl",
    "tkinter": "_tkinter",
    "tracemalloc": "_tracemalloc",
    "turtle": "_tkinter",
}


def _is_available(module):
    if not module or module in sys.modules:
        return True
    try:
        if "." in module:
            return _has_name(*module.rsplit(".", 1))
        if native := NATIVE_PART.get(module):
            importlib.import_module(native)
            return True
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _has_name(module, name):
    """Whether a module of the standard library has a name, or a submodule that can be imported."""
    below = f"{module}.{name}"
    try:
        importlib.import_module(below)
        return True
    except ModuleNotFoundError as error:
        return error.name == below and hasattr(importlib.import_module(module), name)


async def _await_module(code, namespace):
    return await eval(code, namespace)


async def _call_module(code, namespace):
    return eval(code, namespace)
