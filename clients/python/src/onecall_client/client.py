"""The client for asyncio: runs programs, and executes their tool calls on an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from typing import Any, Iterable, Mapping, Optional, Sequence

from .binary import find_binary
from .errors import described
from .outcome import Outcome
from .process import Call, Supervised
from .tools import Router, Toolbox, UnknownTool


class Client:
    """Runs programs whose tools are functions of yours.

    `tools` are functions, plain or async, `Tool`s, or definitions as in MCP that the `router`
    executes. `environments` maps a prefix to tools, or to a callable `(tool_name, arguments)`
    that executes every tool of that prefix and gets its name without it. A plain function runs
    in a thread of its own, so it may block.

    Without a list of tools, a program calls them as `tools.<name>(...)`; with one,
    `await <name>(...)` works as well.
    """

    def __init__(
        self,
        tools: Optional[Iterable[Any]] = None,
        *,
        environments: Optional[Mapping[str, Any]] = None,
        router: Optional[Router] = None,
        binary: Optional[os.PathLike] = None,
        workspace: Optional[os.PathLike] = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self._toolbox = Toolbox(tools, environments, router)
        self._supervised = Supervised(command(binary, workspace, arguments))

    async def __aenter__(self) -> "Client":
        await _in_thread(self._supervised.process)
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops onecall, which ends every program that still runs."""
        await _in_thread(self._supervised.close)

    async def run(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        filename: Optional[str] = None,
        session: Optional[str] = None,
        reset: Optional[bool] = None,
        engine: Optional[str] = None,
        language: Optional[str] = None,
    ) -> Outcome:
        """Runs a program and returns its outcome, also if the program fails. Cancelling the task
        kills the program.

        Raises OnecallError if onecall rejects the request, and ProcessLost if onecall dies.
        """
        fields = {
            "code": code,
            "tools": self._toolbox.definitions(),
            "timeout": timeout,
            "filename": filename,
            "session": session,
            "reset": reset,
            "engine": engine,
            "language": language,
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()

        def on_call(call: Call) -> None:
            # The event loop may be closed while a program still runs.
            try:
                loop.call_soon_threadsafe(self._begin, call, context)
            except RuntimeError:
                call.fail("the host has ended")

        def start():
            return self._supervised.execute(fields, on_call)

        process, run_id, run = await _in_thread(start)
        try:
            message = await asyncio.wrap_future(run.outcome)
        except asyncio.CancelledError:
            process.cancel(run_id)
            raise
        return Outcome.from_message(message)

    def _begin(self, call: Call, context: contextvars.Context) -> None:
        loop = asyncio.get_running_loop()
        task = context.copy().run(loop.create_task, self._answer(call))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

        def give_up() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                pass

        call.on_cancel = give_up
        if call.is_cancelled:
            task.cancel()

    async def _answer(self, call: Call) -> None:
        try:
            bound = self._toolbox.call(call.name, call.arguments)
        except UnknownTool as error:
            call.fail(str(error), parsed=False)
            return
        try:
            value = bound() if bound.is_async else await _in_thread(bound)
            if inspect.isawaitable(value):
                value = await value
        except UnknownTool as error:
            call.fail(str(error), parsed=False)
        except Exception as error:
            call.fail(described(error))
        except BaseException as error:  # the task is cancelled, or the interpreter exits
            call.fail(described(error))
            raise
        else:
            call.succeed(value)


# asyncio keeps only weak references to tasks; without this set, one could be collected early.
_tasks: set = set()


def command(binary: Any, workspace: Any, arguments: Sequence[str] = ()) -> "list[str]":
    """The command line that starts onecall. Creates the workspace folder if it does not exist."""
    command = [find_binary(binary), "exec", *arguments]
    if workspace is not None:
        os.makedirs(workspace, exist_ok=True)
        command += ["--workspace", os.path.abspath(os.fspath(workspace))]
    return command


async def _in_thread(function: Any) -> Any:
    """What a function that may block returns. A thread of a pool would keep a process alive
    whose tool hangs."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[Any]" = loop.create_future()
    context = contextvars.copy_context()

    def conclude(result: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:
            # An exception such as SystemExit ends the thread, but must not end the event loop.
            future.set_exception(RuntimeError(described(error)))

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(function)
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(conclude, result, failure)
        except RuntimeError:
            pass  # the event loop is closed, so no task waits for the result

    threading.Thread(target=work, daemon=True).start()
    return await future
