# %% a function
def deeper(n):
    return deeper(n + 1)
deeper(0)

# %% attributes
class Odd:
    def __getattr__(self, name):
        return getattr(self, name + "x")
Odd().x

# %% texts of itself
class Odd:
    def __repr__(self):
        return repr(self)
print(Odd())

# %% a list of lists
rows = []
for _ in range(100_000):
    rows = [rows]
try:
    print(len(repr(rows)))
except RecursionError as error:
    print(type(error).__name__)

# %% a list that compares itself
a, b = [], []
a.append(a)
b.append(b)
print(a == b)

# %% a list of lists is freed
rows = []
for _ in range(1_000_000):
    rows = [rows]
del rows
print("freed")

# %% tuples and dicts are freed
rows = ()
for _ in range(300_000):
    rows = ({"x": rows},)
del rows
print("freed")

# %% a chain of objects is freed
class Node:
    pass
node = None
for _ in range(300_000):
    next_node = Node()
    next_node.next = node
    node = next_node
del node, next_node
print("freed")

# %% hashing
rows = ()
for _ in range(100_000):
    rows = (rows,)
try:
    print(isinstance(hash(rows), int))
except RecursionError as error:
    print(type(error).__name__)

# %% copying
import copy
rows = []
for _ in range(100_000):
    rows = [rows]
copy.deepcopy(rows)

# %% a coroutine of coroutines
async def deeper(n):
    return await deeper(n + 1)
await deeper(0)

# %% generators
def deeper(n):
    yield from deeper(n + 1)
list(deeper(0))

# %% iterators of iterators
import itertools
rows = iter([])
for _ in range(100_000):
    rows = itertools.chain(rows, ())
print(list(rows))

# %% partials
import functools
call = print
for _ in range(100_000):
    call = functools.partial(lambda inner: inner(), call)
call()

# %% in a thread
import sys, threading
threading.stack_size(64 * 1024)
sys.setrecursionlimit(10**9)
def deeper(n):
    return deeper(n + 1)
thread = threading.Thread(target=deeper, args=(0,))
thread.start()
thread.join()

# %% exceptions within exceptions
error = ValueError()
for _ in range(3000):
    outer = ValueError()
    outer.__cause__ = error
    error = outer
raise error

# %% exceptions without end
class Error(Exception):
    @property
    def __cause__(self):
        return Error()
    __context__ = __cause__
raise Error

# %% groups within groups
error = ValueError()
for _ in range(2000):
    error = ExceptionGroup("x", [error])
raise error

# %% a class hierarchy
kind = object
for _ in range(1000):
    kind = type("Kind", (kind,), {})
print(kind().__class__.__name__)

# %% types of types
from typing import List
kind = int
for _ in range(100_000):
    kind = list[kind]
print(len(repr(kind)) > 0)

# %% in the handler of its own end
import sys
def handler(*_):
    handler()
sys.excepthook = sys.unraisablehook = handler
class Odd:
    def __del__(self):
        raise ValueError
Odd()
print("done")

# %% a module that imports itself
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        return __import__(name + "x")
sys.meta_path.insert(0, Finder())
import nothing_of_the_kind
