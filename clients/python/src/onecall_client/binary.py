"""Finds the `onecall` executable."""

from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Optional

from .errors import BinaryNotFound

VARIABLE = "ONECALL_BIN"


def find_binary(given: Optional[os.PathLike] = None) -> str:
    """The executable: as given, else `$ONECALL_BIN`, else on `PATH`, else beside this Python."""
    wanted, source = given, "the argument 'binary'"
    if wanted is None:
        wanted, source = os.environ.get(VARIABLE) or None, f"${VARIABLE}"
    if wanted is None:
        wanted, source = "onecall", "PATH"
    found = shutil.which(os.fspath(wanted))
    if found is None and source == "PATH":
        # `pip install` puts it there; a virtual environment that is not activated is not on `PATH`.
        found = shutil.which(wanted, path=sysconfig.get_path("scripts"))
    if found is None:
        raise BinaryNotFound(
            f"no executable {os.fspath(wanted)!r} (from {source}): install onecall, "
            f"or name it with the argument 'binary' or ${VARIABLE}"
        )
    return found
