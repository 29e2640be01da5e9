"""Reports what this interpreter is, as JSON. It is started without `site`, so that code which a
virtual environment executes at the start of Python runs here, inside the complete sandbox."""

import json
import os
import platform
import sys
import types

NEEDED = "ctypes", "resource"

with os.fdopen(int(sys.argv[1])) as stream:
    setup = json.load(stream)


def importable(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def lock():
    """Builds the wall that the process before this interpreter could not build."""
    name, file, source = setup["modules"][0]
    sandbox = types.ModuleType(name)
    exec(compile(source, file, "exec", dont_inherit=True), vars(sandbox))
    sandbox.configure(setup)
    sandbox.lock(())


def describe():
    return {
        "implementation": platform.python_implementation(),
        "version": sys.version_info[:3],
        "lacks": [module for module in NEEDED if not importable(module)],
    }


found = describe()
if not found["lacks"]:
    # The code that follows may print, which must not mix with the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    import site

    lock()
    site.main()
    found = describe()
    sys.stdout = answer
print(json.dumps(found))
