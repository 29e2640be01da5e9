import os, socket, stat, struct, threading

def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

*_, files = [fd for fd in range(3, 64) if is_socket(fd)]
files = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=files)

# The number of /tools; 0 would be a workspace.
TOOLS = 1

def place(path, folder=TOOLS):
    return struct.pack("<BH", folder, len(path)) + path

def open_request(path, flags=0, folder=TOOLS):
    return b"o" + struct.pack("<II", flags, 0o666) + place(path, folder)

def ask(request):
    files.send(request)
    answer, descriptors, _, _ = socket.recv_fds(files, 8192, 4)
    if answer[:1] == b"F":
        return os.strerror(struct.unpack_from("<i", answer, 1)[0])
    return f"GAINED {answer[:60]} {[os.read(fd, 20) for fd in descriptors]}"

def wait():
    threading.Event().wait()

# %% paths that lead out
for path in [b"/etc/passwd", b"../../../../../../etc/passwd", b"fixture/../../../etc/passwd", b"..", b"/", b"", b"/proc/self/environ", b"fixture/../..", b"//etc/passwd", b"./" * 2000 + b"../x"]:
    print(path[:30], ask(open_request(path)), ask(b"s" + struct.pack("<I", 1) + place(path)), ask(b"d" + place(path)), ask(b"l" + place(path)), ask(b"e" + place(path)), ask(b"a" + struct.pack("<I", 0) + place(path)), sep=" | ")

# %% changes to what is read-only
for flags in os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, 3, 0o20200002, 0xffffffff:
    print(oct(flags), ask(open_request(b"fixture/add.pyi", flags)), ask(open_request(b"new", flags)), sep=" | ")
print(ask(b"k" + struct.pack("<I", 0o777) + place(b"new")), ask(b"r" + place(b"fixture/add.pyi")), ask(b"x" + place(b"fixture")), ask(b"n" + place(b"fixture") + place(b"other")), ask(b"w" + place(b"fixture")), sep=" | ")

# %% flags that ask for more than a file
for flags in 0o10000000, 0o200000, 0o40000, 0o2000000:
    print(oct(flags), ask(open_request(b"fixture", flags)), ask(open_request(b".", flags)), sep=" | ")

# %% a folder that is not there
files.send(open_request(b"x", folder=0))
wait()

# %% a scratch folder that the text does not name
files.send(open_request(b"x", os.O_CREAT | os.O_WRONLY, folder=2))
wait()

# %% out of a scratch folder
# The text names /tmp.
SCRATCH = 2
open("/tmp/x", "w").close()
for path in [b"/etc/passwd", b"../etc/passwd", b"x/../../etc/passwd", b"..", b"/", b"", b"/proc/self/environ", b"//etc/passwd"]:
    print(path[:30], ask(open_request(path, folder=SCRATCH)), ask(open_request(path, os.O_CREAT | os.O_RDWR, folder=SCRATCH)), ask(b"s" + struct.pack("<I", 1) + place(path, SCRATCH)), ask(b"d" + place(path, SCRATCH)), ask(b"e" + place(path, SCRATCH)), ask(b"k" + struct.pack("<I", 0o777) + place(path, SCRATCH)), ask(b"x" + place(path, SCRATCH)), ask(b"p" + struct.pack("<I", 0o777) + place(path, SCRATCH)), sep=" | ")
print(ask(b"n" + place(b"x", SCRATCH) + place(b"x", TOOLS)), ask(b"n" + place(b"fixture", TOOLS) + place(b"y", SCRATCH)), ask(b"p" + struct.pack("<I", 0o777) + place(b"fixture", TOOLS)), sep=" | ")
print(ask(open_request(b"x", 0o20200002, SCRATCH)), ask(open_request(b".", 0o20200002, SCRATCH)), ask(open_request(b".", 0o10000000, SCRATCH)), sep=" | ")

# %% a folder far away
files.send(open_request(b"x", folder=200))
wait()

# %% garbage
files.send(b"GET / HTTP/1.1\r\n\r\n")
wait()

# %% an unknown kind
files.send(b"?")
wait()

# %% a NUL in a path
files.send(open_request(b"a\0b"))
wait()

# %% a path that is too long
files.send(open_request(b"x" * 5000))
wait()

# %% a path longer than its packet
files.send(b"o" + struct.pack("<IIBH", 0, 0, TOOLS, 60000) + b"x")
wait()

# %% a long packet
files.send(b"o" * 100_000)
wait()

# %% more names of nothing
files.send(b"m")
wait()

# %% a hundred thousand requests whose answers are not read
for _ in range(100_000):
    files.send(open_request(b"fixture/add.pyi"))
wait()

# %% requests without end
while True:
    ask(open_request(b"fixture/add.pyi"))

# %% descriptors sent along
read, write = os.pipe()
for _ in range(100):
    socket.send_fds(files, [open_request(b"nope")], [write] * 20)
    files.recv(100)
print("still here")

# %% nothing at all
files.send(b"")
try:
    open("/tools/fixture/add.pyi")
except OSError as error:
    print(type(error).__name__)
print(await mcp__fixture__add(1, 2))

# %% closed
files.close()
try:
    open("/tools/fixture/add.pyi")
except OSError as error:
    print(type(error).__name__)
print(await mcp__fixture__add(1, 2))

# %% an answer stolen
files.send(open_request(b"nope"))
try:
    print(open("/tools/fixture/add.pyi"))
except OSError as error:
    print(type(error).__name__)
print(await mcp__fixture__add(1, 2))

# %% the calls the kernel would answer
import _onecall_files
for name, call in {
    "open": lambda: _onecall_files._native_open("/etc/passwd"),
    "stat": lambda: _onecall_files._native_stat("/etc/passwd"),
    "stat of the root": lambda: _onecall_files._native_stat("/"),
    "FileIO": lambda: _onecall_files._NativeFileIO("/etc/passwd"),
    "truncate": lambda: _onecall_files._native_truncate("/etc/passwd", 0),
}.items():
    try:
        print(name, "GAINED", call())
    except OSError as error:
        print(name, type(error).__name__)
