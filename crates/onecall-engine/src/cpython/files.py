"""Supports the scratch folder of programs on the system's Python, where the kernel opens files."""

import importlib.machinery
import os
import sys
import urllib.parse

_SCRATCH_PATH = "/tmp"


class _SqliteFinder:
    """Finds `sqlite3.dbapi2` as usual, and replaces one of its functions when it is loaded."""

    NAME = "sqlite3.dbapi2"

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != cls.NAME:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                module.connect = _without_locks(module.connect)

            spec.loader.exec_module = exec_module
        return spec


def _without_locks(connect):
    """Disables file locks of SQLite in the scratch folder. Programs may not lock files, because
    those of others could be locked as well; the scratch folder is not shared, so locks are not
    needed there."""

    def sqlite_connect(database, *arguments, **options):
        # The last positional argument is `uri`.
        is_uri = options.get("uri") or len(arguments) > 6
        if not is_uri and _is_in_scratch(database):
            path = os.path.abspath(os.fsdecode(database))
            database = f"file:{urllib.parse.quote(path)}?nolock=1"
            options["uri"] = True
        return connect(database, *arguments, **options)

    sqlite_connect.__name__ = sqlite_connect.__qualname__ = "connect"
    sqlite_connect.__doc__ = connect.__doc__
    return sqlite_connect


def _is_in_scratch(database):
    try:
        path = os.fsdecode(database)
    except TypeError:
        return False
    if path in ("", ":memory:"):
        return False
    path = os.path.abspath(path)
    # The working directory is the workspace, which may be inside the scratch folder.
    workspace = os.getcwd()
    in_workspace = workspace != "/" and path.startswith(workspace + "/")
    return path.startswith(_SCRATCH_PATH + "/") and not in_workspace


def add_scratch():
    """Called once, before the first program that has a scratch folder."""
    sys.meta_path.insert(0, _SqliteFinder)
