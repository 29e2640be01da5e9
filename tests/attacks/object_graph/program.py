{{attempt}}
import gc, io, os, warnings
from subprocess import Popen

def every_class():
    seen, rest = set(), [().__class__.__base__]
    while rest:
        parent = rest.pop()
        if parent not in seen:
            seen.add(parent)
            rest.extend(type.__subclasses__(parent))
    return seen

classes = every_class()
print("more than a hundred classes:", len(classes) > 100)

def named(name):
    return next(each for each in classes if each.__name__ == name)

def through_globals(name):
    for each in classes:
        for member in vars(each).values():
            found = getattr(member, "__globals__", {})
            if name in found:
                return found[name]
    raise LookupError(name)

SECRET = "{{secret_file}}"
PROBE = "{{probe}}/object_graph"

attempt("FileIO by its class", lambda: named("FileIO")(SECRET).read())
attempt("FileIO to write", lambda: named("FileIO")(PROBE, "w").write(b"x"))
attempt("a loader's data", lambda: named("FileLoader")("x", SECRET).get_data(SECRET))
attempt("Popen by its class", lambda: named("Popen")(["/bin/sh", "-c", "id"]).wait())
attempt("a socket by its class", lambda: named("socket")().connect(("127.0.0.1", {{tcp_port}})))
attempt("os through a function's globals", lambda: through_globals("os").open(PROBE, os.O_CREAT | os.O_WRONLY))
attempt("sys through a function's globals", lambda: through_globals("sys").modules["posix"].open(SECRET, 0))
attempt("a module through another", lambda: warnings.__dict__["sys"].modules["io"].open(SECRET))
attempt("a function's builtins", lambda: (lambda: 0).__builtins__["open"](SECRET))
attempt("a generator's frame", lambda: (x for x in ()).gi_frame.f_builtins["open"](SECRET))
attempt("a shell through a function's globals", lambda: through_globals("os").system(f"touch {PROBE}"))
print("a format that walks:", "{0.__globals__[os].environ}".format(every_class))
streams = [each for each in gc.get_objects() if isinstance(each, (io.IOBase, named("socket")))]
print("open files and sockets:", [each.fileno() for each in streams if type(each).__name__ == "socket" and each.fileno() >= 0])
