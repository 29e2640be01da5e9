"""Lets the tests use the package of this folder, unless it is installed."""

import importlib.util
import os
import sys

if importlib.util.find_spec("onecall_client") is None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(os.path.dirname(here), "src"))
