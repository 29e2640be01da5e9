#%% return_at_the_top
print("before")
return
print("after")

#%% return_of_a_value
print("printed")
return {"a": 1}

#%% return_in_a_condition
rows = await mcp__kit__no_names()
if not rows:
    print("nothing found")
    return
print(len(rows))

#%% return_in_a_loop
for n in range(5):
    if await mcp__kit__add(a=n, b=0) == 2:
        print("found", n)
        return
print("not found")

#%% return_inside_try_with_bare_except
try:
    print("in try")
    return
except:
    print("caught")
print("after")

#%% return_inside_try_finally
try:
    return
finally:
    print("finally")

#%% return_inside_with
import contextlib
@contextlib.contextmanager
def scope():
    print("enter")
    try:
        yield
    except BaseException as error:
        print("saw", type(error).__name__)
        raise
    print("exit")
with scope():
    return
print("after")

#%% return_inside_match
match 1:
    case 1:
        print("one")
        return
print("after")

#%% return_without_output
#% better: says that nothing was printed although there is a value
return 5

#%% function_with_a_return_of_its_own
def f():
    return 1
print(f())

#%% indented_program
    x = await mcp__kit__add(a=1, b=1)
    if x:
        print(x)

#%% indented_by_a_tab
	x = 1
	print(x)

#%% indented_with_blank_lines

    print("one")

    print("two")


#%% fenced_python
#% better: a program in a Markdown fence runs
```python
print("fenced")
```

#%% fenced_without_language
#% better: a program in a Markdown fence runs
```
print("fenced")
```

#%% fenced_py
#% better: a program in a Markdown fence runs
```py
print(await mcp__kit__add(a=1, b=2))
```

#%% fence_inside_a_string
text = """
```python
x
```
"""
print(len(text.split()))

#%% empty_program
#% better: a program without statements does nothing

#%% only_a_comment
#% better: a program without statements does nothing
# nothing to do

#%% only_pass
pass

#%% only_a_docstring
#% better: says that nothing was printed although there is a value
"""Says what it would do."""

#%% docstring_first
"""Adds numbers."""
print(await mcp__kit__add(a=1, b=1))

#%% triple_quoted_text_keeps_its_lines
#% better: text is not indented
text = """one
two
  three"""
print(text)

#%% backslash_continuation
total = 1 + \
    2
print(total)

#%% semicolons
a = 1; b = 2; print(a + b)

#%% name_is_main
#% better: a program is the main module
if __name__ == "__main__":
    print("main")

#%% main_function_called
def main():
    print("main ran")

main()

#%% tool_by_globals
print(await globals()["mcp__kit__add"](a=1, b=2))

#%% tool_by_globals_get
tool = globals().get("mcp__kit__add")
print(tool is not None, await tool(a=1, b=2))

#%% missing_tool_by_globals_get
print(globals().get("mcp__kit__absent"))

#%% tool_name_in_globals
print("mcp__kit__add" in globals(), "mcp__kit__absent" in globals())

#%% tool_by_eval
print(await eval("mcp__kit__add")(a=1, b=2))

#%% tool_by_formatted_eval
for name in ("add",):
    print(await eval(f"mcp__kit__{name}(a=1, b=2)"))

#%% tools_listed_from_globals
found = sorted(name for name in globals() if name.startswith("mcp__kit__o"))
print(found)

#%% tool_name_attribute
print(mcp__kit__add.__name__)

#%% callable_tool
print(callable(mcp__kit__add))

#%% nonlocal_of_a_top_level_name
count = 0
def increase():
    nonlocal count
    count += 1
increase()
print(count)

#%% nonlocal_in_an_async_helper
done = 0
async def fetch(n):
    nonlocal done
    await mcp__kit__add(a=n, b=n)
    done += 1
await fetch(1)
await fetch(2)
print(done)

#%% nonlocal_of_top_level_and_inner_names
total = 0
calls = 0
def counter():
    step = 1
    def count():
        nonlocal total, step, calls
        total += step
        step += 1
        calls += 1
    count()
    count()
counter()
print(total, calls)

#%% nonlocal_and_a_return
found = None
async def look(n):
    nonlocal found
    if await mcp__kit__is_even(number=n):
        found = n
for n in (1, 2, 3):
    await look(n)
    if found:
        print("found", found)
        return

#%% nonlocal_of_a_name_that_nobody_binds
def f():
    nonlocal nowhere
    nowhere = 1

