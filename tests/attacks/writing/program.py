{{attempt}}
import importlib, logging, logging.handlers, os, pathlib, shelve, shutil

# A text that names it has a scratch folder; see the case of that name.
temporary = importlib.import_module("temp" + "file")

PROBE = "{{probe}}"
MARK = "{{mark}}"
SECRET = "{{secret_file}}"

def write(path, mode="w"):
    with open(path, mode) as file:
        return file.write("x")

shown = lambda text: text.replace(PROBE, "PROBE").replace(MARK, "MARK").replace(SECRET, "SECRET")

for path in [
    f"{PROBE}/plain",
    f"/\x74mp/{MARK}",
    f"/var/\x74mp/{MARK}",
    f"/dev/shm/{MARK}",
    f"/run/{MARK}",
    f"/{MARK}",
    MARK,
    f"./{MARK}",
    f"../{MARK}",
    f"/root/{MARK}",
    f"/usr/share/zoneinfo/{MARK}",
    f"/usr/share/zoneinfo/../../../{PROBE}/climb",
    f"/proc/self/root{PROBE}/plain",
    "/proc/self/oom_score_adj",
    "/proc/self/comm",
    "/proc/self/uid_map",
    "/proc/{{gateway_pid}}/mem",
    "/proc/{{gateway_pid}}/oom_score_adj",
    "/sys/fs/cgroup/cgroup.procs",
    "/dev/null",
    "/dev/full",
    "/dev/tty",
    f"/etc/{MARK}",
    SECRET,
    "{{config_file}}",
]:
    name = shown(path).replace("{{gateway_pid}}", "GATEWAY").replace("{{config_file}}", "CONFIG")
    attempt(f"write {name}", lambda: write(path))

attempt("a home", lambda: write(os.path.expanduser("~/" + MARK)))
attempt("append", lambda: write(SECRET, "a"))
attempt("exclusively", lambda: write(f"{PROBE}/new", "x"))
attempt("read and write", lambda: write(SECRET, "r+"))

# The zones are the one thing there is: nothing here would change them.
ZONE = "/usr/share/zoneinfo/UTC"
try:
    ABOUT = os.stat(ZONE)
except FileNotFoundError:
    # Not even that: time zones may be built in.
    ABOUT = os.stat_result((0o100644,) + (0,) * 9)
for name in "O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND":
    attempt(f"os.open of a zone with {name}", lambda: os.open(ZONE, getattr(os, name)))
attempt("os.open of a zone to be cut off", lambda: os.open(ZONE + MARK, os.O_TRUNC))
attempt("a nameless file", lambda: os.open("/usr/share/zoneinfo", os.O_RDWR | 0o20200000))
attempt("an access mode of 3", lambda: os.open(ZONE, 3))
attempt("pathlib", lambda: pathlib.Path(PROBE, "path").write_text("x"))
attempt("touch", lambda: pathlib.Path(PROBE, "path").touch())
attempt("a folder", lambda: os.mkdir(f"{PROBE}/folder"))
attempt("folders", lambda: os.makedirs(f"{PROBE}/a/b/c"))
attempt("a symbolic link", lambda: os.symlink("/etc/passwd", f"{PROBE}/link"))
attempt("a hard link", lambda: os.link(SECRET, f"{PROBE}/hard"))
attempt("a hard link of a zone", lambda: os.link(ZONE, ZONE + MARK))
attempt("a fifo", lambda: os.mkfifo(f"{PROBE}/fifo"))
attempt("a fifo by mknod", lambda: os.mknod(f"{PROBE}/fifo", 0o10666))
attempt("a device", lambda: os.mknod(f"{PROBE}/device", 0o60666, 0x801))
attempt("chmod", lambda: os.chmod(SECRET, 0o777))
attempt("chmod of a zone", lambda: os.chmod(ZONE, ABOUT.st_mode))
attempt("chown", lambda: os.chown(SECRET, 0, 0))
attempt("times", lambda: os.utime(SECRET, (0, 0)))
attempt("times of a zone", lambda: os.utime(ZONE, ns=(ABOUT.st_atime_ns or 0, ABOUT.st_mtime_ns or 0)))
attempt("rename", lambda: os.rename(SECRET, f"{PROBE}/renamed"))
attempt("replace", lambda: os.replace("{{config_file}}", f"{PROBE}/renamed"))
attempt("remove", lambda: os.remove(SECRET))
attempt("remove a zone", lambda: os.remove(ZONE + MARK))
attempt("rename a zone", lambda: os.rename(ZONE, ZONE))
attempt("remove a folder", lambda: os.rmdir(PROBE))
attempt("remove a tree", lambda: shutil.rmtree(PROBE))
attempt("truncate", lambda: os.truncate(SECRET, 0))
attempt("truncate a zone", lambda: os.truncate(ZONE, ABOUT.st_size))
attempt("move", lambda: shutil.move(SECRET, PROBE))
attempt("copy", lambda: shutil.copyfile("/usr/share/zoneinfo/UTC", f"{PROBE}/zone"))
attempt("a temporary file", lambda: temporary.NamedTemporaryFile(prefix=MARK).name)
attempt("a temporary file without a name", lambda: temporary.TemporaryFile().fileno())
attempt("a temporary folder", lambda: temporary.mkdtemp(prefix=MARK))
attempt("a temporary folder of choice", lambda: temporary.mkdtemp(dir=PROBE))
attempt("a shelf", lambda: shelve.open(f"{PROBE}/shelf", "n"))
attempt("a database", lambda: __import__("sqlite3").connect(f"{PROBE}/database").execute("create table t (x)"))
attempt("a log", lambda: logging.FileHandler(f"{PROBE}/log"))
attempt("a log in turns", lambda: logging.handlers.RotatingFileHandler(f"{PROBE}/log"))
attempt("shared memory", lambda: __import__("multiprocessing.shared_memory").shared_memory.SharedMemory(MARK, True, 1 << 20))
attempt("a named semaphore", lambda: __import__("_multiprocessing").SemLock.__new__.__closure__[0].cell_contents(1, 1, 1, f"/{MARK}", False))
attempt("memory as a file", lambda: os.memfd_create("x"))
attempt("memory as a file by ctypes", lambda: os.fstat(__import__("ctypes").CDLL(None).memfd_create(b"x", 0)))
attempt("a compiled module", lambda: __import__("py_compile").compile("/usr/share/zoneinfo/UTC", f"{PROBE}/x.pyc", doraise=True))
attempt("an archive", lambda: __import__("zipfile").ZipFile(f"{PROBE}/zip", "w"))
attempt("a profile", lambda: __import__("faulthandler").dump_traceback(open(f"{PROBE}/trace", "w")))
attempt("a lock", lambda: __import__("fcntl").flock(os.open("/usr/share/zoneinfo/UTC", os.O_RDONLY), 2))

def fill(path):
    with open(path, "wb") as file:
        for _ in range(100):
            file.write(bytes(1 << 20))

attempt("fill the disk", lambda: fill(f"{PROBE}/full"))
attempt("fill the root", lambda: fill("/" + MARK))
