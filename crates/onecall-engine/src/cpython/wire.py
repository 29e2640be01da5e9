"""The lowest layer of the bootstrap in plain Python: the same functions as the native
module of the embedded interpreter, `python/wire.rs`."""

import _thread
import json
import math
import os
import select
import socket
import struct
import sys
import threading
import time

import _onecall_cell as cell

# What a program makes of the built-in one is its own business.
len = len

# No frame is longer than this.
MAX_FRAME = 64 * 1024 * 1024

# Output that has grown to this size leaves at once; less of it waits for this long at most.
FLUSH_SIZE = 32 * 1024
FLUSH_INTERVAL = 0.02

# A wait begins with this much time awake: a processor that has gone idle takes longer to
# wake than a quick answer to come.
SPIN = 100e-6

# Deeper nesting than this is refused both ways.
MAX_DEPTH = 900

HEADER = struct.Struct("<IB")
NUMBER = struct.Struct("<Q")
CALL = struct.Struct("<QH")
NODE = struct.Struct("<QI")
START = struct.Struct("<QQQQQQ")


class _Connection:
    """The worker's end of its socket. Threads of a program may print while another waits."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.poll = select.poll()
        self.poll.register(self.socket, select.POLLIN)
        self.poll.register(self.wakeup, select.POLLIN)
        self.incoming = bytearray()
        self.receiving = threading.Lock()
        self.outgoing = bytearray()
        # Consecutive output to one stream, not yet a frame.
        self.text = bytearray()
        self.text_is_stderr = False
        # Entered again by a signal handler or a finaliser that prints in the middle of a send.
        self.sending = threading.RLock()
        self.unsent = threading.Event()

    def descriptors(self):
        return self.socket.fileno(), self.wakeup

    def close(self):
        self.socket.close()
        os.close(self.wakeup)

    def send(self, kind, *parts):
        length = 1 + sum(map(len, parts))
        if length > MAX_FRAME:
            raise ValueError(f"a frame of {length} bytes is over the limit")
        # Whole before it is added: where memory ends, no half of it must stay behind.
        frame = b"".join((HEADER.pack(length, ord(kind)), *parts))
        with self.sending:
            self._frame_text()
            self.outgoing += frame
        self.unsent.set()

    def print(self, data, to_stderr):
        with self.sending:
            if self.text_is_stderr != to_stderr:
                self._frame_text()
                self.text_is_stderr = to_stderr
            for start in range(0, len(data), FLUSH_SIZE):
                self.text += data[start : start + FLUSH_SIZE]
                if len(self.text) >= FLUSH_SIZE:
                    self.flush()
        self.unsent.set()

    def _frame_text(self):
        if self.text:
            kind = b"e" if self.text_is_stderr else b"o"
            self.outgoing += HEADER.pack(1 + len(self.text), ord(kind)) + self.text
            self.text = bytearray()

    def flush(self):
        with self.sending:
            self._frame_text()
            if self.outgoing:
                frames, self.outgoing = self.outgoing, bytearray()
                self.socket.sendall(frames)

    def start_flusher(self):
        """Starts a thread that sends what a program too busy to wait has left unsent."""

        def flush():
            while True:
                self.unsent.wait()
                self.unsent.clear()
                time.sleep(FLUSH_INTERVAL)
                try:
                    self.flush()
                except OSError:
                    # The gateway is gone, which the program learns by itself.
                    return

        # Not by `threading`, where a program would meet it; with little stack, which counts
        # as the program's memory.
        usual = _thread.stack_size(256 * 1024)
        _thread.start_new_thread(flush, ())
        _thread.stack_size(usual)

    def receive(self, deadline=None):
        """The next frame as its kind and payload; `None` when the deadline passes or another
        thread wakes this one first."""
        with self.receiving:
            while (frame := self._take_frame()) is None:
                if not self._wait(deadline):
                    return None
            return frame

    def next_frame(self):
        """The same, however often this thread is woken."""
        while (frame := self.receive()) is None:
            pass
        return frame

    def received_already(self):
        with self.receiving:
            return self._take_frame()

    def _take_frame(self):
        if len(self.incoming) < HEADER.size:
            return None
        length, kind = HEADER.unpack_from(self.incoming)
        end = length + 4
        if len(self.incoming) < end:
            return None
        payload = bytes(memoryview(self.incoming)[HEADER.size : end])
        del self.incoming[:end]
        return kind, payload

    def _wait(self, deadline):
        """Reads more; whether there is any."""
        now = time.monotonic()
        awake_until = now + SPIN
        ready = self.poll.poll(0)
        while not ready:
            if deadline is not None and now >= deadline:
                return False
            if now >= awake_until:
                left = None if deadline is None else max(0, deadline - now) * 1000
                ready = self.poll.poll(left)
                break
            os.sched_yield()
            ready = self.poll.poll(0)
            now = time.monotonic()
        descriptors = [descriptor for descriptor, _ in ready]
        if self.socket.fileno() in descriptors:
            data = self.socket.recv(max(16 * 1024, min(len(self.incoming), 1024 * 1024)))
            if not data:
                # The gateway is gone, and nobody is left to hear of it.
                os._exit(0)
            self.incoming += data
            return True
        if descriptors:
            try:
                os.eventfd_read(self.wakeup)
            except BlockingIOError:
                pass
        return False


class _Rehearsal(_Connection):
    """A connection with nobody at the other end: every name is a tool of one parameter, and
    every call is answered with an empty object."""

    def __init__(self):
        ours, self.prompter = socket.socketpair()
        super().__init__(ours.detach())

    def send(self, kind, *parts):
        super().send(kind, *parts)
        if kind == b"n":
            self._prompt(b"N", b'{"parameters":["line"]}')
        elif kind in (b"c", b"q"):
            (call_id,) = NUMBER.unpack_from(parts[0])
            self._prompt(b"J", NUMBER.pack(call_id) + b"{}")

    def _prompt(self, kind, payload):
        self.prompter.sendall(HEADER.pack(1 + len(payload), ord(kind)) + payload)

    def close(self):
        super().close()
        self.prompter.close()


_connection = None


def configure(setup):
    """Takes over what the gateway has prepared for this zygote."""
    cell.configure(setup)


def rehearse():
    """Talks to nobody, until `detach`: whatever is asked has an answer."""
    global _connection
    _connection = _Rehearsal()


def detach():
    """Ends a rehearsal."""
    global _connection
    _connection.close()
    _connection = None


def attach():
    """Takes the socket that is this process's stdin, and gives the standard streams away."""
    global _connection
    cell.enter()
    descriptor = os.dup(0)
    # The zygote's stdout is /dev/null.
    os.dup2(1, 0)
    os.dup2(1, 2)
    _connection = _Connection(descriptor)


