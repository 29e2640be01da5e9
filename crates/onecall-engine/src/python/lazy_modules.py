"""Modules of the standard library that are imported when something of them is first used.

`asyncio` imports what servers, child processes and colours of a terminal need, and few programs use that. Without
it, a zygote starts sooner and takes less memory, and so do its workers. What imports such a module while the zygote
starts gets a stand-in; a program that imports the module gets the module itself.
"""

import sys
from _frozen_importlib import FrozenImporter
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
    """The theme for a text without colours, as tracebacks are; for any other, the module is imported."""
    if force_no_color:
        return SimpleNamespace(traceback=NoColours())
    module = import_module("_colorize")
    return module.get_theme(tty_file=tty_file, force_color=force_color)


class Logger:
    """The logger of a module of the library, until `logging` is imported."""

    def __init__(self, name):
        vars(self)["name"] = name

    def __getattr__(self, name):
        return getattr(import_module("logging").getLogger(self.name), name)

    def __setattr__(self, name, value):
        setattr(import_module("logging").getLogger(self.name), name, value)


def markcoroutinefunction(function):
    function = getattr(function, "__func__", function)
    function._is_coroutine_marker = MARK
    return function


# Marks functions that return coroutines, in the module `inspect`.
MARK = object()

# The modules, and what their stand-ins have: what other modules or the bootstrap use while they are imported, and
# what most programs need.
LAZY = {
    "_colorize": {"get_theme": get_theme},
    "inspect": {
        "CO_OPTIMIZED": 1,
        "CO_NEWLOCALS": 2,
        "CO_COROUTINE": 128,
        "markcoroutinefunction": markcoroutinefunction,
    },
    "ipaddress": {},
    "logging": {"DEBUG": 10, "getLogger": Logger},
    "subprocess": {"PIPE": -1, "STDOUT": -2, "DEVNULL": -3},
    "tokenize": {},
    "uuid": {},
    "asyncio.sslproto": {},
    "asyncio.staggered": {},
    "asyncio.trsock": {},
    **{f"asyncio.{name}": {"__all__": ()} for name in ASYNCIO},
}


# What a module gets when it is imported, because its stand-in had it, by the name of the module.
KEPT = {"inspect": {"_is_coroutine_mark": MARK}, "logging": {}}


class StandIn(ModuleType):
    """What a module of the library has in the place of a module that it imported while the zygote started."""

    def __getattr__(self, name):
        # The import system asks for what it may lack.
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)

    def __setattr__(self, name, value):
        ModuleType.__setattr__(self, name, value)
        if not name.startswith("__"):
            KEPT.setdefault(self.__name__, {})[name] = value
            module = sys.modules.get(self.__name__, self)
            if module is not self:
                setattr(module, name, value)


class StandInImporter:
    """Gives stand-ins to what imports a lazy module while the zygote starts."""

    def __init__(self):
        self.stand_ins = {}

    def find_spec(self, name, path=None, target=None):
        if name not in LAZY or name in self.stand_ins:
            return None
        spec = FrozenImporter.find_spec(name)
        spec.loader = self
        return spec

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        self.stand_ins[module.__name__] = module
        vars(module).update(LAZY[module.__name__])


class LateImporter:
    """Imports a module that has to fit what was done with its stand-in."""

    def find_spec(self, name, path=None, target=None):
        if name not in KEPT:
            return None
        spec = FrozenImporter.find_spec(name)
        spec.loader = self
        return spec

    def create_module(self, spec):
        return FrozenImporter.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = FrozenImporter
        # As if the zygote had imported it: the program observes nothing of that.
        sys.modules["_onecall_observations"].unobserved(FrozenImporter.exec_module, module)
        vars(module).update(KEPT[module.__name__])
        if module.__name__ == "logging":
            replace_loggers(module)


def replace_loggers(logging):
    """Gives the library its loggers."""
    for name, module in [*sys.modules.items()]:
        if name.startswith(("asyncio.", "concurrent.futures.")):
            for key, value in [*vars(module).items()]:
                if type(value) is Logger:
                    setattr(module, key, logging.getLogger(value.name))


importer = StandInImporter()


def begin():
    """From now on, what imports a lazy module gets a stand-in."""
    sys.meta_path.insert(0, importer)
    # It does not exist here. Every module that asks for it would load half of it to find that out.
    sys.modules["ssl"] = None
    import asyncio

    del sys.modules["ssl"]
    # What `asyncio` gets from the modules below it.
    modules = {name: module for module, names in ASYNCIO.items() for name in names}
    get_other = asyncio.__getattr__

    def __getattr__(name):
        if f"asyncio.{name}" in LAZY:
            return import_module(f"asyncio.{name}")
        if name in modules:
            value = getattr(import_module(f"asyncio.{modules[name]}"), name)
            setattr(asyncio, name, value)
            return value
        if name == "DefaultEventLoopPolicy":
            # The function looks for the module among the names of `asyncio`.
            import_module("asyncio.unix_events")
        return get_other(name)

    def __dir__():
        return sorted({*vars(asyncio), *modules})

    asyncio.__getattr__, asyncio.__dir__ = __getattr__, __dir__
    asyncio.__all__ += tuple(modules)


def end():
    """From now on, an import gets the module itself."""
    sys.meta_path[sys.meta_path.index(importer)] = LateImporter()
    for name, module in importer.stand_ins.items():
        # One that was used by now has given its place to the module.
        if sys.modules.get(name) is module:
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if parent:
                delattr(sys.modules[parent], child)
    # Only what has been imported by now needed these.
    del importer.stand_ins["logging"].getLogger


begin()
