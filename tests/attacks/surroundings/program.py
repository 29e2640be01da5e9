{{attempt}}
import gc, os, platform, socket, stat, struct, sys, threading

print("environment:", dict(os.environ))
print("getenv:", os.getenv("GATEWAY_SECRET"), os.getenv("HOME"), os.getenv("PATH"))

def environment_of_libc():
    import ctypes
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    environment = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    print("libc's getenv:", libc.getenv(b"GATEWAY_SECRET"), libc.getenv(b"PATH"))
    print("libc's environment:", bool(environment) and environment[0])
    raise LookupError("nothing")

attempt("libc's environment", environment_of_libc)
print("arguments:", sys.argv, getattr(sys, "orig_argv", None))
print("executable:", sys.executable, sys.flags.isolated)
print("path:", [path for path in sys.path if os.path.exists(path)])
print("stdin:", repr(sys.stdin.read()), repr(sys.__stdin__.read()))
attempt("input", input)

def kind(fd):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return None
    kinds = {stat.S_ISSOCK: "socket", stat.S_ISFIFO: "pipe", stat.S_ISREG: "file", stat.S_ISDIR: "folder", stat.S_ISCHR: "device"}
    return next((name for test, name in kinds.items() if test(mode)), "other")

print("descriptors:", {fd: kind(fd) for fd in range(1024) if kind(fd)})
attempt("/proc/self/fd", lambda: os.listdir("/proc/self/fd"))
for fd in 0, 1, 2:
    print(f"read of {fd}:", os.read(fd, 10))
    attempt(f"terminal of {fd}", lambda: os.ttyname(fd))
attempt("the process at the other end", lambda: struct.unpack("3i", socket.socket(fileno=os.dup(3)).getsockopt(socket.SOL_SOCKET, 17, 12)))
print("user:", os.getuid(), os.geteuid(), os.getgid(), os.getgroups() in ([], [65534]))
print("parent:", os.getppid())
print("working directory:", os.getcwd())
print("number:", threading.main_thread().native_id == os.getpid())
print("machine:", platform.node(), os.uname().nodename, repr(platform.release()), repr(platform.version()))
attempt("load", os.getloadavg)
print("secrets in memory:", [text for text in gc.get_objects() if isinstance(text, str) and "secret-of-" in text])
print("a secret in a string of any module:", [name for name, module in list(sys.modules.items()) for value in list(getattr(module, "__dict__", {}).values()) if isinstance(value, (str, bytes)) and "secret-of-" in str(value)])
