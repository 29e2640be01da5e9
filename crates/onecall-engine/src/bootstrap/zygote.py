"""The zygote of the Python engines: a warm process that forks a worker for each program.

The gateway sends requests on stdin: `F` and an id, with a socket attached, asks for a worker on
that socket; a second attached socket is for the worker's file requests. `K` and an id kills a
worker; `S` and a size, with a socket attached, asks for a scratch folder of that size on that
socket. When a worker ends, the zygote sends `X`, its id and its exit status; if a worker cannot be
forked, it sends `N`, the id and the error number. Only this process reaps and kills its children,
so a reused process id can never be hit.

The zygote forks workers as soon as they can run programs. When nothing was asked of it for a moment, it goes on
to prepare itself for later workers, and sends `W` when that is done.
"""

import errno
import gc
import os
import select
import signal
import socket
import struct
import sys
from time import monotonic, sleep

import _onecall as wire
import _onecall_failure
import _onecall_loop
import _onecall_machine
import _onecall_program
import _onecall_scratch
import _onecall_tools
import _onecall_warm

REQUEST = struct.Struct("<cQ")
EXIT = struct.Struct("<cQi")

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

# The preparation begins when nothing was asked for this many milliseconds, but at the latest after this many
# seconds. The first worker tests the sandbox and the second one often has a program at once: steps of the
# preparation would take processor time from them, and the zygote notices the end of the test between steps only.
QUIET_MILLISECONDS = 40
LATEST_PREPARATION = 0.4

# In seconds. The gateway kills a worker whose program has ended much sooner.
EXIT_DELAY = 60

# The end of the preparation.
DONE = object()

# Interpreters that specialise code do so after it has run this often.
WARM_UP_RUNS = 4

# When the first process of a PID namespace ends, the kernel kills all others in it and refuses to
# fork more.
NAMESPACE_ENDED = (
    b"the first process of the sandbox was killed, and the kernel ended every program in it\n"
)


def serve():
    """Forks workers until the gateway closes stdin."""
    _onecall_loop.install()
    _onecall_failure.importers = (*sys.meta_path,)
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
    killed = set()
    gc.enable()
    preparation, patience = prepare(), QUIET_MILLISECONDS
    latest = monotonic() + LATEST_PREPARATION
    while True:
        ready = [fd for fd, _ in poll.poll(patience if preparation else None)]
        if not ready or monotonic() > latest:
            patience = 0
        if preparation and not ready and next(preparation, DONE) is DONE:
            preparation = None
            control.sendall(EXIT.pack(b"W", 0, 0))
        if woken in ready:
            os.read(woken, 4096)
            reap(control, workers, killed)
        if 0 in ready:
            request, sockets, _, _ = socket.recv_fds(control, REQUEST.size, 2)
            if len(request) < REQUEST.size:
                os._exit(0)
            kind, worker = REQUEST.unpack(request)
            if kind == b"F":
                try:
                    pid = os.fork()
                except OSError as error:
                    end_with_namespace(error)
                    control.sendall(EXIT.pack(b"N", worker, error.errno))
                else:
                    if pid == 0:
                        become_worker(preparation is None, control, woken, waker, *sockets)
                    workers[pid] = worker
                for connection in sockets:
                    os.close(connection)
            elif kind == b"S":
                wire.send_scratch(worker, *sockets)
            elif kind == b"K":
                for pid, known in workers.items():
                    if known == worker:
                        killed.add(pid)
                        os.kill(pid, signal.SIGKILL)


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


def reap(control, workers, killed):
    while workers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        worker = workers.pop(pid, None)
        if worker is None:
            continue
        if pid in killed:
            killed.remove(pid)
        elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            check_namespace()
        control.sendall(EXIT.pack(b"X", worker, status))


def check_namespace():
    """Checks whether the kernel has ended a worker together with its PID namespace: nothing can be
    forked any more then."""
    try:
        pid = os.fork()
    except OSError as error:
        end_with_namespace(error)
        return
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def end_with_namespace(error):
    """Ends this process, which the gateway then replaces, if an error of `fork` means that the PID
    namespace is gone."""
    if error.errno == errno.ENOMEM:
        os.write(2, NAMESPACE_ENDED)
        os._exit(1)


def become_worker(is_prepared, control, woken, waker, connection, *files):
    """Runs a worker in this process. Never returns. A worker that was forked before the zygote was prepared does
    not warm up: it is used at once or never."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(woken)
    os.close(waker)
    control.detach()
    os.dup2(connection, 0)
    os.close(connection)
    os.setsid()
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
