"""A process `onecall exec`, and the programs that it runs. All functions here are thread-safe."""

from __future__ import annotations

import itertools
import logging
import subprocess
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Dict, Optional, Sequence

from .errors import OnecallError, ProcessLost
from .wire import decode, encode

log = logging.getLogger("onecall_client")

PROTOCOL = 1
START_TIMEOUT = 30.0
# onecall ends itself if its host does not read for five seconds.
END_TIMEOUT = 10.0


class Call:
    """A tool call that waits for its answer."""

    def __init__(self, process: "Process", run: "Run", message: dict) -> None:
        self._process = process
        self._run = run
        self.id: str = message["tool_call_id"]
        self.name: str = message["tool_name"]
        self.arguments: Dict[str, Any] = message["args"]
        #: Called, in any thread, when the program no longer waits for the answer.
        self.on_cancel: Callable[[], None] = lambda: None
        #: Whether the program no longer waits for the answer.
        self.is_cancelled = False

    def cancel(self) -> None:
        """Notes that the program no longer waits for the answer."""
        self.is_cancelled = True
        self.on_cancel()

    def succeed(self, value: Any, is_text: bool = False) -> None:
        """Answers the call with a value; an error if it is not JSON. A value that `is_text` is the
        text of an answer: onecall parses it where it is JSON and the tool declares no string."""
        try:
            self._answer({"observation": value, **({"is_text": True} if is_text else {})})
        except (TypeError, ValueError, RecursionError) as error:
            self.fail(f"the tool's value cannot be passed on: {error}")

    def fail(self, message: str, parsed: bool = True) -> None:
        """Makes the call a ToolError of the program. `parsed=False`: nothing was done."""
        self._answer({"observation": message, "has_error": True, "parsed": parsed})

    def _answer(self, answer: dict) -> None:
        # The id comes first, so that onecall finds it even in a line that is too long.
        line = encode({"type": "tool_result", "tool_call_id": self.id, **answer})
        self._run.calls.pop(self.id, None)
        try:
            self._process.write(line)
        except OnecallError:
            # The process has ended, and the future of the run reports that.
            log.debug("an answer to %s came too late", self.name)


class Run:
    """A running program."""

    def __init__(self, on_call: Callable[[Call], None]) -> None:
        self.on_call = on_call
        self.outcome: "Future[dict]" = Future()
        # The future must not be cancellable: only onecall can end a program.
        self.outcome.set_running_or_notify_cancel()
        self.calls: Dict[str, Call] = {}
        self.made = 0


