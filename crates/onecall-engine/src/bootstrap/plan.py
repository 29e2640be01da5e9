"""The functions that the program of a plan uses."""

import asyncio
import builtins
import importlib
import sys
from asyncio import events

import _onecall as wire
import _onecall_tools
from _onecall_arguments import arguments_to_json
from _onecall_content import content_of, with_content
from _onecall_loop import register_call, unregister_call
from _onecall_tools import ToolError, ask, failure_message, next_id


class PlanError(Exception):
    """A part of a plan is wrong. The gateway knows the words around the message."""


PlanError.__module__ = "builtins"


class TransformNames(dict):
    """The names that transforms can use: builtins and the standard library, but no tools."""

    def __missing__(self, name):
        if name not in sys.stdlib_module_names:
            raise KeyError(name)
        return importlib.import_module(name)


scope = {"__builtins__": TransformNames(vars(builtins)), "__name__": "definitions"}


def describe_error(error):
    return f"{type(error).__name__}: {error}"


def plan_error(part, message, kind=PlanError):
    """The error for a part of the plan, as the gateway identifies it: `definitions`, or a transform
    or a node by its number."""
    error = kind(message)
    error._onecall_plan_part = part
    return error


def define(source):
    try:
        exec(compile(source, "<definitions>", "exec"), scope)
    except BaseException as error:
        raise plan_error("definitions", f"failed: {describe_error(error)}") from None


def transform(number, source):
    """The function that the source of a transform defines."""
    part = {"transform": number}
    try:
        function = eval(compile(source.strip(), "<transform>", "eval"), scope)
    except BaseException as error:
        raise plan_error(part, f"is not valid: {describe_error(error)}") from None
    if not callable(function):
        raise plan_error(part, "is not a function")

    def apply(value):
        try:
            result = function(value)
            if hasattr(result, "__await__"):
                raise TypeError("a transform cannot be asynchronous")
            return result
        except BaseException as error:
            raise plan_error(part, f"failed: {describe_error(error)}") from None

    return apply


def copied(value):
    """A deep copy of the data, so that transforms cannot affect each other."""
    content = content_of(value)
    if content is not None:
        plain = next(kind for kind in (str, list, dict) if isinstance(value, kind))
        return with_content(copied(plain(value)), copied(content))
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


async def call(node, name, /, **arguments):
    """Runs one node of the plan, which calls the tool `name`."""
    part, key = {"node": node}, next_id()
    register_call(key)
    site, journal = None, _onecall_tools.journal
    try:
        if journal:
            place = journal.place_of_caller()
            site = journal.before_call(key, name, place)
        if not wire.call_node(key, node, arguments, site):
            text = arguments_to_json(arguments, lambda: ask("node_schema", node=node))
            if journal:
                site = journal.before_call(key, name, place)
            wire.call_node_with_text(key, node, text, site)
    except Exception as error:
        unregister_call(key)
        raise plan_error(part, describe_error(error)) from None
    loop = events.get_running_loop()
    _, succeeded, value = loop.answer_now(key) or await loop.answer(key)
    if succeeded:
        return value
    raise plan_error(part, failure_message(name, succeeded, value), ToolError)


started = {}


def shared(node):
    """The task of a node whose result is needed several times; it runs once."""
    if node not in started:
        started[node] = asyncio.ensure_future(node())
    return started[node]
