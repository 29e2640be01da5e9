"""Tools as functions, which are looked up by name when a program first uses them."""

import builtins
import inspect
import itertools
import operator
import sys
import weakref
from asyncio import events

import _onecall as wire
from _onecall_arguments import arguments_to_json
from _onecall_loop import register_call, resolve, unregister_call, wait_for

PROGRAM = "<program>"

# The beginning of the file names of programs; in a session a number follows.
_PROGRAM_PREFIX = PROGRAM[:-1]


class ToolError(Exception):
    """A tool call failed; the message says which and why."""


ToolError.__module__ = "builtins"

# Numbers calls and questions in the order in which they are made.
_call_ids = itertools.count(1)

# Calls whose coroutine has been created but not started, with the place that created it, by a number
# for each coroutine.
_not_started = {}
_coroutine_numbers = itertools.count(1)

# The module that reports the places of calls, and what the program observes, to the journal; `None` if
# the run has no journal.
journal = None


def next_id():
    """The id for a call that begins."""
    return next(_call_ids)


def reset_ids():
    """Restarts the numbering of calls."""
    global _call_ids
    _call_ids = itertools.count(1)


async def _call(number, name, arguments, fresh):
    created = _not_started.pop(number, None)
    key = next(_call_ids)
    send(key, name, arguments, fresh, created)
    loop = events.get_running_loop()
    _, succeeded, value = loop.answer_now(key) or await loop.answer(key)
    if succeeded:
        return value
    raise ToolError(failure_message(name, succeeded, value))


def send(key, name, arguments, fresh=False, created=None):
    """Sends a call; the answer is awaited later. A `fresh` call is not answered from the cache.
    `created` is the entry of `_not_started` for a call that was created elsewhere."""
    register_call(key)
    place = site = None
    try:
        if journal:
            place = created[2] if created else journal.place_of_caller()
            # Usually there is nothing to report but the place.
            if wire.call_quietly(key, name, arguments, fresh, place):
                return
            site = journal.before_call(key, name, place)
        if not wire.call(key, name, arguments, fresh, site):
            text = arguments_to_json(arguments, lambda: _schema(name))
            if journal:
                site = journal.before_call(key, name, place)
            wire.call_with_text(key, name, text, fresh, site)
    except BaseException:
        unregister_call(key)
        raise


def _schema(name):
    """The input schema of a tool."""
    return ask("schema", name=name)


def ask(question, **details):
    """Sends a question to the gateway and blocks until the answer arrives."""
    key = next(_call_ids)
    register_call(key)
    try:
        if journal:
            journal.before_question(key, question)
        wire.ask(key, f'{{"{question}":{wire.to_json(details)}}}')
    except BaseException:
        unregister_call(key)
        raise
    _, succeeded, value = wait_for(key)
    if succeeded:
        return value
    raise ToolError(failure_message(question, succeeded, value))


def failure_message(name, succeeded, value):
    """The message for a call that did not succeed."""
    return value if succeeded is False else f"{name!r} failed: {value}"


def _arguments(name, parameters, args, kwargs):
    if not args:
        return kwargs
    if len(args) == 1 and isinstance(args[0], dict):
        return {**args[0], **kwargs}
    if len(args) > len(parameters):
        raise TypeError(
            f"{name}() takes {len(parameters)} positional arguments but {len(args)} were given"
        )
    arguments = dict(zip(parameters, args))
    for key in kwargs:
        if key in arguments:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
    arguments.update(kwargs)
    return arguments


def line_of(frame):
    """The line that a frame of the program executes; `None` if there is no frame."""
    return frame and frame.f_lineno


# The function that finds the place of a call in a frame of the program: its line; with a journal, its
# line and its column. It is called once for each place.
find_place = line_of


def frame_of_program(frame):
    """The innermost frame of the program that `frame` belongs to; `None` if there is none."""
    while frame is not None and not is_of_program(frame):
        frame = frame.f_back
    return frame


def is_of_program(frame):
    """Whether a frame executes the source of the program."""
    return frame.f_code.co_filename.startswith(_PROGRAM_PREFIX)


def _as_function(name, tool):
    """Makes `tool` look like a function of the tool `name`."""
    tool.__name__ = tool.__qualname__ = name
    tool.__module__ = None
    return _mark(tool)


def _mark_for_old_versions():
    """`inspect.markcoroutinefunction` for Python 3.11, which does not have it."""
    is_coroutine_function = inspect.iscoroutinefunction
    marked = weakref.WeakSet()

    def with_marked(function):
        found = is_coroutine_function(function)
        return found or (inspect.isfunction(function) and function in marked)

    def mark(function):
        marked.add(function)
        return function

    inspect.iscoroutinefunction = with_marked
    return mark


_mark = getattr(inspect, "markcoroutinefunction", None) or _mark_for_old_versions()


