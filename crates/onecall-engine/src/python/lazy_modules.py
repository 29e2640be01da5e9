"""Modules of the standard library that are loaded when something of them is first used.

`asyncio` imports what servers, child processes and colours of a terminal need, and few programs use that.
Without it, a zygote starts sooner and takes less memory, and so do its workers.
"""

import sys
from _frozen_importlib import FrozenImporter, _DeadlockError, _ModuleLockManager
from _thread import RLock, get_ident
from importlib import import_module
from types import ModuleType, SimpleNamespace

# What `asyncio` has from modules of its own that few programs use.
ASYNCIO = {
    "graph": (
        "capture_call_graph",
        "format_call_graph",
        "print_call_graph",
        "FrameCallGraphEntry",
        "FutureCallGraph",
    ),
    "streams": (
        "StreamReader",
        "StreamWriter",
        "StreamReaderProtocol",
        "open_connection",
        "start_server",
        "open_unix_connection",
        "start_unix_server",
    ),
    "subprocess": ("create_subprocess_exec", "create_subprocess_shell"),
    "unix_events": ("SelectorEventLoop", "EventLoop"),
}


class NoColours:
    """A theme in which nothing has a colour."""

    def __getattr__(self, name):
        return ""


def get_theme(*, tty_file=None, force_color=False, force_no_color=False):
    """The theme for a text without colours, as tracebacks are; for any other, the module is loaded."""
    if force_no_color:
        return SimpleNamespace(traceback=NoColours())
    load(sys.modules["_colorize"])
    return sys.modules["_colorize"].get_theme(tty_file=tty_file, force_color=force_color)


class Logger:
    """A logger of the library that is made when it has something to log."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return getattr(sys.modules["logging"].getLogger(self._name), name)


def get_logger(name=None):
    if name in ("asyncio", "concurrent.futures"):
        return Logger(name)
    load(sys.modules["logging"])
    return sys.modules["logging"].getLogger(name)


def markcoroutinefunction(function):
    function = getattr(function, "__func__", function)
    function._is_coroutine_marker = MARK
    return function


# Marks functions that return coroutines, in the module `inspect`.
MARK = object()

# The modules, and what they have before they are loaded: what other modules or the bootstrap use while they are
# imported, and what most programs need.
LAZY = {
    "_colorize": {"get_theme": get_theme},
    "inspect": {
        "CO_OPTIMIZED": 1,
        "CO_NEWLOCALS": 2,
        "CO_COROUTINE": 128,
        "markcoroutinefunction": markcoroutinefunction,
    },
    "ipaddress": {},
    "logging": {"DEBUG": 10, "getLogger": get_logger},
    "subprocess": {"PIPE": -1, "STDOUT": -2, "DEVNULL": -3},
    "tokenize": {},
    "uuid": {},
    "asyncio.sslproto": {},
    "asyncio.staggered": {},
    "asyncio.trsock": {},
    **{f"asyncio.{name}": {"__all__": ()} for name in ASYNCIO},
}

# What a module keeps when it is loaded, because it was used before.
KEPT = {"inspect": {"_is_coroutine_mark": MARK}}

# What modules have without naming it, besides constants: `tokenize` imports all that `token` has.
NOT_NAMED = {"tokenize": ("tok_name",)}

# The modules that are being loaded, each with the thread that loads it.
_loading = {}

# What modules name, of those that were asked for an attribute. The lock is held to add one.
_names = {}
_reading = RLock()


class LazyModule(ModuleType):
    """A module that is loaded when an attribute of it is used that it does not have yet, or one is set."""

    def __getattribute__(self, name):
        value = ModuleType.__getattribute__(self, name)
        if ModuleType.__getattribute__(self, "__name__") not in _loading:
            return value
        # What is there by now may need what is not.
        load(self)
        return ModuleType.__getattribute__(self, name)

    def __getattr__(self, name):
        # Who asks all modules for an attribute does not load them: that would change `sys.modules` meanwhile.
        if may_have(self.__name__, name):
            load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name, value):
        load(self)
        ModuleType.__setattr__(self, name, value)

    def __dir__(self):
        load(self)
        return ModuleType.__dir__(self)


def may_have(module, name):
    """Whether a module may have this attribute when it is loaded."""
    # One thread at a time: decoding takes memory.
    with _reading:
        if module not in _names:
            _names[module] = {*FrozenImporter.get_code(module).co_names, *NOT_NAMED.get(module, ())}
    return name in _names[module] or name.isupper()


def load(module):
    """Loads a module, unless that was done before or this thread is loading it; waits for another thread that is."""
    name = ModuleType.__getattribute__(module, "__name__")
    if _loading.get(name) == get_ident():
        return
    try:
        # Imports take the same lock, so that no two threads wait for each other.
        with _ModuleLockManager(name):
            if type(module) is LazyModule:
                load_now(module, name)
    except _DeadlockError:
        # The other thread waits for this one, which therefore goes on with what is there, as imports do.
        pass


def load_now(module, name):
    _loading[name] = get_ident()
    try:
        FrozenImporter.exec_module(module)
        vars(module).update(KEPT.get(name, ()))
        ModuleType.__setattr__(module, "__class__", ModuleType)
    finally:
        del _loading[name]


class LazyImporter:
    """Finds the lazy modules, in the place of the importer that would load them."""

    def find_spec(self, name, path=None, target=None):
        if name not in LAZY:
            return None
        spec = FrozenImporter.find_spec(name)
        spec.loader = self
        return spec

    def create_module(self, spec):
        return FrozenImporter.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = FrozenImporter
        vars(module).update(LAZY[module.__name__])
        module.__class__ = LazyModule


def import_lazily():
    """Imports the lazy modules, and `asyncio` with them."""
    importer = LazyImporter()
    sys.meta_path.insert(0, importer)
    for name in LAZY:
        if "." not in name:
            import_module(name)
    # It does not exist here. Every module that asks for it would load half of it to find that out.
    sys.modules["ssl"] = None
    import asyncio

    del sys.modules["ssl"]
    sys.meta_path.remove(importer)

    modules = {name: module for module, names in ASYNCIO.items() for name in names}
    get_other = asyncio.__getattr__

    def __getattr__(name):
        module = modules.get(name)
        if module is None:
            return get_other(name)
        value = getattr(getattr(asyncio, module), name)
        setattr(asyncio, name, value)
        return value

    def __dir__():
        return sorted({*vars(asyncio), *modules})

    asyncio.__getattr__, asyncio.__dir__ = __getattr__, __dir__
    asyncio.__all__ += tuple(modules)


import_lazily()
