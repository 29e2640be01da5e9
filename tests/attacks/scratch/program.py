{{attempt}}
import errno, os, pathlib, shutil, sys, tempfile

PROBE = "{{probe}}"
MARK = "{{mark}}"
SECRET = "{{secret_file}}"
CONFIG = "{{config_file}}"

def write(path, mode="w"):
    with open(path, mode) as file:
        return file.write("x")

def read(path):
    with open(path) as file:
        return file.read()

# What follows needs a folder to get out of.
try:
    write("/tmp/own")
except OSError:
    print("there is no folder")
    sys.exit()

# %% paths that lead out
print(os.listdir("/tmp"))
for path in [
    "/tmp/../etc/passwd",
    "/tmp/own/../../etc/passwd",
    "/tmp//../etc/passwd",
    "/tmp/./.././etc/passwd",
    "/tmp/../tmp/../etc/passwd",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/tmp/../proc/1/root/tmp",
    SECRET,
    CONFIG,
]:
    shown = path.replace(SECRET, "SECRET").replace(CONFIG, "CONFIG")
    attempt(f"read {shown}", lambda: read(path))
    attempt(f"write {shown}", lambda: write(path))
    attempt(f"see {shown}", lambda: os.stat(path))
for path in f"/var/tmp/{MARK}", f"/dev/shm/{MARK}", f"/{MARK}", f"/tmp/../{MARK}", f"/tmp/../var/tmp/{MARK}", f"{PROBE}/plain", MARK:
    attempt(f"write {path.replace(MARK, 'MARK').replace(PROBE, 'PROBE')}", lambda: write(path))
attempt("list the root", lambda: os.listdir("/tmp/.."))
attempt("list the host's", lambda: os.listdir(os.path.dirname(SECRET)))

# %% links
attempt("a symbolic link", lambda: os.symlink("/etc/passwd", "/tmp/link"))
attempt("a symbolic link to the root", lambda: pathlib.Path("/tmp/root").symlink_to("/"))
attempt("a hard link", lambda: os.link("/tmp/own", "/tmp/other"))
attempt("a hard link of the host's", lambda: os.link(SECRET, "/tmp/other"))
attempt("a hard link of the interpreter's", lambda: os.link(os.__file__, "/tmp/other"))
attempt("a fifo", lambda: os.mkfifo("/tmp/fifo"))
attempt("a device", lambda: os.mknod("/tmp/device", 0o60666, 0x801))
attempt("a socket", lambda: __import__("socket").socket(1).bind("/tmp/socket"))
attempt("a lock", lambda: __import__("fcntl").flock(os.open("/tmp/own", os.O_RDWR), 2))
attempt("a lock of a part", lambda: __import__("fcntl").lockf(os.open("/tmp/own", os.O_RDWR), 2))
attempt("an attribute", lambda: os.setxattr("/tmp/own", "user.x", b"x"))
attempt("an owner", lambda: os.chown("/tmp/own", 0, 0))
print(sorted(os.listdir("/tmp")))

# %% the folder itself
attempt("remove it", lambda: os.rmdir("/tmp"))
attempt("remove it as a tree", lambda: shutil.rmtree("/tmp"))
attempt("rename it", lambda: os.rename("/tmp", "/other"))
attempt("move something out", lambda: os.rename("/tmp", "/tmp/../x"))
write("/tmp/own")
attempt("move a file out", lambda: os.rename("/tmp/own", "/" + MARK))
attempt("move a file to the probe", lambda: shutil.move("/tmp/own", PROBE))
attempt("move the secret in", lambda: os.rename(SECRET, "/tmp/secret"))
attempt("move the interpreter's in", lambda: os.rename(os.__file__, "/tmp/os"))

# %% modes and times of others
library = os.path.dirname(os.__file__ or "/usr/share/zoneinfo/x")
for path in library, "/usr/share/zoneinfo", "/tools", "/", SECRET:
    shown = {library: "LIBRARY", SECRET: "SECRET"}.get(path, path)
    attempt(f"mode of {shown}", lambda: os.chmod(path, 0o777))
    attempt(f"times of {shown}", lambda: os.utime(path, (0, 0)))
    attempt(f"size of {shown}", lambda: os.truncate(path, 0))