def _callable(name, parameters, fresh=False):
    # A program may call this thousands of times, so each function call on the way matters.
    def tool(*args, **kwargs):
        number = next(_coroutine_numbers)
        arguments = _arguments(name, parameters, args, kwargs) if args else kwargs
        coroutine = _call(number, name, arguments, fresh)
        _not_started[number] = (coroutine, name, wire.place(find_place))
        return coroutine

    tool._onecall_fresh = lambda: _callable(name, parameters, fresh=True)
    return _as_function(name, tool)


def _blocked(name):
    """A tool that the program may not call. The gateway refuses each call and logs it."""

    def tool(*_args, **_kwargs):
        number = next(_coroutine_numbers)
        coroutine = _call(number, name, {}, False)
        _not_started[number] = (coroutine, name, wire.place(find_place))
        return coroutine

    tool._onecall_fresh = lambda: tool
    return _as_function(name, tool)


def _call_and_wait(name, arguments, fresh=False):
    """Calls a tool and blocks until its value arrives."""
    key = next(_call_ids)
    send(key, name, arguments, fresh)
    _, succeeded, value = wait_for(key)
    if succeeded:
        return value
    raise ToolError(failure_message(name, succeeded, value))


def callable_names():
    """The callable names of all tools."""
    return [name for name in ask("list") if name.startswith("mcp__")]


class Tools:
    """The tools of all servers, by their callable names and, where only one has it, by their
    own. Calls wait for the value: no `await` needed. `tools.aio` has the same as coroutines,
    and so are `tools.async_<name>`, unless a tool has just that name."""

    def __init__(self, call):
        self._call = call

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        found = ask("find", name=name)
        if "name" not in found:
            raise AttributeError(found["problem"])
        call = _callable if "awaited" in found else self._call
        tool = call(found["name"], found["parameters"])
        documentation = found["documentation"]
        is_awaited = call is _callable
        tool.__doc__ = documentation if is_awaited else documentation.removeprefix("await ")
        setattr(self, name, tool)
        return tool

    def __dir__(self):
        return sorted({*super().__dir__(), *ask("list")})

    def search(self, *args, **kwargs):
        """The tools that fit a query best, at most `limit`: `tools.search(query, limit=10)`
        tells their names, descriptions and signatures."""
        # A host may have a tool of exactly this name; bridged tools never have it.
        found = ask("find", name="search")
        if found.get("name") == "search":
            return self._call("search", found["parameters"])(*args, **kwargs)
        return _search(*args, **kwargs)


def _search(query, limit=10):
    if not isinstance(query, str) or not hasattr(limit, "__index__") or limit < 0:
        raise ToolError(
            "'tools.search' failed: it takes a text and the largest number of tools to return: "
            "tools.search(query, limit=10)"
        )
    return ask("search", query=query, limit=min(operator.index(limit), 1000), language="python")


def _blocking(name, parameters, fresh=False):
    def tool(*args, **kwargs):
        return _call_and_wait(name, _arguments(name, parameters, args, kwargs), fresh)

    tool.__name__ = tool.__qualname__ = name
    tool.__module__ = None
    tool._onecall_fresh = lambda: _blocking(name, parameters, fresh=True)
    return tool


def _help(*things):
    """Prints what is known about a thing."""
    import pydoc

    for thing in things:
        print(pydoc.render_doc(thing, title="%s", renderer=pydoc.plaintext))


class ProgramBuiltins(dict):
    """The builtins of a program, to which the name of a tool is added when it is first used."""

    def __missing__(self, name):
        meaning = resolve(name)
        if "parameters" in meaning:
            tool = _callable(meaning.get("name", name), meaning["parameters"])
        elif "blocked" in meaning:
            tool = _blocked(name)
        elif meaning["nearest"]:
            nearest = " or ".join(repr(near) for near in meaning["nearest"])
            raise NameError(f"name {name!r} is not defined. Did you mean: {nearest}?", name=name)
        else:
            raise KeyError(name)
        self[name] = tool
        return tool


def program_builtins():
    """New builtins for one program."""
    names = ProgramBuiltins(vars(builtins))
    names["ToolError"] = ToolError
    # An interpreter without its `site` module lacks these, but programs use them.
    names["exit"] = names["quit"] = sys.exit
    names["help"] = _help
    names["tools"] = Tools(_blocking)
    names["tools"].aio = Tools(_callable)
    return names


def never_awaited():
    """`(name, line)` of each call that the program made and never awaited."""
    forgotten = []
    for call, name, place in list(_not_started.values()):
        # A task that was cancelled before its first step has closed its coroutine.
        if call.cr_frame is not None:
            forgotten.append((name, place[0] or None if journal else place))
        call.close()
    _not_started.clear()
    return forgotten
