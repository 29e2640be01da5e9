"""Replaces the client libraries of language models by empty modules.

AgentDojo imports all of them, which takes longer than many of its tasks. Nothing here asks a model.
"""

import importlib.abc
import importlib.machinery
import sys

LIBRARIES = {"anthropic", "cohere", "openai", "transformers", "vertexai"}


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of these libraries. What is imported from one is an empty class."""

    def find_spec(self, name, path=None, target=None):
        is_google = name == "google.genai" or name.startswith("google.genai.")
        if name.partition(".")[0] in LIBRARIES or is_google:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module):
        def named(name):
            if not name[0].isupper():
                # A module, which this finder is asked for next.
                raise AttributeError(name)
            return type(name, (), {})

        module.__getattr__ = named


def replace():
    """Has the libraries replaced in all later imports."""
    sys.meta_path.insert(0, EmptyModules())
