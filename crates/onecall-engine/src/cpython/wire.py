"""The lowest layer of the bootstrap in plain Python, with the same functions as the native module
of the embedded interpreter, `python/wire.rs`."""

import _thread
import ctypes
import functools
import gc
import json
import math
import os
import select
import socket
import struct
import sys
import threading
from time import monotonic, sleep

import _onecall_sandbox as sandbox
from _onecall_bytecode import with_fast_names
from _onecall_forks import fork_workers

# A copy, because a program may redefine the built-in one.
len = len

# The limit for a frame.
MAX_FRAME = 64 * 1024 * 1024

# Output of this size is sent at once; less output is sent after this interval at the latest.
FLUSH_SIZE = 32 * 1024
FLUSH_INTERVAL = 0.02

# A wait begins with polling for this long: waking up an idle processor takes longer than a fast
# answer.
SPIN = 100e-6

# Deeper nesting is refused when reading and when writing.
MAX_DEPTH = 900

HEADER = struct.Struct("<IB")
NUMBER = struct.Struct("<Q")
CALL = struct.Struct("<QH")
NODE = struct.Struct("<QI")
SITE = struct.Struct("<II")
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
        # Consecutive output to one stream that is not a frame yet.
        self.text = bytearray()
        self.text_is_stderr = False
        # Reentrant: a signal handler or a finaliser may print in the middle of a send.
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
        # The frame is complete before it is added: if memory runs out, no part of it must be left.
        frame = b"".join((HEADER.pack(length, ord(kind)), *parts))
        with self.sending:
            self._frame_text()
            self.outgoing += frame
        self.unsent.set()

    def add(self, frames):
        """Adds frames that leave together with one that follows at once."""
        with self.sending:
            self._frame_text()
            self.outgoing += frames

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
        """Starts a thread that sends the buffered frames of a program that is too busy to wait."""

        def flush():
            while True:
                self.unsent.wait()
                self.unsent.clear()
                sleep(FLUSH_INTERVAL)
                try:
                    self.flush()
                except OSError:
                    # The gateway is gone; the program notices that by itself.
                    return

        # Not with `threading`, where the program would see the thread; with a small stack, which
        # counts as the program's memory.
        usual = _thread.stack_size(256 * 1024)
        _thread.start_new_thread(flush, ())
        _thread.stack_size(usual)

    def receive(self, deadline=None):
        """The next frame as its kind and payload; `None` if the deadline passes or another thread
        interrupts the wait."""
        with self.receiving:
            while (frame := self._take_frame()) is None:
                if not self._wait(deadline):
                    return None
            return frame

    def next_frame(self):
        """The next frame as its kind and payload; interruptions by other threads are ignored."""
        while (frame := self.receive()) is None:
            pass
        return frame

    def take_received(self):
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
        """Reads more bytes; returns whether there were any."""
        now = monotonic()
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
            now = monotonic()
        descriptors = [descriptor for descriptor, _ in ready]
        if self.socket.fileno() in descriptors:
            data = self.socket.recv(max(16 * 1024, min(len(self.incoming), 1024 * 1024)))
            if not data:
                # The gateway is gone, so there is no one to report to.
                os._exit(0)
            self.incoming += data
            return True
        if descriptors:
            try:
                os.eventfd_read(self.wakeup)
            except BlockingIOError:
                pass
        return False


class _WarmUpConnection(_Connection):
    """A connection without a gateway, for the warm-up: every name is a tool with one parameter, and
    every call is answered with an empty object."""

    def __init__(self):
        ours, self.warm_up_peer = socket.socketpair()
        super().__init__(ours.detach())

    def send(self, kind, *parts):
        super().send(kind, *parts)
        if kind == b"n":
            self._answer(b"N", b'{"parameters":["line"]}')
        elif kind in (b"c", b"q"):
            (call_id,) = NUMBER.unpack_from(parts[0])
            self._answer(b"J", NUMBER.pack(call_id) + b"{}")

    def _answer(self, kind, payload):
        self.warm_up_peer.sendall(HEADER.pack(1 + len(payload), ord(kind)) + payload)

    def close(self):
        super().close()
        self.warm_up_peer.close()


