"""Loads the bootstrap into the system's interpreter and runs its zygote."""

import json
import os
import sys
import types

with os.fdopen(int(sys.argv[1])) as stream:
    setup = json.load(stream)

# Only the interpreter needs it.
del os.environ["PYTHONHASHSEED"]


def load(name, file, source):
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return module


modules = [load(*module) for module in setup.pop("modules")]
sys.modules["_onecall"].configure(setup)
modules[-1].serve()