def lock():
    """Locks this process in and says that it is ready."""
    cell.lock(_connection.descriptors())
    _connection.start_flusher()
    _connection.send(b"r")
    _connection.flush()


def next_program():
    """Waits for a program and returns the memory of its scratch folder, its source, the condition
    on which to run it, its arguments with a NUL between them, whether another will follow and
    whether its value is wanted, with its limits applied."""
    while True:
        kind, payload = _connection.next_frame()
        if kind == ord("W"):
            report = cell.examine(_connection.descriptors())
            _connection.send(b"w", json.dumps(report).encode())
            _connection.flush()
            cell.deadly_canary()
            os._exit(0)
        if kind == ord("P"):
            memory, seconds, file_bytes, scratch, wishes, length = START.unpack_from(payload)
            rest = payload[START.size :]
            cell.limit(memory, seconds, file_bytes)
            condition, rest = rest[:length].decode(), rest[length:]
            (length,) = NUMBER.unpack_from(rest)
            rest = rest[NUMBER.size :]
            argv, source = rest[:length].decode(), rest[length:].decode()
            return scratch, source, condition, argv, bool(wishes & 1), bool(wishes & 2)


def lacks(modules):
    """Ends a program that was not to run without these modules."""
    _connection.send(b"l", modules.encode())
    _connection.flush()


def call(call_id, name, arguments, fresh):
    """Sends a call with the arguments as JSON; one that is `fresh` may not be answered with an
    earlier answer. `False` if the arguments are more than plain data, and nothing is sent."""
    text = _plain(arguments)
    if text is not None:
        call_with_text(call_id, name, text, fresh)
    return text is not None


def call_with_text(call_id, name, text, fresh):
    """Sends a call whose arguments are JSON already."""
    name = name.encode()
    kind = b"f" if fresh else b"c"
    _send_arguments(kind, CALL.pack(_id(call_id), len(name)), name, text.encode())


def call_node(call_id, node, arguments):
    """Sends a call of a node of the plan that is carried out, as `call` does."""
    text = _plain(arguments)
    if text is not None:
        call_node_with_text(call_id, node, text)
    return text is not None


def call_node_with_text(call_id, node, text):
    """Sends a call of a node whose arguments are JSON already."""
    _send_arguments(b"p", NODE.pack(_id(call_id), node), text.encode())


def ask(call_id, question):
    """Sends a question, which is JSON already."""
    _connection.send(b"q", NUMBER.pack(_id(call_id)), question.encode())


def _id(call_id):
    if not isinstance(call_id, int) or not 0 <= call_id < 2**64:
        raise ValueError("the id of a call is a number of 64 bits")
    return call_id


def _plain(arguments):
    """Arguments as JSON; `None` if they are more than plain data."""
    if not isinstance(arguments, dict):
        raise TypeError("the arguments must be a dict")
    try:
        _check(arguments, (), False)
        return _dumped(arguments)
    except TypeError:
        return None


def _send_arguments(kind, *parts):
    try:
        _connection.send(kind, *parts)
    except ValueError as error:
        raise ValueError(f"the arguments are too large: {error}") from None