_connection = None

# The thread of a journalled program whose calls need no report but their place; `None` if they do.
_quiet_thread = None

# The last call or question of a journalled program.
_last_call = 0


def configure(setup):
    """Sets the setup that the gateway has prepared for this zygote."""
    sandbox.configure(setup)


def begin_warm_up():
    """Starts a warm-up run without a gateway, until `end_warm_up`: every request gets an answer."""
    global _connection
    _connection = _WarmUpConnection()


def prepare_memory_for_forks():
    """Does nothing: Python code cannot make the objects of this interpreter immortal."""


def end_warm_up():
    """Ends a warm-up run."""
    global _connection
    _connection.close()
    _connection = None


def attach():
    """Takes the socket that is this process's stdin, and closes the standard streams."""
    global _connection
    sandbox.begin_worker()
    descriptor = os.dup(0)
    # The zygote's stdout is /dev/null.
    os.dup2(1, 0)
    os.dup2(1, 2)
    _connection = _Connection(descriptor)


def lock():
    """Completes the sandbox of this process, and reports that it is ready."""
    sandbox.lock(_connection.descriptors())
    _connection.start_flusher()
    _connection.send(b"r")
    _connection.flush()


def next_program():
    """Waits for a program and applies its limits. Returns the size of its scratch folder, its
    source, the condition for running it, its arguments separated by NUL, its variables that are
    kept as local ones, the seed and the observations of a journalled run, whether another program
    will follow, and whether its value is wanted."""
    while True:
        kind, payload = _connection.next_frame()
        if kind == ord("W"):
            report = sandbox.test(_connection.descriptors())
            _connection.send(b"w", json.dumps(report).encode())
            _connection.flush()
            sandbox.deadly_canary()
            os._exit(0)
        if kind == ord("P"):
            memory, seconds, file_bytes, scratch, options, length = START.unpack_from(payload)
            rest = payload[START.size :]
            sandbox.limit(memory, seconds, file_bytes)
            condition, rest = rest[:length].decode(), rest[length:]
            (length,) = NUMBER.unpack_from(rest)
            rest = rest[NUMBER.size :]
            argv, rest = rest[:length].decode(), rest[length:]
            (length,) = NUMBER.unpack_from(rest)
            rest = rest[NUMBER.size :]
            fast_names, rest = rest[:length].decode(), rest[length:]
            (length,) = NUMBER.unpack_from(rest)
            rest = rest[NUMBER.size :]
            journal, source = rest[:length], rest[length:].decode()
            program = source, condition, argv, fast_names, journal
            return scratch, *program, bool(options & 1), options >> 1


def report_missing_modules(modules):
    """Reports that a program was not run because these modules are missing."""
    _connection.send(b"l", modules.encode())
    _connection.flush()


def call(call_id, name, arguments, fresh, site=None):
    """Sends a call with the arguments as JSON; a `fresh` call must not be answered from the cache.
    `site` is where the program makes the call if the run has a journal: line, column and, if there are
    several tasks, the path of the task. Returns `False` and sends nothing if the arguments are not plain
    data."""
    text = _plain(arguments)
    if text is not None:
        call_with_text(call_id, name, text, fresh, site)
    return text is not None


def call_quietly(call_id, name, arguments, fresh, place):
    """Sends a call of a journalled program, like `call`, if this thread has nothing to report but the
    place of the call, and the arguments are plain data. Returns whether it was sent."""
    global _last_call
    if _quiet_thread != _thread.get_ident() or not call(call_id, name, arguments, fresh, place):
        return False
    _last_call = call_id
    return True


def set_quiet(is_quiet):
    """Sets whether calls of this thread can be sent by `call_quietly`."""
    global _quiet_thread
    _quiet_thread = _thread.get_ident() if is_quiet else None


