"""Records what a journalled program observes, and repeats it when the run is continued.

A program is repeatable if everything that comes from outside comes in the same order: which answers
its event loop gets in which turn, what names mean, and what clocks show. These observations are
sent to the gateway before the next call. A worker that continues a run gets them back: it takes its
input from them until they are used up, and goes on by itself then. Where a program can only get one
thing, because it waits for one call and no timer, nothing is observed: most calls are such calls.

Each observation is a byte for its kind and numbers of variable length. The first one names the
interpreter, because others may run the same program differently. The observations after a call begin
with the id of the call, so that a program is stopped that makes its calls at other points.
"""

import sys
from _thread import get_ident
from asyncio import events, tasks
from time import sleep

import _onecall as wire
import _onecall_loop
import _onecall_tools

# The kinds of observations. Clocks follow, by their number.
INTERPRETER, EMPTY_WAITS, ANSWER, ANSWERS, NAME, VALUE, AFTER_CALL = range(1, 8)
CLOCK = 16

# More observations than this between two calls are not kept.
MAX_BETWEEN_CALLS = 100_000

# The format, and the interpreter that makes the observations.
_version = ".".join(map(str, sys.version_info[:3]))
IDENTITY = f"2 {sys.implementation.name} {_version}"

# The numbers of clocks: that of the event loop, those of the module `time`, and that of the first
# clock of `time.clock_gettime`.
LOOP_CLOCK, TIME, MONOTONIC, PERFORMANCE, PROCESS, THREAD = range(6)
SYSTEM_CLOCK = 8

# The clocks that show the time since the machine was started.
_MONOTONIC_CLOCKS = (LOOP_CLOCK, MONOTONIC, PERFORMANCE)

# The clocks that show the time of day, also when a run is continued later.
_TIME_OF_DAY = {TIME, *(SYSTEM_CLOCK + number for number in (0, 5, 8, 11))}

# The path of the program's own task, and the function that says which task runs; `None` while there
# is no other task.
PROGRAM_TASK = "0"
path_of_task = None

_wait_on_socket = wire.wait
_get_running_loop = events._get_running_loop

# The thread that runs the program.
program_thread = None

# Whether the program's thread can make calls without reporting more than their places.
_is_quiet = False

# The threads that do something whose clock reads are not observed.
_unobserved = set()

# Whether observations are recorded, and what has been recorded since they were last sent.
_is_recording = False
_recorded = bytearray()
_recorded_count = 0

# How often the program has waited since the last observation, without getting an answer.
_empty_waits = 0

# The last call of the program that is named in the observations.
_named_call = 0

# The observations that are repeated, `None` if the program goes on by itself; how far they are used;
# and how many more waits get no answer.
_repeated = None
_position = 0
_empty_waits_left = 0

# Answers that have arrived before the program gets them, by the id of the call.
_early_answers = {}

# The last value of each clock in nanoseconds, how it is read, and what is added to it so that a
# clock of a continued run goes on from its last value.
_last_values = {}
_clock_readers = {}
_clock_offsets = {}


def begin(observations):
    """Begins to record, or to repeat these observations if there are any."""
    global program_thread, _is_recording, _repeated
    program_thread = get_ident()
    if not observations:
        _is_recording = True
        wire.replayed()
        _record_text(INTERPRETER, IDENTITY)
        return
    _repeated = observations
    if _take(INTERPRETER) != INTERPRETER:
        _stop_unreadable()
    identity = _take_text()
    if identity != IDENTITY:
        stop(f"the run began on '{identity[2:]}', and this process runs on '{IDENTITY[2:]}'")
    _go_on_if_used_up()


def end():
    """Ends the observations with the program."""
    if _repeated is not None:
        stop(_difference("ends"))
    send()


def is_repeating():
    """Whether observations are left that the program has to repeat."""
    return _repeated is not None


def send():
    """Sends the observations since the last time; called before everything that depends on them."""
    observed = take_recorded()
    if observed:
        wire.observed(observed)


def take_recorded():
    """The observations that have not been sent; the caller sends them."""
    global _recorded_count
    if get_ident() != program_thread:
        is_program_thread()
    if _empty_waits:
        _record_empty_waits()
    observed = bytes(_recorded) if _is_recording else b""
    _recorded.clear()
    _recorded_count = 0
    if _repeated is None and path_of_task is None and get_ident() == program_thread:
        _set_quiet(True)
    return observed


def _set_quiet(quiet):
    global _is_quiet
    if quiet != _is_quiet:
        _is_quiet = quiet
        wire.set_quiet(quiet)


def begin_tasks(path_of):
    """Called when there is more than the program's own task; `path_of` says which task runs."""
    global path_of_task
    path_of_task = path_of
    _set_quiet(False)


def before_call(call_id, name, place):
    """Sends the observations before a call. Returns the site of the call: its place, and the path of its
    task if there are several."""
    send()
    called(call_id, name)
    return (*place, path_of_task()) if path_of_task else place


def called(call_id, name):
    """Notes that the program calls a tool or asks a question; called after `take_recorded`."""
    if _repeated is not None and not _comes_after(call_id):
        stop(_difference(f"calls '{name}'"))
    wire.note_call(call_id)