#%% global_of_a_top_level_name
#% better: names of the top level are global
count = 0
def increase():
    global count
    count += 1
increase()
print(count)

#%% global_of_a_new_name
def define():
    global fresh
    fresh = 3
define()
print(fresh)

#%% star_import
#% better: a program is a module
from math import *
print(floor(pi))

#%% future_import
#% better: a program is a module
from __future__ import annotations
print("ok")

#%% annotated_names
count: int = 3
items: list[str] = []
print(count, items)

#%% unused_annotation
value: "Unknown"
print("ok")

#%% type_hints_of_the_typing_module
from typing import Any, Dict, List, Optional
def first(rows: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    return rows[0] if rows else None
print(first([{"a": 1}]))

#%% exec_defines_names
#% better: names of the top level are global
exec("answer = 42")
print(answer)

#%% exec_with_a_namespace
scope = {}
exec("answer = 6 * 7", scope)
print(scope["answer"])

#%% eval_of_an_expression
x = 20
print(eval("x + 2"))

#%% locals_has_names
x = 1
print("x" in locals())

#%% class_with_methods
class Counter:
    def __init__(self):
        self.total = 0
    async def add(self, n):
        self.total = await mcp__kit__add(a=self.total, b=n)
counter = Counter()
await counter.add(2)
await counter.add(3)
print(counter.total)

#%% class_body_uses_a_top_level_name
limit = 5
class Settings:
    maximum = limit * 2
print(Settings.maximum)

#%% comprehension_in_a_class_body
class Squares:
    values = [n * n for n in range(4)]
print(Squares.values)

#%% dataclass_repr
#% better: the class has the name that the program gave it
from dataclasses import dataclass
@dataclass
class Item:
    name: str
    price: float = 0.0
print(Item("pen", 1.5))

#%% dataclass_fields
from dataclasses import dataclass, asdict
@dataclass
class Item:
    name: str
    tags: list
print(asdict(Item("pen", ["a"])))

#%% namedtuple_repr
from collections import namedtuple
Item = namedtuple("Item", "name price")
print(Item("pen", 2))

#%% enum_members
from enum import Enum
class Color(Enum):
    RED = "red"
print(Color.RED, Color("red").name, [c.value for c in Color])

#%% decorator
import functools
def logged(function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        print("calling", function.__name__)
        return await function(*args, **kwargs)
    return wrapper
@logged
async def double(n):
    return await mcp__kit__add(a=n, b=n)
print(await double(2))

#%% decorated_tool
def traced(tool):
    async def call(**kwargs):
        print("->", sorted(kwargs))
        return await tool(**kwargs)
    return call
add = traced(mcp__kit__add)
print(await add(a=1, b=2))

#%% async_context_manager
import contextlib
@contextlib.asynccontextmanager
async def session():
    print("open")
    yield await mcp__kit__add(a=1, b=1)
    print("close")
async with session() as value:
    print(value)

#%% generator_function
def evens(limit):
    for n in range(limit):
        if n % 2 == 0:
            yield n
print(list(evens(7)))

#%% property_and_inheritance
class Base:
    @property
    def name(self):
        return type(self).__name__.lower()
class Child(Base):
    pass
print(Child().name)

#%% last_expression_is_not_printed
#% better: says that nothing was printed although there is a value
1 + 1

#%% last_expression_after_output
print("shown")
"not shown"

#%% result_variable_is_not_printed
result = await mcp__kit__add(a=1, b=1)

#%% shadowed_tool_name
mcp__kit__add = "mine"
print(mcp__kit__add)

#%% own_function_named_like_a_builtin
def sum(values):
    return "own"
print(sum([1]))

#%% variable_named_tools
tools = ["hammer"]
print(tools[0])

#%% deleted_name
x = 1
del x
try:
    x
except NameError:
    print("gone")

#%% try_import_with_fallback
try:
    import ujson as json
except ImportError:
    import json
print(json.dumps([1]))

#%% top_level_yield
#% better: the error says what is wrong and where
yield 1

#%% async_for_and_async_with_at_the_top
import asyncio
class Source:
    def __aiter__(self):
        self.left = 2
        return self
    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return self.left
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        print("left")
async with Source() as source:
    async for n in source:
        print(n)

#%% unicode_identifiers
größe = 3
print(größe)

#%% long_line
print(len("x" * 100) + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0)
