"""Programmatic tool calling as a tool of an agent framework.

The framework hands over one executor for all its tools, and calls this tool like any other.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Dict, List, Optional

from .client import command
from .errors import OnecallError, described
from .framework import MCPTool
from .observation import (
    Observation,
    arguments_of,
    finished,
    not_found,
    read_observation,
    reason_of,
)
from .outcome import Outcome
from .process import Call, Supervised
from .tools import Tool
from .wire import to_text

#: `(tool_name, tool_args, tool_call_id) -> Observation`, or a coroutine of it.
ToolExecutor = Callable[[str, Dict[str, Any], str], Any]

NAME = "programmatic_tool_calling"
DESCRIPTION = (
    "Runs a Python program that calls tools as tools.<name>(...), and returns everything about it "
    "as JSON: output, return value, every tool call with its result, the error."
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


class ProgrammaticToolCallingTool(MCPTool):
    """The tool `programmatic_tool_calling`, which runs programs for an agent. May be used from
    any number of threads."""

    def __init__(
        self,
        workspace_path: Optional[os.PathLike] = None,
        tool_executor: Optional[ToolExecutor] = None,
        *,
        binary: Optional[os.PathLike] = None,
    ) -> None:
        super().__init__()
        self.tool_executor = tool_executor
        self._supervised = Supervised(command(binary, workspace_path))

    def close(self) -> None:
        """Stops onecall, which ends every program that still runs."""
        self._supervised.close()

    def set_tool_executor(self, executor: Optional[ToolExecutor]) -> None:
        """Replaces the executor of tool calls."""
        self.tool_executor = executor

    def validate(self) -> None:
        """Runs a program that prints a line; raises OnecallError if that fails."""
        outcome = self._run({"code": HELLO})
        if outcome["error"] is not None:
            raise OnecallError(f"onecall cannot run programs: {outcome['error']['traceback']}")

    def definitions(self) -> List[Dict[str, Any]]:
        """The definition of this tool as in MCP."""
        properties = {
            "code": {"type": "string", "description": "The Python program."},
            "filename": {
                "type": "string",
                "description": "Keep the program in the workspace under this name.",
            },
            "timeout": {"type": "number", "description": "Seconds."},
        }
        schema = {"type": "object", "properties": properties, "required": ["code"]}
        return [{"name": NAME, "description": DESCRIPTION, "inputSchema": schema}]

    def execute_tool(self, tool_name: str, tool_args: Any, tool_call_id: str) -> Observation:
        """Runs the program `tool_args["code"]`, with `filename` and `timeout` if they are there.

        `_tools_available` is a list of the tools that the program may call, as names or as
        definitions; without it the executor decides. The observation is the outcome as JSON,
        or a sentence if there is no such tool or its arguments are wrong.
        """
        if tool_name != NAME:
            return not_found(tool_name, [NAME], tool_call_id)
        try:
            fields = _fields(tool_args)
        except ValueError as error:
            return True, True, str(error), tool_name, tool_call_id
        try:
            outcome = self._run(fields)
        except OnecallError as error:
            outcome = _failure(type(error).__name__, str(error))
        return True, not outcome["success"], to_text(outcome), tool_name, tool_call_id

    def _run(self, fields: Dict[str, Any]) -> Dict[str, Any]:
        process, run_id, run = self._supervised.execute(fields, self._begin)
        try:
            message = run.outcome.result()
        except KeyboardInterrupt:
            process.cancel(run_id)
            raise
        outcome = Outcome.from_message(message).to_dict()
        for result in outcome["tool_results"]:
            # Executors return text, so readers of an outcome expect text.
            if not isinstance(result["observation"], str):
                result["observation"] = to_text(result["observation"])
        return outcome

    def _begin(self, call: Call) -> None:
        # A thread of a pool would keep a process alive whose executor hangs.
        threading.Thread(target=self._answer, args=(call,), daemon=True).start()

    def _answer(self, call: Call) -> None:
        executor = self.tool_executor
        if executor is None:
            call.fail("there is no tool executor; call set_tool_executor first", parsed=False)
            return
        try:
            answer = finished(executor(call.name, call.arguments, call.id))
        except BaseException as error:  # any exception is a ToolError of the program
            call.fail(described(error))
            return
        try:
            parsed, error, observation = read_observation(answer, call.id)
        except TypeError as problem:
            call.fail(str(problem))
            return
        if parsed and not error:
            call.succeed(observation, is_text=isinstance(observation, str))
        else:
            call.fail(reason_of(error, observation), parsed=parsed)


def _fields(given: Any) -> Dict[str, Any]:
    """Builds the message that starts the program."""
    args = arguments_of(given)
    unknown = set(args) - {"code", "filename", "timeout", "_tools_available"}
    if unknown:
        raise ValueError(f"unknown arguments: {', '.join(sorted(map(str, unknown)))}")
    if not isinstance(args.get("code"), str):
        raise ValueError("'code' must be a string")
    fields = {name: value for name, value in args.items() if value is not None}
    if "_tools_available" in fields:
        fields["tools"] = _available(fields.pop("_tools_available"))
    return fields


def _available(given: Any) -> List[Dict[str, Any]]:
    """The definitions of the tools that a program may call."""
    if isinstance(given, (str, bytes)):
        raise ValueError("'_tools_available' must be a list of names or definitions of tools")
    try:
        tools = [{"name": it} if isinstance(it, str) else it for it in given]
        return [Tool.of(tool).definition() for tool in tools]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"'_tools_available' must be a list of names or definitions of tools: {error}"
        ) from None


def _failure(kind: str, message: str) -> Dict[str, Any]:
    """An outcome for a program that could not be run."""
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