def note_call(call_id):
    """Notes the last call or question of a journalled program."""
    global _last_call
    _last_call = call_id


def last_call():
    """The last call or question of a journalled program."""
    return _last_call


def call_with_text(call_id, name, text, fresh, site=None):
    """Sends a call whose arguments are JSON text."""
    name = name.encode()
    kind = b"f" if fresh else b"c"
    _send_arguments(site, kind, CALL.pack(_id(call_id), len(name)), name, text.encode())


def call_node(call_id, node, arguments, site=None):
    """Sends a call of a plan's node, like `call`."""
    text = _plain(arguments)
    if text is not None:
        call_node_with_text(call_id, node, text, site)
    return text is not None


def call_node_with_text(call_id, node, text, site=None):
    """Sends a call of a plan's node whose arguments are JSON text."""
    _send_arguments(site, b"p", NODE.pack(_id(call_id), node), text.encode())


def ask(call_id, question):
    """Sends a question, which is JSON text."""
    _connection.send(b"q", NUMBER.pack(_id(call_id)), question.encode())


def _id(call_id):
    if not isinstance(call_id, int) or not 0 <= call_id < 2**64:
        raise ValueError("the id of a call is a number of 64 bits")
    return call_id


def _plain(arguments):
    """The arguments as JSON; `None` if they are not plain data."""
    if not isinstance(arguments, dict):
        raise TypeError("the arguments must be a dict")
    try:
        _check(arguments, (), False)
        return _dumped(arguments)
    except TypeError:
        return None


def _send_arguments(site, kind, *parts):
    if site is not None:
        _connection.add(_site_frame(*site))
    try:
        _connection.send(kind, *parts)
    except ValueError as error:
        raise ValueError(f"the arguments are too large: {error}") from None


@functools.lru_cache
def _site_frame(line, column, task="0"):
    """The frame that names where the program makes the call that follows."""
    task = task.encode()
    return HEADER.pack(1 + SITE.size + len(task), ord("a")) + SITE.pack(line, column) + task


# The places that were found, by the function that found them, the id of a code object and an offset in
# it, each with the code object, so that no other one gets its id.
_places = {}


def place(find):
    """The place in the program from which the caller was called, as `find` finds it in the frame of the
    program, or in `None` if there is no such frame. It is called once for each place."""
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith("<program"):
        frame = frame.f_back
    if frame is None:
        return find(None)
    code = frame.f_code
    key = find, id(code), frame.f_lasti
    found = _places.get(key)
    if found is None:
        found = _places[key] = find(frame), code
    return found[0]


def to_json(value):
    """Converts a value into JSON; raises an exception for what JSON cannot represent."""
    _check(value, (), True)
    return _dumped(value)


