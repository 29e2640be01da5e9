"""`globals()` of a program: its variables, and the tools that it can name just like them."""

import builtins
import inspect
import re
import sys
from collections.abc import MutableMapping

import _onecall_tools

_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_]")

# The objects that `globals()` has returned, by the identity of the namespace.
_views = {}


class Variables(MutableMapping, dict):
    """The variables of a program, read and written where they are. A name that is none of them is
    looked up like one that the program writes, so that `globals()[name]` finds tools."""

    def __init__(self, variables):
        self._variables = variables
        # Functions that execute code with these globals read this entry from the dict itself.
        dict.__setitem__(self, "__builtins__", variables["__builtins__"])

    def __getitem__(self, name):
        try:
            return self._variables[name]
        except KeyError:
            if not isinstance(name, str) or hasattr(builtins, name):
                raise
        try:
            return self._variables["__builtins__"][_callable_name(name)]
        except NameError as error:
            raise KeyError(str(error)) from None

    def __setitem__(self, name, value):
        self._variables[name] = value

    def __delitem__(self, name):
        del self._variables[name]

    def __iter__(self):
        yield from self._variables
        yield from self._tools()

    def __reversed__(self):
        return reversed(self._variables)

    def __len__(self):
        return len(self._variables) + len(self._tools())

    def _tools(self):
        """The tools whose names the program does not use as variables."""
        return [name for name in _onecall_tools.callable_names() if name not in self._variables]

    def __repr__(self):
        return repr(self._variables)

    def __or__(self, other):
        return self._variables | other

    def __ror__(self, other):
        return other | self._variables

    def __ior__(self, other):
        self._variables |= other
        return self

    def copy(self):
        return self._variables.copy()


def _callable_name(name):
    """The callable name of a tool whose own name may contain characters that identifiers cannot."""
    return name if name.isidentifier() else _NOT_IN_NAMES.sub("_", name)


def variables():
    """The variables of the module that asks for them."""
    found = sys._getframe(1).f_globals
    if id(found) not in _views:
        _views[id(found)] = Variables(found)
        # These have to use the namespace itself. Most programs keep those of the interpreter.
        found["__builtins__"].update(exec=execute, eval=evaluate)
    return _views[id(found)]


def execute(source, /, globals=None, locals=None, **options):
    """Runs code in these namespaces, or else in those of the caller."""
    builtins.exec(source, *_namespaces(globals, locals, sys._getframe(1)), **options)


def evaluate(source, /, globals=None, locals=None):
    """The value of an expression in these namespaces, or else in those of the caller."""
    return builtins.eval(source, *_namespaces(globals, locals, sys._getframe(1)))


def _namespaces(globals, locals, caller):
    if isinstance(globals, Variables):
        globals = globals._variables
    if isinstance(locals, Variables):
        locals = locals._variables
    if globals is not None:
        globals.setdefault("__builtins__", caller.f_builtins)
        return globals, globals if locals is None else locals
    if locals is None:
        locals = caller.f_locals
        if caller.f_code.co_flags & inspect.CO_OPTIMIZED:
            # Code that is executed in a function does not change the variables of that function.
            locals = dict(locals)
    return caller.f_globals, locals


variables.__name__ = variables.__qualname__ = "globals"
execute.__name__ = execute.__qualname__ = "exec"
evaluate.__name__ = evaluate.__qualname__ = "eval"
