# %% plain
while True:
    pass

# %% everything swallowed
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
    finally:
        continue

# %% every signal ignored
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass

# %% every signal blocked
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass

# %% in a handler
import os, signal
def again(*_):
    while True:
        pass
signal.signal(signal.SIGALRM, again)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while True:
    pass

# %% in a thread
import threading
def spin():
    while True:
        pass
threading.Thread(target=spin).start()

# %% in a daemon thread that the program waits for
import threading
def spin():
    while True:
        pass
thread = threading.Thread(target=spin, daemon=True)
thread.start()
thread.join()

# %% in an executor
from concurrent.futures import ThreadPoolExecutor
def spin():
    while True:
        pass
with ThreadPoolExecutor() as pool:
    list(pool.map(lambda _: spin(), range(8)))

# %% in a finaliser
class Grudge:
    def __del__(self):
        while True:
            pass
Grudge()

# %% in a finaliser of a cycle
import gc
class Grudge:
    def __init__(self):
        self.me = self
    def __del__(self):
        while True:
            pass
Grudge()
gc.collect()

# %% at exit
import atexit
@atexit.register
def again():
    while True:
        pass

# %% at exit, registering again
import atexit
def again():
    atexit.register(again)
    atexit._run_exitfuncs()
atexit.register(again)
while True:
    again()

# %% in a generator that is closed
def stubborn():
    try:
        yield
    finally:
        while True:
            pass
generator = stubborn()
next(generator)
generator.close()

# %% in a coroutine that is cancelled
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
task = asyncio.create_task(stubborn())
await asyncio.sleep(0)
task.cancel()

# %% a loop of events without end
import asyncio
loop = asyncio.get_running_loop()
def again():
    loop.call_soon(again)
again()
await asyncio.sleep(1000)

# %% in the text of its exception
class Error(Exception):
    def __str__(self):
        while True:
            pass
    __repr__ = __str__
raise Error

# %% in the exceptions of its exception
class Error(Exception):
    @property
    def exceptions(self):
        while True:
            yield self
raise Error

# %% in the code of its exit
class Code:
    def __eq__(self, other):
        while True:
            pass
    __hash__ = None
raise SystemExit(Code())

# %% in the arguments of a call
class Endless(dict):
    def items(self):
        while True:
            yield "a", 1
    def keys(self):
        while True:
            yield "a"
await mcp__fixture__add(**Endless())

# %% in the replaced outcome
import _onecall_program
def endless(*_):
    while True:
        pass
_onecall_program.with_forgotten_calls = endless

# %% asleep
import time
time.sleep(1000)

# %% waiting for a call
while True:
    try:
        await mcp__fixture__hang()
    except BaseException:
        pass

# %% in a builtin
sum(iter(int, 1))

# %% in a comparison
class Same:
    def __lt__(self, other):
        return True
sorted([Same() for _ in range(10)] * 10**6)
while True:
    pass

# %% dead locked
import threading
lock = threading.Lock()
lock.acquire()
lock.acquire()

# %% in a trace function
import sys
def trace(*_):
    while True:
        pass
sys.settrace(trace)
(lambda: 0)()
while True:
    pass

# %% in the next program's clothes
import sys, types
class Module(types.ModuleType):
    def __getattribute__(self, name):
        while True:
            pass
for name in list(sys.modules):
    sys.modules[name].__class__ = Module if type(sys.modules[name]) is types.ModuleType else type(sys.modules[name])
import json
json.dumps

# %% in a recursion without a limit
import sys
sys.setrecursionlimit(10**9)
def deeper(n):
    return deeper(n + 1)
deeper(0)

# %% of calls over the quota
while True:
    try:
        await mcp__fixture__add(1, 1)
    except ToolError:
        pass

# %% with a file in memory
try:
    held = open("/tmp/{{mark}}", "w")
except OSError:
    held = None
while True:
    pass
