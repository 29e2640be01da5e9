# Made by `onecall generate`; changes will be lost.
"""Calls tools through one `onecall` process, which the first call starts and all share."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

__all__ = ["UNSET", "ToolError", "call", "close"]


class ToolError(Exception):
    """A tool call that failed; the message is what a program in onecall would see."""


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


# What an argument is that was not given. It fits every type, because it is never sent.
UNSET: Any = _Unset()

class _TextWithContent(str):
    content: list[dict[str, Any]]


class _ListWithContent(list[Any]):
    content: list[dict[str, Any]]


class _DictWithContent(dict[str, Any]):
    content: list[dict[str, Any]]


_Waiting = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


async def call(tool: str, arguments: Mapping[str, object]) -> Any:
    """Executes a tool and returns its value."""
    given = {name: value for name, value in arguments.items() if value is not UNSET}
    # Before anything waits for it: what JSON cannot carry is the caller's mistake.
    text = json.dumps(given, allow_nan=False)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    # Starting the process and a full pipe may take a moment.
    await asyncio.to_thread(_send, tool, text, (loop, future))
    return await future


def close() -> None:
    """Ends the connection; the next call opens another one. Calls that wait fail."""
    global _connection
    with _lock:
        ending, _connection = _connection, None
    if ending is not None:
        ending.close()


class _Connection:
    def __init__(self) -> None:
        program = os.environ.get("ONECALL", "onecall")
        try:
            self.process = subprocess.Popen(
                [program, "calls"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise OSError(
                f"cannot start '{program}': {error}; put its path into ONECALL"
            ) from error
        self.program = program
        self.has_ended = False
        self.waiting: dict[int, _Waiting] = {}
        self.lock = threading.Lock()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def send(self, number: int, tool: str, arguments: str, waiting: _Waiting) -> bool:
        line = f'{{"id":{number},"tool":{json.dumps(tool)},"arguments":{arguments}}}\n'
        with self.lock:
            if self.has_ended:
                return False
            self.waiting[number] = waiting
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(line.encode())
                self.process.stdin.flush()
            except OSError:
                # The reader notices the end of the process and fails the calls that wait.
                pass
            return True

    def close(self) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            number = int(line[len('{"id":') : line.index(b",")])
            with self.lock:
                waiting = self.waiting.pop(number, None)
            if waiting is None:
                continue
            try:
                answer = json.loads(line)
            except (ValueError, RecursionError) as error:
                _settle(waiting, None, ValueError(f"the answer cannot be read: {error}"))
            else:
                failure = ToolError(answer["error"]) if "error" in answer else None
                value = _with_content(answer.get("value"), answer.get("content"))
                _settle(waiting, value, failure)
        code = self.process.wait()
        with self.lock:
            self.has_ended = True
            left = list(self.waiting.values())
            self.waiting.clear()
        why = f"'{self.program} calls' ended (code {code}); its log says why"
        for waiting in left:
            _settle(waiting, None, ConnectionError(why))


_connection: _Connection | None = None
_lock = threading.Lock()
_last_id = 0


def _send(tool: str, arguments: str, waiting: _Waiting) -> None:
    global _connection, _last_id
    while True:
        with _lock:
            if _connection is None:
                _connection = _Connection()
            connection = _connection
            _last_id += 1
            number = _last_id
        if connection.send(number, tool, arguments, waiting):
            return
        with _lock:
            if _connection is connection:
                _connection = None


def _with_content(value: Any, content: Any) -> Any:
    """The value with all blocks of an answer that has more than text; a number has none."""
    kinds: dict[type, Any] = {
        str: _TextWithContent,
        list: _ListWithContent,
        dict: _DictWithContent,
    }
    kind = kinds.get(type(value))
    if content is None or kind is None:
        return value
    value = kind(value)
    value.content = content
    return value


def _settle(waiting: _Waiting, value: Any, error: Exception | None) -> None:
    loop, future = waiting

    def settle() -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The loop is closed: no call waits any more.
        pass


atexit.register(close)
