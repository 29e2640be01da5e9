{{attempt}}

# %% of every kind
import contextlib, importlib, importlib.machinery, importlib.util, io, sys

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

def pip():
    # Some distributions print what to do instead, and leave.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return __import__("ensurepip").bootstrap(root="{{probe}}")
        except SystemExit as left:
            raise RuntimeError(left)

attempt("pip", pip)

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

# %% foreign functions, dug out
import _imp, gc, importlib, importlib.machinery, sys

def called(module):
    address = module.dlsym(module.dlopen(None, 0), "getpid")
    return module.call_function(address, ())

def afresh():
    sys.modules.pop("_ctypes", None)
    return called(importlib.import_module("_ctypes"))

def class_of_ctypes():
    return next(it for it in gc.get_objects() + object.__subclasses__() if getattr(it, "__module__", "") == "_ctypes")

spec = importlib.machinery.ModuleSpec("_ctypes", importlib.machinery.BuiltinImporter)
attempt("imported", lambda: called(__import__("_ctypes")))
attempt("imported afresh", afresh)
attempt("imported again", lambda: called(__import__("_ctypes")))
attempt("loaded", lambda: called(importlib.machinery.BuiltinImporter.load_module("_ctypes")))
attempt("created", lambda: called(_imp.create_builtin(spec)))
attempt("kept by another module", lambda: called(sys.modules["_ctypes"]))
attempt("a class of it", class_of_ctypes)
attempt("through the types of shared memory", lambda: __import__("multiprocessing.sharedctypes"))
