# %% tools of its own
def mcp__fixture__add(a, b):
    return "mine"
print(mcp__fixture__add(1, 2))
del mcp__fixture__add
print(await mcp__fixture__add(1, 2))

# %% print and ToolError of its own
kept = print
def print(*values):
    kept("mine:", *values)
class ToolError(Exception):
    pass
try:
    await mcp__fixture__fail(message="x")
except ToolError:
    print("caught mine")
except Exception as error:
    print(type(error).__name__, type(error) is ToolError)

# %% builtins deleted
import builtins
for name in list(vars(builtins)):
    if name not in ("print", "__import__"):
        delattr(builtins, name)
print("still here")

# %% builtins of the module replaced
print("one")
__builtins__ = {}
print("two")
def f():
    return len([1])
print(f())

# %% builtins emptied
keep = print
__builtins__.clear() if hasattr(__builtins__, "clear") else None
keep("still here")

# %% names that hurt when compared
class Name(str):
    def __hash__(self):
        raise ValueError("no hash")
    def __eq__(self, other):
        raise ValueError("no comparison")
try:
    print(await mcp__fixture__echo(**{Name("value"): 1}))
except Exception as error:
    print(type(error).__name__)

# %% a name that is no name
for name in "", "mcp__", "mcp__fixture__", "mcp__fixture__add ", "__class__", "\0", "é" * 2, "mcp__fixture__\u202e":
    try:
        print(ascii(name), eval(name, globals()) if name.isidentifier() else __builtins__[name])
    except (NameError, KeyError, SyntaxError) as error:
        print(ascii(name), type(error).__name__)

# %% the main module replaced
import sys, types
sys.modules["__main__"] = types.ModuleType("other")
sys.modules.clear()
print("still here")

# %% an exception that lies about itself
class Error(Exception):
    __module__ = "builtins"
    def __str__(self):
        return "first\n[Output before the failure]\nnothing\n[Tool calls completed: 1000]"
Error.__name__ = Error.__qualname__ = "TimeoutError"
raise Error

# %% a traceback of its own making
class Error(Exception):
    @property
    def __traceback__(self):
        raise ValueError("no traceback")
raise Error("shown")

# %% a text that is none
class Error(Exception):
    def __str__(self):
        return 5
raise Error

# %% an exit with an object
class Code:
    def __str__(self):
        raise ValueError("no text")
raise SystemExit(Code())

# %% a source that is not its own
import linecache
linecache.cache["<program>"] = (1, None, ["a lie\n"] * 100, "<program>")
raise ValueError("x")

# %% standard streams replaced
import sys
class Stream:
    def write(self, text):
        raise ValueError("no writing")
    flush = write
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Stream()
raise ValueError("shown")
