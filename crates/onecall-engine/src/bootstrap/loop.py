"""The event loop for asyncio: it waits for answers to tool calls and for timers, and for
nothing else.

A program may have a loop in each of its threads. One of them at a time reads the socket and
delivers the answers of the others, which wait for that or for their turn to read.
"""

import asyncio
import threading
from asyncio import base_events, events
from time import monotonic

import _onecall as wire

# Held by the thread that reads the socket, until it has delivered what it read.
_reading = threading.Lock()

# How many threads need exclusive use of the socket; no thread starts to read while there are any.
_exclusive_requests = 0

# Events of loops that wait for another thread to read.
_waiting_events = set()

# Pending calls by id, with the future that waits for the answer, or `None` if there is none yet.
_pending = {}

# Answers that have arrived before a future waits for them.
_unclaimed = {}

# Protects the two above in interpreters whose threads run in parallel.
_answers_lock = threading.Lock()

# Calls that wait for a person, by id. A call that has been answered may still be here.
_held = set()

# Read answers and cancel calls; a journalled run replaces them.
_wait = wire.wait
_cancel = wire.cancel


def register_call(call_id):
    """Registers a call. This must happen before the call is sent: another thread may read the
    answer."""
    _pending[call_id] = None


def unregister_call(call_id):
    """Removes a registered call that was not sent."""
    _pending.pop(call_id, None)


def resolve(name):
    """Asks the gateway what a name refers to."""

    def ask():
        answers = []
        meaning = wire.resolve(name, answers)
        for answer in answers:
            _deliver(answer)
        return meaning

    return with_exclusive_socket(ask)


def with_exclusive_socket(read):
    """Calls `read` while no other thread reads the socket."""
    global _exclusive_requests
    with _answers_lock:
        _exclusive_requests += 1
    try:
        if _reading.locked():
            wire.wake()
        with _reading:
            return read()
    finally:
        with _answers_lock:
            _exclusive_requests -= 1
        _wake_waiting()


def _wake_waiting():
    for wakeup in list(_waiting_events):
        wakeup.set()


def _deliver(answer):
    """Delivers an answer to the future that waits for it, or notes that a call waits for a person or
    no longer does."""
    with _answers_lock:
        if answer[0] not in _pending:
            if answer[0] < 0:
                (_held.add if answer[1] else _held.discard)(-answer[0])
            return
        future = _pending.pop(answer[0])
        if future is None:
            _unclaimed[answer[0]] = answer
            return
    loop = future.get_loop()
    if loop is events._get_running_loop():
        _settle(future, answer)
    elif not loop.is_closed():
        loop.call_soon_threadsafe(_settle, future, answer)


def _settle(future, answer):
    if not future.done():
        future.set_result(answer)


def _read(timeout, wanted=None, wait=None):
    """Reads and delivers answers, with `wait` instead of the usual function if it is given. Returns
    `False` if another thread reads; otherwise the answer to the call `wanted`, or `True`."""
    if _exclusive_requests or not _reading.acquire(blocking=False):
        return False
    if _exclusive_requests:
        # Such a request was made between the check and the lock. Its thread saw no reader and will wake
        # none.
        _reading.release()
        return False
    try:
        mine = _unclaimed.pop(wanted, None) if _unclaimed else None
        if mine is None:
            stands_still = _held and timeout != 0 and _waits_for_person()
            for answer in _wait_for_person() if stands_still else (wait or _wait)(timeout):
                if answer[0] == wanted:
                    mine = answer
                else:
                    _deliver(answer)
        return mine or True
    finally:
        _reading.release()
        if _waiting_events:
            _wake_waiting()


def _waits_for_person():
    """Whether all pending calls wait for a person. Until one no longer does, timers stand still."""
    return bool(_pending) and _pending.keys() <= _held


