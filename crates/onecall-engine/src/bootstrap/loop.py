"""The event loop under asyncio: it waits for answers to tool calls and for timers,
and for nothing else."""

import asyncio
from asyncio import base_events, events

import _onecall as wire

# Answers that arrived while something else was waited for.
backlog = []

# Futures of the calls under way, by call id.
pending = {}


def deliver(answer):
    """Hands an answer to whoever waits for it."""
    future = pending.pop(answer[0], None)
    if future is not None and not future.done():
        future.set_result(answer)


class Answers:
    """What asyncio takes for its selector."""

    def select(self, timeout):
        if backlog:
            timeout = 0
        answers = backlog + wire.wait(timeout)
        backlog.clear()
        return answers

    def close(self):
        pass


class Loop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Answers()

    def _process_events(self, answers):
        for answer in answers:
            deliver(answer)

    def _write_to_self(self):
        wire.wake()

    async def answer(self, call_id):
        """Waits for the answer to a call that has just been sent.

        While nothing else is ready to run, the wait happens right here, without a
        future and without a turn of the loop: a loop of single calls is the common
        program, and this makes it several times cheaper.
        """
        if not self._ready and not backlog:
            timeout = None
            if self._scheduled:
                timeout = max(0.0, self._scheduled[0]._when - self.time())
            mine = None
            for answer in wire.wait(timeout):
                if answer[0] == call_id:
                    mine = answer
                else:
                    deliver(answer)
            if mine is not None:
                return mine
        future = pending[call_id] = self.create_future()
        try:
            return await future
        finally:
            if pending.pop(call_id, None) is not None:
                wire.cancel(call_id)


def install():
    """Makes this the loop of `asyncio.run` and friends."""
    events.new_event_loop = Loop
    asyncio.new_event_loop = Loop
