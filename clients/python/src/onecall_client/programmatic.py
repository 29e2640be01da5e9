"""Programmatic tool calling as a tool of an agent framework.

The framework hands over one executor for all its tools, and calls this tool like any other.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from typing import Any, Callable, Dict, Optional, Tuple, Union

from .client import command, described
from .errors import OnecallError
from .outcome import Outcome
from .process import Call, Supervised

#: `(tool_parsed, tool_execute_error, observation, returned_tool_name, returned_tool_call_id)`
Observation = Tuple[bool, Union[bool, str, None], Any, Optional[str], Optional[str]]
#: `(tool_name, tool_args, tool_call_id) -> Observation`, or a coroutine of it.
ToolExecutor = Callable[[str, Dict[str, Any], str], Any]

SHAPE = (
    "(tool_parsed, tool_execute_error, observation, returned_tool_name, returned_tool_call_id)"
)
HELLO = "print('hello')"


def create_programmatic_tool_calling_tool_stdio(
    workspace_path: Optional[os.PathLike] = None,
    tool_executor: Optional[ToolExecutor] = None,
    validate_on_init: bool = False,
    *,
    binary: Optional[os.PathLike] = None,
) -> "ProgrammaticToolCallingTool":
    """A tool that runs programs, whose own tool calls `tool_executor` executes.

    `validate_on_init` starts onecall and runs a program at once, and raises if that fails.
    """
    tool = ProgrammaticToolCallingTool(workspace_path, tool_executor, binary=binary)
    if validate_on_init:
        try:
            tool.validate()
        except BaseException:
            tool.close()
            raise
    return tool


class ProgrammaticToolCallingTool:
    """Runs programs for an agent. May be used from any number of threads."""

    def __init__(
        self,
        workspace_path: Optional[os.PathLike] = None,
        tool_executor: Optional[ToolExecutor] = None,
        *,
        binary: Optional[os.PathLike] = None,
    ) -> None:
        self._executor = tool_executor
        self._supervised = Supervised(command(binary, workspace_path))

    def __enter__(self) -> "ProgrammaticToolCallingTool":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends onecall, and every program that still runs."""
        self._supervised.close()

    def set_tool_executor(self, executor: Optional[ToolExecutor]) -> None:
        """Has another executor for calls from now on."""
        self._executor = executor

    def validate(self) -> None:
        """Runs a program that prints a line; raises OnecallError if that fails."""
        outcome = self._run({"code": HELLO})
        if outcome["error"] is not None:
            raise OnecallError(f"onecall cannot run programs: {outcome['error']['traceback']}")

    def execute_tool(self, name: str, args: Any, call_id: str) -> Observation:
        """Runs the program `args["code"]`, with `filename` and `timeout` if they are there.

        Gives a tuple of the executor's own shape, whose observation is the outcome as a dict.
        """
        try:
            fields = _fields(args)
        except ValueError as error:
            return False, str(error), _failure("ValueError", str(error)), name, call_id
        try:
            outcome = self._run(fields)
        except OnecallError as error:
            kind = type(error).__name__
            return True, str(error), _failure(kind, str(error)), name, call_id
        error = outcome["error"]
        message = None if error is None else f"{error['type']}: {error['message']}"
        return True, message, outcome, name, call_id

    def _run(self, fields: Dict[str, Any]) -> Dict[str, Any]:
        process, run_id, run = self._supervised.execute(fields, self._begin)
        try:
            message = run.outcome.result()
        except KeyboardInterrupt:
            process.cancel(run_id)
            raise
        return Outcome.from_message(message).to_dict()

    def _begin(self, call: Call) -> None:
        # A thread of a pool would keep a process alive whose executor hangs.
        threading.Thread(target=self._answer, args=(call,), daemon=True).start()

    def _answer(self, call: Call) -> None:
        executor = self._executor
        if executor is None:
            call.fail("there is no tool executor; call set_tool_executor first", parsed=False)
            return
        try:
            answer = executor(call.name, call.arguments, call.id)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_awaited(answer))
        except BaseException as error:  # the program is told, whatever an executor raises
            call.fail(described(error))
            return
        try:
            parsed, error, observation = _read(answer, call)
        except TypeError as problem:
            call.fail(str(problem))
            return
        if parsed and not error:
            call.succeed(observation)
        else:
            call.fail(_reason(error, observation), parsed=parsed)


async def _awaited(answer: Any) -> Any:
    return await answer


def _fields(args: Any) -> Dict[str, Any]:
    """The message for onecall; models sometimes give arguments as a text of JSON."""
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError as error:
            raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(args, dict):
        raise ValueError("the arguments must be a dict with 'code'")
    unknown = set(args) - {"code", "filename", "timeout"}
    if unknown:
        raise ValueError(f"unknown arguments: {', '.join(sorted(map(str, unknown)))}")
    if not isinstance(args.get("code"), str):
        raise ValueError("'code' must be a string")
    return {name: value for name, value in args.items() if value is not None}


def _read(answer: Any, call: Call) -> "tuple[bool, Any, Any]":
    if not isinstance(answer, (tuple, list)) or len(answer) != 5:
        raise TypeError(f"the tool executor returned {_shown(answer)} instead of {SHAPE}")
    parsed, error, observation, _, call_id = answer
    if not isinstance(parsed, bool):
        raise TypeError(f"the tool executor's tool_parsed is {_shown(parsed)}, not a bool")
    if not (error is None or isinstance(error, (bool, str))):
        raise TypeError(
            f"the tool executor's tool_execute_error is {_shown(error)}, "
            "not a bool, a message or None"
        )
    if call_id is not None and call_id != call.id:
        raise TypeError(f"the tool executor answered {_shown(call_id)}, not {call.id!r}")
    return parsed, error, observation


def _reason(error: Any, observation: Any) -> str:
    if isinstance(error, str) and error:
        return error
    if isinstance(observation, str) and observation:
        return observation
    return "the tool failed" if observation is None else _shown(observation)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def _failure(kind: str, message: str) -> Dict[str, Any]:
    """The outcome of a program that has none."""
    return {
        "success": False,
        "stdout": "",
        "stderr": "",
        "return_value": None,
        "error": {
            "type": kind,
            "message": message,
            "traceback": f"{kind}: {message}",
            "line": None,
        },
        "tool_calls": [],
        "tool_results": [],
        "execution_time_seconds": 0.0,
        "timeout_limit_seconds": 0.0,
        "file_path": None,
        "displayed": [],
    }
