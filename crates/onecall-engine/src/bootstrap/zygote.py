"""The warm process that forks a worker for each program.

The gateway speaks on stdin: `F` and an id, with a socket attached, asks for a worker
on that socket; `K` and an id kills one. Each worker's end is answered with `X`, its
id and its exit status. Nothing but this process may reap or kill its children, so an
id never reaches a stranger.
"""

import gc
import os
import select
import signal
import socket
import struct
import sys
import time

import _onecall as wire
import _onecall_loop
import _onecall_program
import _onecall_tools

REQUEST = struct.Struct("<cQ")
EXIT = struct.Struct("<cQi")

# Runs in the zygote until the interpreter has made of its code what it makes of code that runs
# often, and in every worker that has the time before its program arrives: the first touch of
# shared memory is not the program's to pay for.
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
answers = await asyncio.gather(*(mcp__stage__prompt(line=n) for n in range(2)))
assert await mcp__stage__prompt(line=2) == {} and answers == [{}, {}]
"""

# A worker that is not needed for so many milliseconds has the time. Where programs follow each
# other closely, or many come at once, all that a rehearsal costs would be waited for.
LEISURE = 15

# The gateway never takes that long to kill a worker whose program is over.
LAST_WAIT = 60

# Code that has run as often is specialised by the interpreters that do so.
REHEARSALS = 4


def serve():
    """Forks workers until the gateway closes stdin."""
    _onecall_loop.install()
    control = socket.socket(fileno=0)
    woken, waker = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    workers = {}
    streams = sys.stdin, sys.stdout, sys.stderr
    failures = [rehearse() for _ in range(REHEARSALS)]
    sys.stdin, sys.stdout, sys.stderr = streams
    for failure in filter(None, failures):
        raise RuntimeError(failure.text)
    gc.collect()
    gc.freeze()
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if woken in ready:
            os.read(woken, 4096)
            reap(control, workers)
        if 0 in ready:
            request, sockets, _, _ = socket.recv_fds(control, REQUEST.size, 1)
            if len(request) < REQUEST.size:
                os._exit(0)
            kind, worker = REQUEST.unpack(request)
            if kind == b"F":
                pid = os.fork()
                if pid == 0:
                    become_worker(control, woken, waker, sockets[0])
                os.close(sockets[0])
                workers[pid] = worker
            elif kind == b"K":
                for pid, known in workers.items():
                    if known == worker:
                        os.kill(pid, signal.SIGKILL)


def rehearse():
    """Runs the warm-up; returns its failure."""
    wire.rehearse()
    failure = _onecall_program.rehearse(WARM_UP)
    wire.detach()
    _onecall_tools.begin()
    return failure


def reap(control, workers):
    while workers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        worker = workers.pop(pid, None)
        if worker is not None:
            control.sendall(EXIT.pack(b"X", worker, status))


def become_worker(control, woken, waker, connection):
    """Never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(woken)
    os.close(waker)
    control.detach()
    os.dup2(connection, 0)
    os.close(connection)
    os.setsid()
    try:
        failure = rehearse() if has_leisure() else None
        wire.attach()
        if failure is not None:
            wire.finish("", *_onecall_program.told(failure))
            os._exit(0)
        wire.lock()
        *program, stays, wants_value = _onecall_loop.alone(wire.next_program)
        outcome = _onecall_program.run(*program, stays, wants_value)
        while stays:
            *program, stays, wants_value = _onecall_loop.alone(lambda: next_after(outcome))
            outcome = _onecall_program.run(*program, stays, wants_value)
        wire.finish(*outcome)
        wire.hang_up()
        # The gateway ends this process when it has passed the answer on. To leave by itself
        # would only keep the processor from it.
        time.sleep(LAST_WAIT)
    except OSError as error:
        wire.finish("", "{}", str(error))
    except Exception as error:
        wire.finish("", "{}", f"{type(error).__name__}: {error}".removesuffix(": "))
    os._exit(0)


def has_leisure():
    """Whether the gateway has nothing to say yet."""
    stdin = select.poll()
    stdin.register(0, select.POLLIN)
    return not stdin.poll(LEISURE)


def next_after(outcome):
    """Tells the outcome of a program and waits for the next. It may come at once, and a thread
    that the last one left behind must not read it."""
    wire.finish(*outcome)
    return wire.next_program()