def _comes_after(call_id):
    """Whether the next observation was made after this call."""
    global _position
    position = _position
    comes_after = _take(AFTER_CALL) == AFTER_CALL and _take_number() >= call_id
    _position = position
    return comes_after


def in_place(reason):
    """Notes that the program does something that cannot be repeated, and stops recording."""
    global _is_recording
    if _repeated is not None:
        stop(_difference("does something that cannot be repeated"))
    if _is_recording:
        _is_recording = False
        wire.in_place_only(f'"{reason}"')


def unobserved(act, *arguments):
    """Acts without observing the clocks that this reads."""
    thread = get_ident()
    _unobserved.add(thread)
    try:
        return act(*arguments)
    finally:
        _unobserved.discard(thread)


def is_program_thread():
    """Whether this is the thread of the program. If not, the run cannot be repeated from now on."""
    if get_ident() == program_thread:
        return True
    if _is_recording or _repeated is not None:
        in_place("threads")
    return False


def wait(seconds):
    """Waits for answers like `wire.wait`, and records or repeats which ones arrive."""
    global _empty_waits
    pending = _onecall_loop._pending
    if seconds is None and len(pending) == 1:
        # Without another function call: a program may make thousands of calls.
        loop = _get_running_loop()
        if loop is None or not loop._scheduled:
            # No timer can come before the answer.
            return _early_or_next_answers(None) if _early_answers else _wait_on_socket(None)
    if _repeated is not None:
        answers = _repeated_answers()
        _go_on_if_used_up()
        return answers
    answers = _early_or_next_answers(seconds)
    if _is_recording:
        if len(answers) == 1 and answers[0][0] in pending:
            _record(ANSWER, answers[0][0])
        else:
            ids = [answer[0] for answer in answers if answer[0] in pending]
            if ids:
                _record(ANSWERS, len(ids), *ids)
            else:
                _empty_waits += 1
                _set_quiet(False)
    return answers


def _early_or_next_answers(seconds):
    """The answers that have arrived already, or else those that arrive next."""
    if not _early_answers:
        return _wait_on_socket(seconds)
    answers = list(_early_answers.values())
    _early_answers.clear()
    return answers


def _repeated_answers():
    """The answers that the program got at this point, as soon as they have arrived again."""
    global _empty_waits_left
    if not _empty_waits_left:
        kind = _take(EMPTY_WAITS, ANSWER, ANSWERS)
        if kind == ANSWER:
            return _arrived([_take_number()])
        if kind == ANSWERS:
            return _arrived([_take_number() for _ in range(_take_number())])
        if kind != EMPTY_WAITS:
            stop(_difference(_waits_or_ends(), kind))
        _empty_waits_left = _take_number() or _stop_unreadable()
    _empty_waits_left -= 1
    return ()


def _waits_or_ends():
    """What the program does when its event loop waits for answers."""
    loop = events._get_running_loop()
    # After the last task has ended, the loop takes one more turn.
    has_ended = loop is not None and not tasks.all_tasks(loop)
    return "ends" if has_ended else "waits"


def _arrived(ids):
    for call_id in ids:
        if call_id not in _onecall_loop._pending:
            stop(_difference(_waits_or_ends(), ANSWER, " that it has not made now"))
        while call_id not in _early_answers:
            keep_answers(wire.wait(None))
    return [_early_answers.pop(call_id) for call_id in ids]


def keep_answers(answers):
    """Keeps answers that have arrived until the program waits for answers."""
    for answer in answers:
        if answer[0] < 0:
            _onecall_loop._deliver(answer)
        else:
            _early_answers[answer[0]] = answer


def read_clock(clock, read, name):
    """What a clock shows, in nanoseconds; `read` reads it."""
    if _unobserved and get_ident() in _unobserved:
        return read()
    if not is_program_thread():
        return read()
    if _repeated is not None:
        return _repeated_time(clock, read, name)
    value = read()
    if _clock_offsets:
        value += _clock_offsets.get(clock, 0)
    if _is_recording:
        change = value - _last_values.get(clock, 0)
        _last_values[clock] = value
        _record(CLOCK + clock, change * 2 if change >= 0 else -change * 2 - 1)
    return value


def _repeated_time(clock, read, name):
    kind = _take(CLOCK + clock)
    if kind != CLOCK + clock:
        stop(_difference(f"reads the clock ({name})", kind))
    change = _take_number()
    change = -(change + 1) // 2 if change % 2 else change // 2
    _clock_readers[clock] = read
    value = _last_values[clock] = _last_values.get(clock, 0) + change
    _go_on_if_used_up()
    return value


def read_value(name, read):
    """Something else that may differ from run to run; `read` gets it. It must be plain data."""
    if not is_program_thread():
        return read()
    observed = _repeated_text(VALUE, name, f"reads {name}")
    if observed is None:
        observed = read()
        _record_text(VALUE, wire.to_json([name, observed]))
    return observed


