"""What the program of a plan is written with."""

import asyncio
import builtins
import importlib
import inspect
import json
import sys
from asyncio import events

from _onecall_content import content_of, with_content
from _onecall_tools import ToolError, next_id, reason, send


class PlanError(Exception):
    """The message says what is wrong and where."""


PlanError.__module__ = "builtins"


class Names(dict):
    """What transforms see: Python and its standard library, and no tools."""

    def __missing__(self, name):
        if name not in sys.stdlib_module_names:
            raise KeyError(name)
        return importlib.import_module(name)


scope = {"__builtins__": Names(vars(builtins)), "__name__": "definitions"}


def said(error):
    return f"{type(error).__name__}: {error}"


def define(source):
    try:
        exec(compile(source, "<definitions>", "exec"), scope)
    except BaseException as error:
        raise PlanError(f"definitions failed: {said(error)}") from None


def transform(path, source):
    """The function that a transform stands for."""
    try:
        function = eval(compile(source.strip(), "<transform>", "eval"), scope)
    except BaseException as error:
        raise PlanError(f"the transform of {path} is not valid: {said(error)}\n    {source}") from None
    if not callable(function):
        raise PlanError(f"the transform of {path} is not a function\n    {source}")

    def apply(value):
        try:
            result = function(value)
            if inspect.isawaitable(result):
                raise TypeError("a transform cannot be asynchronous")
            return result
        except BaseException as error:
            raise PlanError(f"the transform of {path} failed: {said(error)}\n    {source}") from None

    return apply


def copied(value):
    """The same data again: what one transform does to it is not another's business."""
    content = content_of(value)
    if content is not None:
        plain = next(kind for kind in (str, list, dict) if isinstance(value, kind))
        return with_content(copied(plain(value)), copied(content))
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


paths = "[]"


def locate(nodes):
    """Takes note where the nodes are in the plan: a list of paths, as JSON."""
    global paths
    paths = nodes


def failed(kind, message, node):
    return kind(f"{message}\n    in {json.loads(paths)[node]}")


async def call(node, /, **arguments):
    """Runs one node of the plan. The gateway knows its tool by its number."""
    name, key = f"plan_node_{node}", next_id()
    try:
        send(key, name, arguments)
    except Exception as error:
        raise failed(PlanError, said(error), node) from None
    loop = events.get_running_loop()
    _, succeeded, value = loop.answer_now(key) or await loop.answer(key)
    if succeeded:
        return value
    raise failed(ToolError, reason(name, succeeded, value), node)


started = {}


def shared(node):
    """The one run of a node that several others need."""
    if node not in started:
        started[node] = asyncio.ensure_future(node())
    return started[node]
