"""The tuples in which agent frameworks pass on the result of a tool call."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from typing import Any, Dict, Optional, Tuple, Union

#: `(tool_parsed, tool_execute_error, observation, returned_tool_name, returned_tool_call_id)`
Observation = Tuple[bool, Union[bool, str, None], Any, Optional[str], Optional[str]]

SHAPE = (
    "(tool_parsed, tool_execute_error, observation, returned_tool_name, returned_tool_call_id)"
)


def not_found(name: str, known: "list[str]", call_id: str) -> Observation:
    """The observation for a call of an unknown tool, which was not executed."""
    there = ", ".join(known) or "none"
    return False, True, f"Tool not found: {name}; there are: {there}", name, call_id


def arguments_of(given: Any) -> Dict[str, Any]:
    """Returns arguments as a dict. Models sometimes write them as JSON text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise ValueError(f"the arguments are not JSON: {error}") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError("the arguments must be a dict")
    return given


def read_observation(answer: Any, call_id: str) -> "tuple[bool, Any, Any]":
    """`(tool_parsed, tool_execute_error, observation)` of an executor's answer to a call.

    Raises TypeError if the answer has another shape, or is for another call.
    """
    if not isinstance(answer, (tuple, list)) or len(answer) != 5:
        raise TypeError(f"the tool executor returned {shown(answer)} instead of {SHAPE}")
    parsed, error, observation, _, answered_id = answer
    if not isinstance(parsed, bool):
        raise TypeError(f"the tool executor's tool_parsed is {shown(parsed)}, not a bool")
    if not (error is None or isinstance(error, (bool, str))):
        raise TypeError(
            f"the tool executor's tool_execute_error is {shown(error)}, "
            "not a bool, a message or None"
        )
    if answered_id is not None and answered_id != call_id:
        raise TypeError(f"the tool executor answered {shown(answered_id)}, not {call_id!r}")
    return parsed, error, observation


def reason_of(error: Any, observation: Any) -> str:
    """The reason why a call failed, taken from its `tool_execute_error` and observation."""
    if isinstance(error, str) and error:
        return error
    if isinstance(observation, str) and observation:
        return observation
    return "the tool failed" if observation is None else shown(observation)


def shown(value: Any) -> str:
    """A value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def finished(value: Any) -> Any:
    """The result of a coroutine, or a value that is none. Works in every thread, whether or not
    an event loop runs there."""
    if not inspect.isawaitable(value):
        return value

    async def awaited() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    ended: Dict[str, Any] = {}

    def work() -> None:
        try:
            ended["value"] = asyncio.run(awaited())
        except BaseException as error:
            ended["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if "error" in ended:
        raise ended["error"]
    return ended["value"]