class Process:
    """A running `onecall exec`."""

    def __init__(self, command: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._runs: Dict[str, Run] = {}
        self._ids = itertools.count(1)
        self._lost: Optional[str] = None
        self._ready = threading.Event()
        self._said: "deque[str]" = deque(maxlen=20)
        try:
            # Ctrl-C goes to this Python process only; onecall ends when its stdin is closed.
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise OnecallError(f"cannot start {command[0]!r}: {error}") from error
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._stderr = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr.start()
        self._listener.start()
        if not self._ready.wait(START_TIMEOUT):
            self.kill()
            raise OnecallError(f"{command[0]!r} did not say that it is ready")
        if self._lost is not None:
            raise OnecallError(self._lost)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        return self._lost is None and self._child.poll() is None

    def execute(self, fields: dict, on_call: Callable[[Call], None]) -> "tuple[str, Run]":
        """Starts a program. `on_call` receives each of its calls and must not block."""
        run = Run(on_call)
        run_id = str(next(self._ids))
        try:
            line = encode({"type": "execute", "id": run_id, **fields})
        except (TypeError, ValueError, RecursionError) as error:
            raise OnecallError(f"the program cannot be sent: {error}") from error
        with self._lock:
            if self._lost is not None:
                raise ProcessLost(self._lost)
            self._runs[run_id] = run
        try:
            self.write(line)
        except OnecallError:
            with self._lock:
                self._runs.pop(run_id, None)
            raise
        return run_id, run

    def cancel(self, run_id: str) -> None:
        """Cancels a program. Its outcome says that it was cancelled."""
        try:
            self.write(encode({"type": "cancel", "id": run_id}))
        except OnecallError:
            pass

    def write(self, line: bytes) -> None:
        try:
            with self._writing:
                self._child.stdin.write(line)
                self._child.stdin.flush()
        except (OSError, ValueError) as error:
            raise ProcessLost(self._lost or f"onecall no longer reads its input: {error}") from error

    def close(self) -> None:
        """Ends the process and all programs that it runs."""
        try:
            with self._writing:
                self._child.stdin.close()
        except OSError:
            pass
        try:
            self._child.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
        if threading.current_thread() is not self._listener:
            self._listener.join(END_TIMEOUT)
        self._stderr.join(END_TIMEOUT)

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()

    def _listen(self) -> None:
        problem = None
        try:
            for line in self._child.stdout:
                self._hear(decode(line))
        except Exception as error:  # any error ends the thread that reads messages
            problem = f"this client cannot read the messages of onecall: {error}"
            self._child.kill()
        finally:
            self._child.stdout.close()
            self._lose(problem)

    def _hear(self, message: dict) -> None:
        kind = message.get("type")
        if kind == "ready":
            if message.get("protocol") != PROTOCOL:
                raise OnecallError(
                    f"onecall uses protocol {message.get('protocol')}, but this client uses {PROTOCOL}"
                )
            self._ready.set()
            return
        run = self._runs.get(message.get("id", ""))
        if run is None:
            log.warning("onecall: %s", message.get("message", message))
        elif kind == "tool_call":
            call = Call(self, run, message)
            run.made += 1
            run.calls[call.id] = call
            try:
                run.on_call(call)
            except Exception as error:  # for example, no thread can be started
                call.fail(f"the host cannot execute it: {error}")
        elif kind == "tool_cancelled":
            call = run.calls.pop(message["tool_call_id"], None)
            if call is not None:
                call.cancel()
        elif kind in ("outcome", "error"):
            with self._lock:
                del self._runs[message["id"]]
            if kind == "outcome":
                run.outcome.set_result(message)
            else:
                run.outcome.set_exception(OnecallError(message["message"]))

    def _read_stderr(self) -> None:
        for line in self._child.stderr:
            text = line.decode("utf-8", "replace").rstrip()
            self._said.append(text)
            log.warning("onecall: %s", text)
        self._child.stderr.close()

    def _lose(self, problem: Optional[str]) -> None:
        code = self._child.wait()
        self._stderr.join(1)
        try:
            with self._writing:
                self._child.stdin.close()
        except OSError:
            pass
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        words = problem or "\n".join(self._said)
        lost = f"onecall ended {how}" + (f": {words}" if words else "")
        with self._lock:
            self._lost = lost
            runs, self._runs = self._runs, {}
        for run in runs.values():
            effects = f"{run.made} tool call{'' if run.made == 1 else 's'} had been made"
            for call in list(run.calls.values()):
                call.cancel()
            run.outcome.set_exception(
                ProcessLost(f"{lost}; the program was lost, and {effects} by then")
            )
        self._ready.set()


class Supervised:
    """A process that is started when it is first needed, and restarted after it has died."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._lock = threading.Lock()
        self._process: Optional[Process] = None
        self._closed = False

    def process(self) -> Process:
        with self._lock:
            if self._closed:
                raise OnecallError("this client is closed")
            if self._process is None or not self._process.is_alive:
                self._process = Process(self._command)
            return self._process

    def execute(self, fields: dict, on_call: Callable[[Call], None]):
        """Starts a program. If the process has died, it is restarted first."""
        process = self.process()
        try:
            return (process, *process.execute(fields, on_call))
        except ProcessLost:
            process = self.process()
            return (process, *process.execute(fields, on_call))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.close()
