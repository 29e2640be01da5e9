"""The event loop for programs that await nothing at their top level.

Such a program runs outside of any loop, so that it can run its own. But it may also start tasks or
ask for the running loop, as if it awaited something, or ask for a loop to run it by itself.
"""

import asyncio

import _onecall_loop

# The names by which programs run a loop of their own.
_RUNNERS = frozenset(("Runner", "run", "run_forever", "run_until_complete"))


def prepare(code):
    """Whether the program has to run inside a loop. If not, a loop is provided in case it asks for
    the current one."""
    if "asyncio" not in code.co_names:
        return False
    names = _names(code)
    if not names & _RUNNERS:
        return True
    if "get_event_loop" in names:
        asyncio.set_event_loop(_onecall_loop.Loop())
    return False


def _names(code):
    """The names and attributes that a program uses anywhere."""
    names, rest = set(), [code]
    while rest:
        code = rest.pop()
        names.update(code.co_names)
        rest += [constant for constant in code.co_consts if isinstance(constant, type(code))]
    return names
