{{attempt}}

# %% of every kind
import importlib, importlib.machinery, importlib.util, sys

def from_path(folder):
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("{{mark}}")
    finally:
        sys.path.remove(folder)

machinery = importlib.machinery
attempt("a module of the home", lambda: from_path("{{probe}}"))
attempt("a module of the working directory", lambda: from_path(""))
attempt("a secret as source", lambda: machinery.SourceFileLoader("stolen", "{{secret_file}}").get_data("{{secret_file}}"))
attempt("a library as an extension", lambda: machinery.ExtensionFileLoader("stolen", "/lib/x86_64-linux-gnu/libz.so.1").load_module("stolen"))
attempt("an archive", lambda: __import__("zipimport").zipimporter("{{config_file}}"))
attempt("a path to run", lambda: __import__("runpy").run_path("{{secret_file}}"))
attempt("a frozen module by another name", lambda: __import__("_imp").get_frozen_object("{{mark}}"))

def library(path):
    return __import__("ctypes").CDLL(path)

attempt("a library by path", lambda: library("/lib/x86_64-linux-gnu/libz.so.1"))
attempt("a library by name", lambda: library("libcrypt.so.1"))
attempt("a library of the home", lambda: library("{{probe}}/evil.so"))
attempt("pip", lambda: __import__("ensurepip").bootstrap(root="{{probe}}"))

def finder():
    class Finder:
        def find_spec(self, name, path=None, target=None):
            return importlib.util.spec_from_file_location(name, "{{secret_file}}")
    sys.meta_path.insert(0, Finder())
    try:
        return importlib.import_module("a_name_of_nothing")
    finally:
        sys.meta_path.pop(0)

attempt("a finder of its own", finder)

# %% found by the linker's tools
import ctypes.util
print(ctypes.util.find_library("{{mark}}"))