def to_json(value):
    """A value as JSON; raises for what JSON cannot carry unchanged."""
    _check(value, (), True)
    return _dumped(value)


def _dumped(value):
    return _without_digit_limit(
        lambda: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def cancel(call_id):
    """Gives up waiting for a call."""
    _connection.send(b"x", NUMBER.pack(call_id))


def resolve(name, answers):
    """Asks what a name means. Answers to calls that arrive meanwhile go into `answers`."""
    _connection.send(b"n", name.encode(errors="replace"))
    _connection.flush()
    while True:
        kind, payload = _connection.next_frame()
        if kind == ord("N"):
            return json.loads(payload)
        answers.extend(_event(kind, payload))


def wait(seconds):
    """Waits for answers: a list of `(id, succeeded, value or message)` with all that have
    arrived, empty if `seconds` pass or another thread wakes this one. `succeeded` is `None`
    where the answer came but cannot be had."""
    _connection.flush()
    deadline = None if seconds is None else time.monotonic() + seconds
    answers = []
    frame = _connection.receive(deadline)
    while frame is not None:
        answers.extend(_event(*frame))
        frame = _connection.received_already()
    return answers


def _event(kind, payload):
    if kind not in b"VJTCE":
        return
    (call_id,) = NUMBER.unpack_from(payload)
    if kind == ord("V"):
        yield call_id, True, None
        return
    text = payload[NUMBER.size :].decode()
    if kind == ord("E"):
        yield call_id, False, text
    elif kind == ord("T"):
        yield call_id, True, _parsed_text(text)
    else:
        try:
            value = _parsed(text)
            yield call_id, True, _with_content(*value) if kind == ord("C") else value
        except RecursionError:
            yield call_id, None, "the answer is nested too deeply"
        except ValueError as error:
            yield call_id, None, f"the answer is not valid JSON: {error}"


def _parsed(text):
    return _without_digit_limit(lambda: json.loads(text))


def _parsed_text(text):
    """Text that is JSON, or else a string."""
    try:
        return _parsed(text)
    except (RecursionError, ValueError):
        return text


def _with_content(kind, text, content):
    """The value that came with other content, from its kind and text and the content."""
    from _onecall_content import with_content

    return with_content(None if kind == "nothing" else _parsed_text(text), content)


def _without_digit_limit(convert):
    """Integers of any size cross; the limit is there for servers, and this is none."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return convert()
    finally:
        sys.set_int_max_str_digits(limit)


def wake():
    """Ends a wait of another thread."""
    os.eventfd_write(_connection.wakeup, 1)


def print(text, to_stderr):
    """Prints text; what is not Unicode is replaced."""
    _connection.print(text.encode(errors="replace"), to_stderr)


def print_bytes(data, to_stderr):
    """Prints bytes as they are."""
    _connection.print(data, to_stderr)


def flush():
    """Sends what is collected."""
    _connection.flush()


def show(block):
    """Shows an MCP content block."""
    _connection.send(b"s", block.encode())


def hang_up():
    """Says that no other program will follow."""
    _connection.socket.shutdown(socket.SHUT_WR)


def finish(value, summary, traceback):
    """Reports the end of the program: the value of its last expression as JSON or nothing, or
    else what went wrong, as JSON and as a traceback."""
    if traceback is None:
        _connection.send(b"d", value.encode())
    else:
        summary, traceback = (it.encode(errors="replace") for it in (summary, traceback))
        _connection.send(b"t", NUMBER.pack(len(summary)), summary, traceback)
    _connection.flush()


def _check(value, path, named_tuples):
    """Raises for what JSON cannot carry unchanged, naming the place. Tuples with named fields are
    plain only if `named_tuples`: they may be meant as objects."""
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{_place(path)} has a lone surrogate, which is not a Unicode character"
            ) from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            shown = "NaN" if math.isnan(value) else value
            raise ValueError(f"{_place(path)} is {shown}, which JSON has no number for")
    elif isinstance(value, list) or type(value) is tuple or named_tuples and isinstance(value, tuple):
        for index, item in enumerate(value):
            _check(item, _deeper(path, index), named_tuples)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                kind = type(key).__name__
                raise TypeError(f"{_place(path)} has a key of type {kind}; keys must be str")
            _check(key, path, named_tuples)
            _check(item, _deeper(path, key), named_tuples)
    else:
        raise TypeError(
            f"{_place(path)} is {type(value).__name__}, which JSON cannot carry; "
            "pass str, int, float, bool, None, list or dict"
        )


def _deeper(path, step):
    if len(path) >= MAX_DEPTH:
        raise ValueError(f"{_place(path[:1])} is nested too deeply or contains itself")
    return (*path, step)


def _place(path):
    # It is there once the bootstrap is, and needed only where something is wrong.
    from _onecall_arguments import place

    return place(path)
