"""The zygote of the Python engines: a warm process that forks a worker for each program.

It forks workers as soon as they can run programs. When nothing was asked of it for a moment, it goes on
to prepare itself for later workers.
"""

import gc
import os
import select
import sys
from time import sleep

import _onecall as wire
import _onecall_failure
import _onecall_loop
import _onecall_machine
import _onecall_program
import _onecall_scratch
import _onecall_tools
import _onecall_warm

# Runs in the zygote, until the interpreter has optimised its code, and in every worker that has
# time before its program arrives, so that the costs of first use (page faults, cold code) are paid
# in advance.
WARM_UP = """
import asyncio, collections, datetime, json, math, re
async def double(x):
    await asyncio.sleep(0)
    return {"x": x, "text": f"{x * 2:>8.2f}"}
rows = await asyncio.gather(*(double(n) for n in range(3)))
totals = collections.defaultdict(list)
for row in sorted(rows, key=lambda row: -row["x"]):
    totals[row["x"] % 2].append(json.loads(json.dumps(row)))
try:
    raise ValueError(re.sub("a+", "b", "aaa"))
except ValueError as error:
    print(error, max(totals), end="", file=None)
class Point:
    def __init__(self, x): self.x = x
assert [point.x for point in map(Point, {1, 2})] and math.floor(1.5) == 1
answers = await asyncio.gather(*(mcp__example__tool(line=n) for n in range(2)))
assert await mcp__example__tool(line=2) == {} and answers == [{}, {}]
"""

# A worker that is idle for this many milliseconds runs the warm-up. If programs follow each other
# closely, or many arrive at once, they would have to wait for it.
IDLE_MILLISECONDS = 15

# In seconds. The gateway kills a worker whose program has ended much sooner.
EXIT_DELAY = 60

# The end of the preparation.
DONE = object()

# Interpreters that specialise code do so after it has run this often.
WARM_UP_RUNS = 4


def serve():
    """Forks workers until the gateway closes stdin."""
    _onecall_loop.install()
    _onecall_failure.importers = (*sys.meta_path,)
    gc.enable()
    preparation = prepare()
    run_worker(*wire.fork_workers(lambda: next(preparation, DONE) is not DONE))


def prepare():
    """Prepares this process for later workers, in short steps."""
    yield from _onecall_warm.import_usual_modules()
    for _ in range(WARM_UP_RUNS):
        streams = sys.stdin, sys.stdout, sys.stderr
        failure = warm_up()
        sys.stdin, sys.stdout, sys.stderr = streams
        if failure is not None:
            raise RuntimeError(failure.text)
        yield
    wire.prepare_memory_for_forks()
    gc.freeze()


def warm_up():
    """Runs the warm-up; returns its failure."""
    wire.begin_warm_up()
    failure = _onecall_program.run_source(WARM_UP)
    wire.end_warm_up()
    _onecall_tools.reset_ids()
    return failure


def run_worker(is_prepared, *files):
    """Runs a worker in this process. Never returns. A worker that was forked before the zygote was prepared does
    not warm up: it is used at once or never."""
    try:
        failure = warm_up() if is_prepared and is_idle() else None
        wire.attach(*files)
        if failure is not None:
            wire.finish("", *_onecall_program.encode_failure(failure))
            os._exit(0)
        wire.lock()
        _onecall_machine.update_thread_id()
        scratch, *program, is_session, value_report = _onecall_loop.with_exclusive_socket(
            wire.next_program
        )
        _onecall_scratch.begin(scratch)
        outcome = _onecall_program.run(*program, is_session, value_report)
        while is_session:
            scratch, *program, is_session, value_report = _onecall_loop.with_exclusive_socket(
                lambda: finish_and_wait(outcome)
            )
            _onecall_scratch.begin(scratch)
            outcome = _onecall_program.run(*program, is_session, value_report)
        wire.finish(*outcome)
        wire.close_sending()
        # The gateway kills this process when it has sent the answer. Exiting by itself would only
        # take processor time from it.
        sleep(EXIT_DELAY)
    except OSError as error:
        wire.finish("", "{}", str(error))
    except Exception as error:
        wire.finish("", "{}", f"{type(error).__name__}: {error}".removesuffix(": "))
    os._exit(0)


def is_idle():
    """Whether no request of the gateway arrives for a while."""
    stdin = select.poll()
    stdin.register(0, select.POLLIN)
    return not stdin.poll(IDLE_MILLISECONDS)


def finish_and_wait(outcome):
    """Reports the outcome of a program and waits for the next one. Both in one function, because
    the next program may arrive at once, and a thread that the last one left behind must not read
    it."""
    wire.finish(*outcome)
    return wire.next_program()
