# %% poison
import asyncio, atexit, builtins, decimal, gc, json, linecache, locale, os, random, re, signal, sys, threading, time, zoneinfo

builtins.print, shout = lambda *values, **options: shout("poisoned", *values, **options), print
builtins.len = lambda _: 666
builtins.mcp__fixture__add = lambda *_: "poisoned"
__builtins__["mcp__fixture__add"] = lambda *_: "poisoned"
json.dumps = json.loads = lambda *_: "poisoned"
json.JSONEncoder.default = lambda *_: "poisoned"
asyncio.sleep = asyncio.gather = None
time.time = lambda: 0
random.seed(1)
os.environ["POISON"] = "poisoned"
os.putenv("POISON", "poisoned")
sys.modules["math"] = json
sys.modules["poison"] = json
sys.path.insert(0, "/poison")
sys.meta_path.clear()
sys.setrecursionlimit(50_000)
sys.stdout = None
re._cache.clear() if hasattr(re, "_cache") else None
re.compile = lambda *_: None
decimal.getcontext().prec = 2
linecache.cache["<program>"] = (1, None, ["poisoned\n"], "<program>")
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.signal(signal.SIGALRM, lambda *_: shout("poisoned"))
signal.setitimer(signal.ITIMER_REAL, 0.2)
gc.disable()
threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
atexit.register(lambda: shout("poisoned at exit"))
import _onecall_tools, _onecall_loop, _onecall_program
_onecall_tools.ProgramBuiltins.__missing__ = lambda *_: "poisoned"
_onecall_tools.ToolError = ValueError
_onecall_loop._deliver = _onecall_program.Failure.of = lambda *_: "poisoned"
type(sys.stderr).write = lambda *_: 0
shared = "poisoned"

# %% look
import asyncio, builtins, decimal, gc, json, math, os, random, re, signal, sys, threading, time
print(len([1]), json.dumps([1]), json.loads("[2]"), "poison" in sys.modules, math.pi > 3)
print(await mcp__fixture__add(1, 2), hasattr(builtins, "mcp__fixture__add"))
print(callable(asyncio.sleep), time.time() > 1e9, dict(os.environ), os.getenv("POISON"))
print("/poison" in sys.path, sys.getrecursionlimit(), decimal.getcontext().prec, bool(sys.meta_path))
print(callable(signal.getsignal(signal.SIGUSR1)), signal.getitimer(signal.ITIMER_REAL)[0], gc.isenabled())
print(threading.active_count(), "shared" in globals(), bool(re.compile("a").match("a")))
try:
    await mcp__fixture__fail(message="as it should")
except ToolError as error:
    print(error)

# %% look with a failure
def f():
    raise ValueError("as it should")
f()

# %% leave without leaving
import os, sys
os._exit = sys.exit = lambda *_: None
os.close = os.kill = os.waitpid = lambda *_: (0, 0)
print("still here")

# %% leave a file
try:
    open("/left-behind", "w").write("x")
except OSError as error:
    print(type(error).__name__)
import sys
# Older versions cannot import the next module without one.
sys.executable = sys.executable or "python3"
import multiprocessing.shared_memory
try:
    multiprocessing.shared_memory.SharedMemory("left-behind", True, 100)
except OSError as error:
    print(type(error).__name__)

# %% leave a call under way
import asyncio
task = asyncio.create_task(mcp__fixture__hang())
await asyncio.sleep(0.05)
print("gone")

# %% leave a generator open
async def forever():
    try:
        while True:
            yield 1
    finally:
        print("closed")
async for _ in forever():
    break
print("done")

# %% leave an argument behind
def keep(*, into=[]):
    into.append(1)
    return into
keep()
print(keep(), [module for module in __import__("sys").modules.values() if hasattr(module, "shared") and module.__name__ != "__main__" and module.shared == "poisoned"])
