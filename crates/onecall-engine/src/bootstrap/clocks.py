"""Replaces the clocks of a journalled program by those that are recorded and repeated."""

import datetime
import functools
import os
import sys
import time
import warnings

import _onecall as wire
import _onecall_observations as observations
from _onecall_observations import read_clock, read_value

_CLOCKS = {
    "time": observations.TIME,
    "monotonic": observations.MONOTONIC,
    "perf_counter": observations.PERFORMANCE,
    "process_time": observations.PROCESS,
    "thread_time": observations.THREAD,
}

# The highest number of a clock of `time.clock_gettime` that is recorded.
_LAST_OF_SYSTEM = 100

_NANOSECONDS = 1_000_000_000

_time_ns = time.time_ns
_gettime_ns = time.clock_gettime_ns
_sleep = time.sleep


def begin(source):
    """Replaces the clocks for a program with this source."""
    for module, name, function in _REPLACEMENTS:
        setattr(module, name, function)
    if not _replace_dates() and "datetime" in source:
        observations.in_place("clock")


def now():
    """The time of day in nanoseconds since 1970."""
    return read_clock(observations.TIME, _time_ns, "time.time")


def _clock(name, clock):
    """The two functions of the module `time` that read a clock."""
    read = getattr(time, f"{name}_ns")
    described = f"time.{name}"

    @functools.wraps(getattr(time, name))
    def seconds():
        return read_clock(clock, read, described) / _NANOSECONDS

    @functools.wraps(read)
    def nanoseconds():
        return read_clock(clock, read, described)

    return (time, name, seconds), (time, f"{name}_ns", nanoseconds)


def _conversion(name):
    """A function that converts a time, or the present time if it gets none."""
    convert = getattr(time, name)

    @functools.wraps(convert)
    def converted(seconds=None, /):
        return convert(now() / _NANOSECONDS if seconds is None else seconds)

    return time, name, converted


def _format(name):
    """A function whose last argument is a time, by default the present local time."""
    format_time = getattr(time, name)
    count = 2 if name == "strftime" else 1

    @functools.wraps(format_time)
    def formatted(*arguments):
        if len(arguments) == count - 1:
            arguments = (*arguments, time.localtime())
        return format_time(*arguments)

    return time, name, formatted


def _system_clock(name, convert):
    usual = getattr(time, name)

    @functools.wraps(usual)
    def gettime(clock, /):
        # Raises an exception for a clock that does not exist.
        value = usual(clock)
        if not 0 <= clock <= _LAST_OF_SYSTEM:
            observations.in_place("clock")
            return value
        number = observations.SYSTEM_CLOCK + clock
        return convert(read_clock(number, lambda: _gettime_ns(clock), f"time.{name}"))

    return time, name, gettime


@functools.wraps(_sleep)
def sleep(seconds, /):
    """Takes no time while observations are repeated."""
    is_short = observations.is_repeating() and observations.is_program_thread()
    # The native function reports arguments that are not valid.
    _sleep(min(seconds, 0) if is_short and isinstance(seconds, (int, float)) else seconds)


def _process_values():
    """Functions that say something about the process of the program."""
    yield os, "times", _recorded_tuple("os.times", os.times)
    # The process id never changes, so it is recorded once.
    yield os, "getpid", functools.cache(functools.partial(read_value, "os.getpid", os.getpid))
    try:
        import resource
    except ImportError:
        return
    yield resource, "getrusage", _recorded_tuple("resource.getrusage", resource.getrusage)


def _recorded_tuple(name, read):
    @functools.wraps(read)
    def recorded(*arguments):
        value = read(*arguments)
        return type(value)(read_value(name, lambda: list(value)))

    return recorded


# The modules, names and functions that are replaced. They are made before a program arrives: it would
# have to wait for them.
_REPLACEMENTS = (
    *(it for name, clock in _CLOCKS.items() for it in _clock(name, clock)),
    *(_conversion(name) for name in ("gmtime", "localtime", "ctime")),
    *(_format(name) for name in ("asctime", "strftime")),
    _system_clock("clock_gettime", lambda value: value / _NANOSECONDS),
    _system_clock("clock_gettime_ns", lambda value: value),
    (time, "sleep", sleep),
    *_process_values(),
)


def _replace_dates():
    """Replaces the clocks of `datetime`, whose classes are native and immutable. Returns whether
    that was possible."""
    try:
        for name, function in (("now", _now), ("utcnow", _utcnow), ("today", _today)):
            wire.replace_attribute(datetime.datetime, name, classmethod(function))
        wire.replace_attribute(datetime.date, "today", classmethod(_today))
        replaced = datetime.datetime.now.__func__ is _now and datetime.date.today.__func__ is _today
    except (AttributeError, TypeError, ValueError):
        return False
    return replaced


def _now(cls, tz=None):
    """The present time, in a time zone or else as local time without one."""
    seconds, microseconds = divmod(now() // 1000, 1_000_000)
    return cls.fromtimestamp(seconds, tz).replace(microsecond=microseconds)


def _utcnow(cls):
    """The present time in UTC, without a time zone."""
    if sys.version_info >= (3, 12):
        warnings.warn(
            "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future "
            "version. Use timezone-aware objects to represent datetimes in UTC: "
            "datetime.datetime.now(datetime.UTC).",
            DeprecationWarning,
            stacklevel=2,
        )
    return _now(cls, datetime.timezone.utc).replace(tzinfo=None)


def _today(cls):
    """The present local date, or the present time for a class of times."""
    if issubclass(cls, datetime.datetime):
        return _now(cls)
    return cls.fromtimestamp(now() // _NANOSECONDS)
