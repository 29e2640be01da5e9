"""The event loop under asyncio: it waits for answers to tool calls and for timers,
and for nothing else.

A program may have a loop in each of its threads. One of them reads the socket at a time and
hands the others what is theirs; they wait for that, or for their turn to read.
"""

import asyncio
import threading
from asyncio import base_events, events

import _onecall as wire

# Held by the thread that reads, until it has handed over what it read.
_reading = threading.Lock()

# Threads that need the socket for themselves; nobody begins to read while there are any.
_claims = 0

# Rung for loops that wait for another thread.
_turns = set()

# Calls under way by id: who waits for the answer, `None` as long as nobody does.
_pending = {}

# Answers that nobody waits for yet.
_unclaimed = {}

# Guards the two above against threads that truly run at once.
_ledger = threading.Lock()


def expect(call_id):
    """Says that an answer will come. Before the call is sent: another thread may read it."""
    _pending[call_id] = None


def forget(call_id):
    """Takes that back."""
    _pending.pop(call_id, None)


def resolve(name):
    """Asks the gateway what a name means."""

    def ask():
        answers = []
        meaning = wire.resolve(name, answers)
        for answer in answers:
            _deliver(answer)
        return meaning

    return alone(ask)


def alone(read):
    """Reads something while no other thread does."""
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
    """Hands an answer to whoever waits for it."""
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
    """Reads answers and hands them over, unless another thread does: then `False`.
    Otherwise the answer to the call `wanted`, or `True`."""
    if _claims or not _reading.acquire(blocking=False):
        return False
    if _claims:
        # Made between the two, by somebody who saw nobody read and will wake nobody.
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
    """Waits while another thread reads: it hands over what is ours, and then its place."""
    _turns.add(turn)
    # It may have done so before it could see that we wait.
    if wanted not in _unclaimed and not _read(0):
        turn.wait(timeout)
    _turns.discard(turn)
    turn.clear()


def wait_for(call_id):
    """Waits for the answer to a call right here, whatever the loop could do meanwhile."""
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
    """What asyncio takes for its selector."""

    def __init__(self):
        self.turn = threading.Event()

    def select(self, timeout):
        if not _read(timeout) and timeout != 0:
            _await_turn(self.turn, timeout)
        return ()

    def close(self):
        pass


class _Nothing:
    """What there is to wait for when most programs end; a coroutine would take the loop
    another turn to find out."""

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
        """The answer to a call that was expected and has just been sent, or `None` if it
        is to be awaited.

        While nothing else is ready to run, the wait happens right here, without a
        coroutine, a future and a turn of the loop: a loop of single calls is the common
        program, and this makes it several times cheaper.
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
        """Waits for an answer that has not come yet."""
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
    """Makes this the loop of `asyncio.run` and friends."""
    events.new_event_loop = Loop
    asyncio.new_event_loop = Loop
