# Modules that the library itself may have put off: a program that imports them gets whole modules, in every way.
import asyncio
import importlib
import sys

# A logger of the library is used before `logging` is imported.
asyncio.log.logger.propagate = False
import logging

print(asyncio.log.logger is logging.getLogger("asyncio"), asyncio.log.logger.propagate)
print(isinstance(logging.getLogger("concurrent.futures"), logging.Logger))

# A function is replaced by one that calls it.
get_logger = logging.getLogger
logging.getLogger = lambda name=None: get_logger(name)
print(logging.getLogger("late").name)
logging.getLogger = get_logger


def public_names(module):
    names = {}
    exec(f"from {module} import *", names)
    return names


for module, name in [
    ("ipaddress", "ip_address"),
    ("subprocess", "run"),
    ("inspect", "signature"),
    ("tokenize", "generate_tokens"),
    ("uuid", "uuid4"),
    ("asyncio", "StreamReader"),
    ("asyncio.streams", "StreamReader"),
    ("asyncio.subprocess", "create_subprocess_exec"),
]:
    print(module, name in public_names(module))

import ipaddress
import uuid
from asyncio import subprocess as processes
from asyncio.streams import StreamReader

print(StreamReader is asyncio.StreamReader is asyncio.streams.StreamReader)
print(processes is sys.modules["asyncio.subprocess"] is asyncio.subprocess)
print("uuid4" in vars(uuid), bool(ipaddress.__doc__), type(uuid) is type(sys))
print(importlib.reload(ipaddress).ip_address("10.0.0.1") + 1)
del uuid.uuid4
print(hasattr(uuid, "uuid4"))
# Whoever asks every module for something finds the list of modules as it was.
print([name for name, module in sys.modules.items() if hasattr(module, "no_such_name")])


async def later():
    return 1


import inspect

print(inspect.iscoroutinefunction(later), inspect.iscoroutinefunction(print))
print(asyncio.DefaultEventLoopPolicy.__name__.endswith("EventLoopPolicy"))
