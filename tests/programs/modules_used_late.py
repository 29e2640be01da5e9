# Modules that an interpreter may load late: each way to reach them finds a whole module.
import asyncio
import inspect
import ipaddress
import logging
import subprocess
import sys
import threading
import tokenize
import types
import uuid
from asyncio import *
from asyncio import StreamReader as Reader
from concurrent.futures import ThreadPoolExecutor
from logging import DEBUG, getLogger

names = ["inspect", "ipaddress", "logging", "subprocess", "tokenize", "uuid"]
print([isinstance(sys.modules[name], types.ModuleType) for name in names])
print([repr(sys.modules[name]).split()[1] for name in names])
print([name for name, module in sys.modules.items() if hasattr(module, "no_such_name")])


def area(width: float, height: float = 1.0, *, unit="m") -> str:
    """An area."""
    return f"{width * height} {unit}"


async def later():
    return 1


print(inspect.signature(area), inspect.iscoroutinefunction(later), inspect.getdoc(area))
print(inspect.CO_COROUTINE & later.__code__.co_flags != 0, inspect.isfunction(area))

# A module is changed before anything of it was read.
logging.raiseExceptions = False
print(logging.raiseExceptions, "raiseExceptions" in dir(logging), DEBUG)
log = getLogger("late")
log.setLevel(DEBUG)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
log.addHandler(handler)
log.propagate = False
log.debug("read %d rows", 3)
print(getLogger("late") is logging.getLogger("late"), getLogger("asyncio").name)

# Many threads use a module for the first time at once.
start = threading.Barrier(8)


def parse(number):
    start.wait()
    return ipaddress.ip_address(f"10.0.0.{number}") + 1


with ThreadPoolExecutor(8) as pool:
    print(*pool.map(parse, range(8)))

print(uuid.UUID(int=7), uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.uuid4().version)
print(subprocess.PIPE, issubclass(subprocess.CalledProcessError, Exception))
print(tokenize.tok_name[1])
words = tokenize.generate_tokens(iter(["a = 1\n"]).__next__)
print([token.string for token in words if token.string.strip()])

print(Reader is StreamReader is asyncio.StreamReader is asyncio.streams.StreamReader)
print({"StreamReader", "create_subprocess_exec", "open_connection", "gather"} <= set(dir(asyncio)))
print(asyncio.subprocess.PIPE, callable(create_subprocess_shell), callable(asyncio.start_server))
reader = Reader()
reader.feed_data(b"first\nsecond")
reader.feed_eof()
print(await reader.readline(), await reader.read())
try:
    asyncio.no_such_name
except AttributeError as error:
    print(error)
