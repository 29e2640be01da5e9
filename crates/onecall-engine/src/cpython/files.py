"""What the scratch folder of a program needs beside the files that the kernel opens for it."""

import importlib.machinery
import os
import sys
import urllib.parse

_PLACE = "/tmp"


class _SqliteFinder:
    """Finds `sqlite3.dbapi2` as ever, and replaces a function of it once it is loaded."""

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
    """SQLite locks its files, which programs may not: those of others could be locked as well. Nobody
    else has those of a scratch folder, so there it can do without."""

    def sqlite_connect(database, *arguments, **options):
        # The last argument that may come without a name is `uri`.
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
    # Programs begin in their workspace, which may be inside.
    workspace = os.getcwd()
    in_workspace = workspace != "/" and path.startswith(workspace + "/")
    return path.startswith(_PLACE + "/") and not in_workspace


def show_scratch():
    """Called once, before the first program that has a scratch folder."""
    sys.meta_path.insert(0, _SqliteFinder)