def resolve(name):
    """Asks the gateway what a name refers to, like `_onecall_loop.resolve`."""

    def ask():
        answers = []
        meaning = wire.resolve(name, answers)
        keep_answers(answers)
        return meaning

    is_program_thread()
    meaning = _repeated_text(NAME, name, f"uses the name '{name}'")
    if meaning is None:
        meaning = _onecall_loop.with_exclusive_socket(ask)
        _record_text(NAME, wire.to_json([name, meaning]))
    return meaning


def _repeated_text(kind, name, does):
    """What was observed under this name; `None` if nothing is repeated."""
    if _repeated is None:
        return None
    found = _take(kind)
    if found != kind:
        stop(_difference(does, found))
    import json

    try:
        recorded_name, value = json.loads(_take_text())
    except (TypeError, ValueError):
        _stop_unreadable()
    if recorded_name != name:
        stop(_difference(does, found, f" ('{recorded_name}')"))
    _go_on_if_used_up()
    return value


def _go_on_if_used_up():
    """Ends the repetition and begins to record, if all observations are used up."""
    global _repeated, _is_recording
    if _position < len(_repeated) or _empty_waits_left:
        return
    _repeated = None
    _is_recording = True
    for clock, read in _clock_readers.items():
        if clock not in _TIME_OF_DAY:
            _clock_offsets[clock] = _last_values[clock] - read()
    known = [_clock_offsets[clock] for clock in _MONOTONIC_CLOCKS if clock in _clock_offsets]
    for clock in _MONOTONIC_CLOCKS if known else ():
        _clock_offsets.setdefault(clock, known[0])
    wire.replayed()


def _record(*numbers):
    global _recorded_count
    if _is_quiet:
        _set_quiet(False)
    _recorded_count += 1
    if _empty_waits:
        _record_empty_waits()
    if wire.last_call() != _named_call:
        _name_last_call()
    for number in numbers:
        while number > 127:
            _recorded.append(number & 127 | 128)
            number >>= 7
        _recorded.append(number)
    if _recorded_count > MAX_BETWEEN_CALLS:
        in_place("clock")


def _name_last_call():
    global _named_call
    _named_call = wire.last_call()
    _record(AFTER_CALL, _named_call)


def _record_empty_waits():
    global _empty_waits
    count, _empty_waits = _empty_waits, 0
    if _is_recording:
        _record(EMPTY_WAITS, count)


def _record_text(kind, text):
    if _is_recording:
        data = text.encode(errors="replace")
        _record(kind, len(data))
        _recorded.extend(data)


def _take(*wanted):
    """The kind of the next observation. If it is one of those that are wanted, it is used."""
    global _position
    if _empty_waits_left:
        return EMPTY_WAITS
    if _position >= len(_repeated):
        _stop_unreadable()
    kind = _repeated[_position]
    if kind in wanted:
        _position += 1
    elif kind == AFTER_CALL and _is_after_last_call():
        return _take(*wanted)
    return kind


def _is_after_last_call():
    """Whether the next observation names the last call. If so, the name is used."""
    global _position
    position = _position
    _position += 1
    is_after = _take_number() == wire.last_call()
    if not is_after:
        _position = position
    return is_after


def _take_number():
    global _position
    number = shift = 0
    while True:
        if _position >= len(_repeated) or shift > 140:
            _stop_unreadable()
        part = _repeated[_position]
        _position += 1
        number |= (part & 127) << shift
        if part < 128:
            return number
        shift += 7


def _take_text():
    global _position
    length = _take_number()
    data = _repeated[_position : _position + length]
    if len(data) < length:
        _stop_unreadable()
    _position += length
    return data.decode(errors="replace")


def _stop_unreadable():
    stop("the observations of the recorded run cannot be read")


def _difference(does, kind=None, detail=""):
    """A sentence about what the program does instead of what was recorded."""
    frame = _onecall_tools.frame_of_program(sys._getframe(1)) or _awaiting_frame()
    where = f"in line {frame.f_lineno} " if frame is not None else ""
    kind = kind or _take()
    names = {
        EMPTY_WAITS: "it waited for answers",
        ANSWER: "it got the answer to a call",
        ANSWERS: "it got the answers to several calls",
        NAME: "it looked up a name",
        VALUE: "it read a value of its process",
        AFTER_CALL: "it made a call",
    }
    did = names.get(kind, "it read a clock" if kind >= CLOCK else "something unknown happened")
    return f"{where}the program {does}, and in the recorded run {did}{detail} at this point"


def _awaiting_frame():
    """The frame of the program that awaits something, of the task that was started first."""
    loop = events._get_running_loop()
    found = sorted(tasks.all_tasks(loop), key=hash) if loop is not None else ()
    frame = None
    awaited = found[0].get_coro() if found else None
    while awaited is not None:
        inner = getattr(awaited, "cr_frame", None)
        if inner is not None and _onecall_tools.is_of_program(inner):
            frame = inner
        awaited = getattr(awaited, "cr_await", None)
    return frame


def stop(difference):
    """Ends the program, because it does not do what it did before. Never returns."""
    wire.diverged(difference)
    while True:
        # The gateway ends this process.
        sleep(60)
