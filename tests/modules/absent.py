# What of PUBLIC_NAMES, lines of a module and its names, this interpreter lacks.
import importlib


def has(module, name):
    if hasattr(module, name):
        return True
    try:
        importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return False
    return True


for line in PUBLIC_NAMES.splitlines():
    name, _, names = line.partition(":")
    try:
        module = importlib.import_module(name)
    except ImportError:
        print(name)
        continue
    for missing in names.split():
        if not has(module, missing):
            print(f"{name}.{missing}")
