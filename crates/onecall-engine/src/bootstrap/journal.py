"""Runs a program with a journal: reports the place of each call, and makes the program repeatable."""

import asyncio
import functools
import itertools
import sys
import zlib
from asyncio import events, tasks
from time import monotonic_ns

import _onecall as wire
import _onecall_clocks
import _onecall_loop
import _onecall_observations as observations
import _onecall_randomness
import _onecall_tools
import _onecall_workspace_writes
from _onecall_loop import _pending, _read, unregister_call
from _onecall_observations import PROGRAM_TASK, _early_answers, _wait_on_socket

_SEED_BYTES = 32

# A longer path of a task is replaced by a short one.
_LONGEST_PATH = 500

# Numbers all tasks, and those that no other task has started.
_task_numbers = itertools.count(1)
_first_tasks = itertools.count(1)

_as_completed = tasks.as_completed
_current_task = tasks.current_task


def begin(journal, source, is_session, names):
    """Called before each program that has a journal or belongs to a session; `names` are the builtins of
    the program. The program of a session cannot be repeated, so only the places of its calls are
    reported."""
    _onecall_tools.journal = sys.modules[__name__] if journal else None
    _onecall_tools.find_place = place_of if journal else _onecall_tools.line_of
    if is_session:
        return
    observations.begin(journal[_SEED_BYTES:])
    _onecall_loop._wait = observations.wait
    _onecall_loop._cancel = cancel
    _onecall_loop.install(JournalLoop)
    _onecall_tools.resolve = observations.resolve
    tasks.as_completed = asyncio.as_completed = as_completed
    _at_first_import(names, lambda: _begin_modules(journal[:_SEED_BYTES], source))
    _onecall_workspace_writes.begin(names)


def _begin_modules(seed, source):
    """Makes the modules repeatable that give random numbers and read clocks."""
    _onecall_randomness.begin(seed)
    _onecall_clocks.begin(source)


def _at_first_import(names, act):
    """Acts before the program imports its first module. Without one it has no clock and no random
    numbers, and replacing them would take longer than a short program."""
    import_module = names["__import__"]

    def first_import(*args, **kwargs):
        names["__import__"] = import_module
        act()
        return import_module(*args, **kwargs)

    names["__import__"] = functools.wraps(import_module)(first_import)


def end(is_session):
    """Called after a program that has a journal."""
    if not is_session:
        observations.end()


# Called before each call is sent.
before_call = observations.before_call


def before_question(call_id, name):
    """Called before each question is sent."""
    observations.send()
    observations.called(call_id, name)


def cancel(call_id):
    """Cancels a call."""
    observations.send()
    wire.cancel(call_id)


def place_of_caller():
    """The line and column of the program that are executed."""
    return wire.place(place_of)


def place_of(frame):
    """The line and column that a frame of the program executes; zero if they are unknown."""
    if frame is None:
        return 0, 0
    code, offset = frame.f_code, frame.f_lasti
    line, _, column, _ = next(itertools.islice(code.co_positions(), offset // 2, None), (None,) * 4)
    return line or frame.f_lineno or 0, 0 if column is None else column + 1


class Task(asyncio.Task):
    """A task that knows its place among others. Sets of tasks, which asyncio iterates over, have the
    same order in each run."""

    def __init__(self, coroutine, *, parent, **options):
        self._onecall_number = next(_task_numbers)
        self._onecall_children = itertools.count(1)
        if _is_program(coroutine):
            self._onecall_path = PROGRAM_TASK
        else:
            observations.begin_tasks(_path_of_task)
            self._onecall_path = _path_below(parent)
        if options.get("name") is None:
            options["name"] = f"Task-{self._onecall_number}"
        super().__init__(coroutine, **options)

    def __hash__(self):
        return self._onecall_number


# Programs see the class in representations of tasks.
Task.__qualname__ = "Task"
Task.__module__ = asyncio.Task.__module__


def _is_program(coroutine):
    code = getattr(coroutine, "cr_code", None)
    return code is not None and code.co_filename == "<onecall>/program.py"


def _path_of_task():
    """The path of the task that runs."""
    task = _current_task() if events._get_running_loop() is not None else None
    return getattr(task, "_onecall_path", PROGRAM_TASK)


def _path_below(parent):
    """The path of the next task that a task starts."""
    path = getattr(parent, "_onecall_path", PROGRAM_TASK)
    number = next(getattr(parent, "_onecall_children", _first_tasks))
    path = f"{path}.{number}"
    return path if len(path) <= _LONGEST_PATH else f"0.x{zlib.crc32(path.encode()):08x}"


class JournalLoop(_onecall_loop.BaseLoop):
    """The event loop of a journalled program."""

    def __init__(self):
        super().__init__()
        observations.is_program_thread()
        # Whether the loop is about to compare its timers with the clock.
        self._checks_timers = False

    def _process_events(self, _events):
        self._checks_timers = True

    def time(self):
        if self._checks_timers:
            self._checks_timers = False
            if not self._scheduled:
                return 0.0
        clock = observations.read_clock(observations.LOOP_CLOCK, self._read_clock, "loop.time")
        return clock / 1_000_000_000

    def _read_clock(self):
        return monotonic_ns() - round(self.held_seconds * 1_000_000_000)

    def _write_to_self(self):
        observations.is_program_thread()
        super()._write_to_self()

    def answer_now(self, call_id):
        if self._ready or self._scheduled or len(_pending) != 1 or _early_answers:
            return super().answer_now(call_id)
        # The program can only get this answer, so there is nothing to observe.
        answer = _read(None, call_id, _wait_on_socket)
        if answer is False or answer is True:
            return None
        unregister_call(call_id)
        return answer

    def create_task(self, coro, **options):
        if self._task_factory is not None:
            return super().create_task(coro, **options)
        self._check_closed()
        if options.get("context", self) is None:
            del options["context"]
        return Task(coro, loop=self, parent=tasks.current_task(self), **options)


def as_completed(fs, **options):
    """Like `asyncio.as_completed`, but starts the coroutines in the given order."""
    if events._get_running_loop() is not None and not hasattr(fs, "__await__"):
        try:
            fs = [tasks.ensure_future(it) for it in dict.fromkeys(fs)]
        except TypeError:
            # The original function reports what is wrong.
            pass
    return _as_completed(fs, **options)