def _wait_for_person():
    """Waits for answers without a timeout. The clock of this thread's loop stands still meanwhile."""
    loop = events._get_running_loop()
    begun = monotonic()
    try:
        return _wait(None)
    finally:
        if isinstance(loop, BaseLoop):
            loop.held_seconds += monotonic() - begun


def _wait_for_reader(wakeup, timeout, wanted=None):
    """Waits while another thread reads; that thread delivers answers and then passes on its
    turn."""
    _waiting_events.add(wakeup)
    # The other thread may have finished before it could see this one waiting.
    if wanted not in _unclaimed and not _read(0):
        if _held and timeout is not None and _waits_for_person():
            _sleep_for_person(wakeup)
        else:
            wakeup.wait(timeout)
    _waiting_events.discard(wakeup)
    wakeup.clear()


def _sleep_for_person(wakeup):
    """Waits for another thread to read, while the clock of this thread's loop stands still."""
    loop = events._get_running_loop()
    begun = monotonic()
    wakeup.wait()
    if isinstance(loop, BaseLoop):
        loop.held_seconds += monotonic() - begun


def wait_for(call_id):
    """Blocks until the answer to a call arrives, without running the loop."""
    wakeup = threading.Event()
    try:
        while True:
            answer = _read(None, call_id)
            if answer is False:
                _wait_for_reader(wakeup, None, call_id)
                answer = _unclaimed.pop(call_id, True)
            if answer is not True:
                return answer
    finally:
        unregister_call(call_id)


class AnswerSelector:
    """Takes the place of a selector in asyncio."""

    def __init__(self):
        self.wakeup = threading.Event()

    def select(self, timeout):
        if not _read(timeout) and timeout != 0:
            _wait_for_reader(self.wakeup, timeout)
        return ()

    def close(self):
        pass


class _Nothing:
    """Awaited at the end of most programs, when there is nothing left to wait for. A coroutine
    would cost another iteration of the loop."""

    def __await__(self):
        return iter(())


_NOTHING = _Nothing()


class Loop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = AnswerSelector()
        # For how long the clock of this loop has stood still.
        self.held_seconds = 0.0

    def time(self):
        return monotonic() - self.held_seconds

    def _process_events(self, _events):
        pass

    def _write_to_self(self):
        self._selector.wakeup.set()
        wire.wake()

    def run_until_complete(self, future):
        return None if future is _NOTHING else super().run_until_complete(future)

    def shutdown_asyncgens(self):
        if self._asyncgens:
            return super().shutdown_asyncgens()
        self._asyncgens_shutdown_called = True
        return _NOTHING

    def shutdown_default_executor(self, *args, **kwargs):
        if self._default_executor is not None:
            return super().shutdown_default_executor(*args, **kwargs)
        self._executor_shutdown_called = True
        return _NOTHING

    def answer_now(self, call_id):
        """The answer to a registered call that has just been sent, or `None` if it has to be
        awaited.

        If nothing else is ready to run, this blocks until the answer arrives, without a
        coroutine, a future and an iteration of the loop. Most programs make one call after the
        other, and this makes them several times cheaper.
        """
        if self._ready:
            return None
        timeout = None
        if self._scheduled:
            timeout = max(0.0, self._scheduled[0]._when - self.time())
        answer = _read(timeout, call_id)
        if answer is False or answer is True:
            return None
        unregister_call(call_id)
        return answer

    async def answer(self, call_id):
        """Waits for an answer that has not arrived yet."""
        with _answers_lock:
            answer = _unclaimed.pop(call_id, None)
            if answer is not None:
                return answer
            future = _pending[call_id] = self.create_future()
        try:
            return await future
        finally:
            if _pending.pop(call_id, None) is not None:
                _cancel(call_id)


# The loop without a journal, from which others are derived.
BaseLoop = Loop


def install(loop=Loop):
    """Makes this the event loop of `asyncio.run` and similar functions."""
    global Loop
    Loop = loop
    events.new_event_loop = loop
    asyncio.new_event_loop = loop
