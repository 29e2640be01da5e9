"""The loop of a zygote on the system's Python: it forks a worker for each request of the gateway.

The gateway sends requests on stdin: `F` and an id, with a socket attached, asks for a worker on
that socket. `K` and an id kills a worker. When a worker ends, the zygote sends `X`, its id and its exit
status; if a worker cannot be forked, it sends `N`, the id and the error number. Only this process reaps and
kills its children, so a reused process id can never be hit. When the preparation for later workers is done, the
zygote sends `W`.

`worker_process/forks.rs` is the same loop for the engines in the binary.
"""

import errno
import os
import select
import signal
import socket
import struct
from time import monotonic

REQUEST = struct.Struct("<cQ")
EXIT = struct.Struct("<cQi")

# The preparation begins when nothing was asked for this many milliseconds, but at the latest after this many
# seconds. The first worker tests the sandbox and the second one often has a program at once: steps of the
# preparation would take processor time from them, and the zygote notices the end of the test between steps only.
QUIET_MILLISECONDS = 40
LATEST_PREPARATION = 0.4

# When the first process of a PID namespace ends, the kernel kills all others in it and refuses to
# fork more.
NAMESPACE_ENDED = (
    b"the first process of the sandbox was killed, and the kernel ended every program in it\n"
)


def fork_workers(prepare):
    """Forks workers until the gateway closes stdin. Returns in each of them, where the socket of its program is
    stdin, whether the zygote was prepared. `prepare` takes a step of the preparation and returns whether there is
    another one."""
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
    is_prepared, patience = False, QUIET_MILLISECONDS
    latest = monotonic() + LATEST_PREPARATION
    while True:
        ready = [fd for fd, _ in poll.poll(None if is_prepared else patience)]
        if not ready or monotonic() > latest:
            patience = 0
        if not is_prepared and not ready and not prepare():
            is_prepared = True
            control.sendall(EXIT.pack(b"W", 0, 0))
        if woken in ready:
            os.read(woken, 4096)
            reap(control, workers, killed)
        if 0 in ready:
            request, sockets, _, _ = socket.recv_fds(control, REQUEST.size, 1)
            if len(request) < REQUEST.size:
                os._exit(0)
            kind, worker = REQUEST.unpack(request)
            if kind == b"F" and not sockets:
                # There were too many open descriptors for one more.
                control.sendall(EXIT.pack(b"N", worker, errno.EMFILE))
            elif kind == b"F":
                try:
                    pid = os.fork()
                except OSError as error:
                    end_with_namespace(error)
                    control.sendall(EXIT.pack(b"N", worker, error.errno))
                else:
                    if pid == 0:
                        begin_worker(control, woken, waker, *sockets)
                        return (is_prepared,)
                    workers[pid] = worker
                for connection in sockets:
                    os.close(connection)
            elif kind == b"K":
                for pid, known in workers.items():
                    if known == worker:
                        killed.add(pid)
                        os.kill(pid, signal.SIGKILL)


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


def begin_worker(control, woken, waker, connection):
    """Makes the socket the stdin of this process, and starts a new session."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(woken)
    os.close(waker)
    control.detach()
    os.dup2(connection, 0)
    os.close(connection)
    os.setsid()