def _dumped(value):
    return _without_digit_limit(
        lambda: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def observed(data):
    """Sends what the program has observed."""
    _connection.send(b"v", data)


def replayed():
    """Reports that the program has repeated all observations that it was given."""
    _connection.send(b"y")


def diverged(difference):
    """Reports that the program does not repeat what it did before."""
    _connection.send(b"g", difference.encode(errors="replace"))
    _connection.flush()


def in_place_only(reason):
    """Reports why the program cannot be repeated; `reason` is JSON."""
    _connection.send(b"i", reason.encode())


def replace_attribute(kind, name, value):
    """Replaces an attribute of a class that is otherwise immutable."""
    (attributes,) = gc.get_referents(vars(kind))
    attributes[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def cancel(call_id):
    """Cancels a call."""
    _connection.send(b"x", NUMBER.pack(call_id))


def resolve(name, answers):
    """Asks what a name refers to. Answers to calls that arrive meanwhile are appended to
    `answers`."""
    _connection.send(b"n", name.encode(errors="replace"))
    _connection.flush()
    while True:
        kind, payload = _connection.next_frame()
        if kind == ord("N"):
            return json.loads(payload)
        answers.extend(_answers_in(kind, payload))


def wait(seconds):
    """Waits for answers. Returns a list of `(id, succeeded, value or message)` with all that have
    arrived; it is empty if `seconds` pass or another thread interrupts the wait. `succeeded` is
    `None` if the answer cannot be converted. An entry with a negative id is no answer: the call waits
    for a person if the second value is true, and no longer otherwise."""
    _connection.flush()
    deadline = None if seconds is None else monotonic() + seconds
    answers = []
    frame = _connection.receive(deadline)
    while frame is not None:
        answers.extend(_answers_in(*frame))
        frame = _connection.take_received()
    return answers


def _answers_in(kind, payload):
    if kind not in b"VJTCEIG":
        return
    (call_id,) = NUMBER.unpack_from(payload)
    if kind in b"IG":
        yield -call_id, kind == ord("I"), None
        return
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
    """Parses a text as JSON; a text that is not JSON stays a string."""
    try:
        return _parsed(text)
    except (RecursionError, ValueError):
        return text


def _with_content(kind, text, content):
    """The value of an answer that has other content as well, from its kind and text and the
    content."""
    from _onecall_content import with_content

    return with_content(None if kind == "nothing" else _parsed_text(text), content)


def _without_digit_limit(convert):
    """Converts integers of any size; Python's limit protects servers and is not needed here."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return convert()
    finally:
        sys.set_int_max_str_digits(limit)


def wake():
    """Interrupts the wait of another thread."""
    os.eventfd_write(_connection.wakeup, 1)


def print(text, to_stderr):
    """Prints text; characters that are not valid Unicode are replaced."""
    _connection.print(text.encode(errors="replace"), to_stderr)


def print_bytes(data, to_stderr):
    """Prints bytes unchanged."""
    _connection.print(data, to_stderr)


def flush():
    """Sends all buffered frames."""
    _connection.flush()


def show(block):
    """Displays an MCP content block."""
    _connection.send(b"s", block.encode())


def close_sending():
    """Tells the gateway that this worker accepts no other program."""
    _connection.socket.shutdown(socket.SHUT_WR)


def finish(value, summary, traceback):
    """Reports the end of the program: the value of its last expression as JSON or empty, or else
    the error, as a summary in JSON and as a traceback."""
    if traceback is None:
        _connection.send(b"d", value.encode())
    else:
        summary, traceback = (it.encode(errors="replace") for it in (summary, traceback))
        _connection.send(b"t", NUMBER.pack(len(summary)), summary, traceback)
    _connection.flush()


def _check(value, path, named_tuples):
    """Raises an exception for what JSON cannot represent, which names its position. Tuples with
    named fields are accepted only if `named_tuples`, because they may be meant as objects."""
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{_describe_path(path)} has a lone surrogate, which is not a Unicode character"
            ) from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            shown = "NaN" if math.isnan(value) else value
            raise ValueError(f"{_describe_path(path)} is {shown}, which JSON cannot represent")
    elif isinstance(value, list) or type(value) is tuple or named_tuples and isinstance(value, tuple):
        for index, item in enumerate(value):
            _check(item, _deeper(path, index), named_tuples)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                kind = type(key).__name__
                raise TypeError(f"{_describe_path(path)} has a key of type {kind}; keys must be str")
            _check(key, path, named_tuples)
            _check(item, _deeper(path, key), named_tuples)
    else:
        raise TypeError(
            f"{_describe_path(path)} is {type(value).__name__}, which JSON cannot carry; "
            "pass str, int, float, bool, None, list or dict"
        )


def _deeper(path, step):
    if len(path) >= MAX_DEPTH:
        raise ValueError(f"{_describe_path(path[:1])} is nested too deeply or contains itself")
    return (*path, step)


def _describe_path(path):
    # The bootstrap is complete by now; at the top of this module the import would be too early.
    from _onecall_arguments import describe_path

    return describe_path(path)
