"""Says what an interpreter is and where its files are; run by the gateway, as JSON."""

import json
import os
import platform
import sys

NEEDED = "ctypes", "resource"


def importable(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
below = "lib", "lib64", "pyvenv.cfg"
paths = [os.path.join(prefix, part) for prefix in prefixes for part in below]
paths += [path for path in sys.path if os.path.isabs(path)]
paths.append(os.path.realpath(sys.executable))
print(
    json.dumps(
        {
            "implementation": platform.python_implementation(),
            "version": sys.version_info[:3],
            "executable": sys.executable,
            "paths": sorted({path for path in paths if os.path.exists(path)}),
            "lacks": [module for module in NEEDED if not importable(module)],
        }
    )
)