for path in f"{library}/{MARK}", f"/usr/share/zoneinfo/{MARK}", f"/tools/{MARK}":
    attempt(f"write {path.replace(library, 'LIBRARY').replace(MARK, 'MARK')}", lambda: write(path))

# %% code
os.chmod("/tmp/own", 0o777)
attempt("execute it", lambda: os.execv("/tmp/own", ["own"]))
attempt("run it", lambda: __import__("subprocess").run(["/tmp/own"]))
def map_as_code():
    import mmap
    with open("/tmp/own", "r+b") as file:
        file.truncate(4096)
        return len(mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))
if sys.implementation.name == "cpython":
    # The other one maps nothing as code, whatever it is asked for.
    attempt("map it as code", map_as_code)
os.chmod("/tmp/own", 0o6777)
print(oct(os.stat("/tmp/own").st_mode & 0o777))

# %% files without end
def count(make):
    made = 0
    try:
        while made < 10**7:
            make(made)
            made += 1
    except OSError as error:
        return f"{made // 100 * 100} or more, then {errno.errorcode[error.errno]}"
print("files:", count(lambda n: write(f"/tmp/f{n}")))
shutil.rmtree("/tmp/d", ignore_errors=True)
for name in os.listdir("/tmp"):
    os.remove(f"/tmp/{name}")
print("long names:", count(lambda n: open("/tmp/" + f"{n:0255}", "w").close()))
for name in os.listdir("/tmp"):
    os.remove(f"/tmp/{name}")
print("folders:", count(lambda n: os.mkdir(f"/tmp/d{n}")))
print(len(os.listdir("/tmp")) > 900)

# %% folders in folders
path = "/tmp"
depth = 0
try:
    while depth < 10**6:
        path += "/" + "d" * 100
        os.mkdir(path)
        depth += 1
except OSError as error:
    print(depth, errno.errorcode[error.errno])
os.mkdir("/tmp/a")
try:
    # Deeper than any path can name.
    for n in range(10**6):
        os.mkdir("/tmp/b")
        os.rename("/tmp/a", "/tmp/b/a")
        os.rename("/tmp/b", "/tmp/a")
except OSError as error:
    print(n > 100, errno.errorcode[error.errno])

# %% more than there is
def fill(path, most):
    written = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while written < most:
                written += file.write(bytes(1 << 16))
    except OSError as error:
        return f"{written >> 20} MB, then {errno.errorcode[error.errno]}"
    return f"{written >> 20} MB"
print(fill("/tmp/a", 10**10))
print(fill("/tmp/b", 10**10))
os.remove("/tmp/a")
held = [open(f"/tmp/h{n}", "wb", buffering=0) for n in range(20)]
for n in range(20):
    os.remove(f"/tmp/h{n}")
written = 0
try:
    while True:
        for file in held:
            written += file.write(bytes(1 << 16))
except OSError as error:
    print(written >> 20, "MB without a name, then", errno.errorcode[error.errno])
blocks = []
try:
    while True:
        blocks.append(bytes(1 << 20))
except MemoryError:
    taken = len(blocks)
    blocks.clear()
# What the limit leaves to the interpreter, and one of its arenas, can be used as well.
print("all of it and", "not much" if taken < 200 else taken, "beside it")

# %% holes
with open("/tmp/holes", "wb", buffering=0) as file:
    for size in 10**6, 10**9, 10**12, 2**62:
        attempt(f"{size} bytes of nothing", lambda: file.truncate(size))
    attempt("far away", lambda: (file.seek(10**12), file.write(b"x")))
print(os.stat("/tmp/holes").st_blocks)

# %% leave something
write(f"/tmp/{MARK}")
write(f"/tmp/{MARK}.pth")
tempfile.NamedTemporaryFile(prefix=MARK, delete=False).write(b"left")
tempfile.mkdtemp(prefix=MARK)
print(len(os.listdir("/tmp")))

# %% find something
print(os.listdir("/tmp"))

# %% end in the middle
held = open(f"/tmp/{MARK}", "wb")
held.write(bytes(1 << 20))
os._exit(1)
