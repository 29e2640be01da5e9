"""The event loop for asyncio: it waits for answers to tool calls and for timers, and for
nothing else.

A program may have a loop in each of its threads. One of them at a time reads the socket and
delivers the answers of the others, which wait for that or for their turn to read.
"""

import asyncio
import threading
from asyncio import base_events, events

import _onecall as wire

# Held by the thread that reads the socket, until it has delivered what it read.
_reading = threading.Lock()

# How many threads need exclusive use of the socket; no thread starts to read while there are any.
_claims = 0

# Events of loops that wait for another thread to read.
_turns = set()

# Pending calls by id, with the future that waits for the answer, or `None` if there is none yet.
_pending = {}

# Answers that have arrived before a future waits for them.
_unclaimed = {}

# Protects the two above in interpreters whose threads run in parallel.
_ledger = threading.Lock()


def expect(call_id):
    """Registers a call. This must happen before the call is sent: another thread may read the
    answer."""
    _pending[call_id] = None


def forget(call_id):
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

    return alone(ask)


def alone(read):
    """Calls `read` while no other thread reads the socket."""
    global _claims
    with _ledger:
        _claims += 1
    try:
        if _reading.locked():
            wire.wake()
        with _reading:
            return read()
    finally:
        with _ledger:
            _claims -= 1
        _next_turn()


def _next_turn():
    for turn in list(_turns):
        turn.set()


def _deliver(answer):
    """Delivers an answer to the future that waits for it."""
    with _ledger:
        if answer[0] not in _pending:
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


def _read(timeout, wanted=None):
    """Reads and delivers answers. Returns `False` if another thread reads; otherwise the answer to
    the call `wanted`, or `True`."""
    if _claims or not _reading.acquire(blocking=False):
        return False
    if _claims:
        # A claim was made between the check and the lock. Its thread saw no reader and will wake
        # none.
        _reading.release()
        return False
    try:
        mine = _unclaimed.pop(wanted, None) if _unclaimed else None
        if mine is None:
            for answer in wire.wait(timeout):
                if answer[0] == wanted:
                    mine = answer
                else:
                    _deliver(answer)
        return mine or True
    finally:
        _reading.release()
        if _turns:
            _next_turn()


def _await_turn(turn, timeout, wanted=None):
    """Waits while another thread reads; that thread delivers answers and then passes on its
    turn."""
    _turns.add(turn)
    # The other thread may have finished before it could see this one waiting.
    if wanted not in _unclaimed and not _read(0):
        turn.wait(timeout)
    _turns.discard(turn)
    turn.clear()


def wait_for(call_id):
    """Blocks until the answer to a call arrives, without running the loop."""
    turn = threading.Event()
    try:
        while True:
            answer = _read(None, call_id)
            if answer is False:
                _await_turn(turn, None, call_id)
                answer = _unclaimed.pop(call_id, True)
            if answer is not True:
                return answer
    finally:
        forget(call_id)


class Answers:
    """Takes the place of a selector in asyncio."""

    def __init__(self):
        self.turn = threading.Event()

    def select(self, timeout):
        if not _read(timeout) and timeout != 0:
            _await_turn(self.turn, timeout)
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
        self._selector = Answers()

    def _process_events(self, _events):
        pass

    def _write_to_self(self):
        self._selector.turn.set()
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
        forget(call_id)
        return answer

    async def answer(self, call_id):
        """Waits for an answer that has not arrived yet."""
        with _ledger:
            answer = _unclaimed.pop(call_id, None)
            if answer is not None:
                return answer
            future = _pending[call_id] = self.create_future()
        try:
            return await future
        finally:
            if _pending.pop(call_id, None) is not None:
                wire.cancel(call_id)


def install():
    """Makes this the event loop of `asyncio.run` and similar functions."""
    events.new_event_loop = Loop
    asyncio.new_event_loop = Loop
