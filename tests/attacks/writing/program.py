{{attempt}}
import ctypes, logging, logging.handlers, os, pathlib, shelve, shutil, tempfile

PROBE = "{{probe}}"
MARK = "{{mark}}"
SECRET = "{{secret_file}}"

def write(path, mode="w"):
    with open(path, mode) as file:
        return file.write("x")

def by_descriptor(path, flags):
    descriptor = os.open(path, flags, 0o777)
    return os.write(descriptor, b"x")

shown = lambda text: text.replace(PROBE, "PROBE").replace(MARK, "MARK").replace(SECRET, "SECRET")

for path in [
    f"{PROBE}/plain",
    f"/tmp/{MARK}",
    f"/var/tmp/{MARK}",
    f"/dev/shm/{MARK}",
    f"/run/{MARK}",
    f"/{MARK}",
    MARK,
    f"./{MARK}",
    f"../{MARK}",
    f"/root/{MARK}",
    f"/usr/share/zoneinfo/{MARK}",
    "/usr/share/zoneinfo/UTC",
    f"/usr/share/zoneinfo/../../../{PROBE}/climb",
    f"/proc/self/root{PROBE}/plain",
    "/proc/self/oom_score_adj",
    "/proc/self/comm",
    "/proc/self/uid_map",
    "/proc/sys/kernel/core_pattern",
    "/proc/{{gateway_pid}}/mem",
    "/proc/{{gateway_pid}}/oom_score_adj",
    "/proc/sysrq-trigger",
    "/sys/fs/cgroup/cgroup.procs",
    "/dev/null",
    "/dev/full",
    "/dev/tty",
    "/dev/sda",
    "/etc/cron.d/onecall",
    SECRET,
    "{{config_file}}",
]:
    name = shown(path).replace("{{gateway_pid}}", "GATEWAY").replace("{{config_file}}", "CONFIG")
    attempt(f"write {name}", lambda: write(path))

attempt("a home", lambda: write(os.path.expanduser("~/" + MARK)))
attempt("append", lambda: write(SECRET, "a"))
attempt("exclusively", lambda: write(f"{PROBE}/new", "x"))
attempt("read and write", lambda: write(SECRET, "r+"))
for name in "O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND":
    attempt(f"os.open of a zone with {name}", lambda: by_descriptor("/usr/share/zoneinfo/UTC", getattr(os, name)))
attempt("a nameless file", lambda: by_descriptor("/usr/share/zoneinfo", os.O_RDWR | 0o20200000))
attempt("an access mode of 3", lambda: by_descriptor("/usr/share/zoneinfo/UTC", 3))
attempt("pathlib", lambda: pathlib.Path(PROBE, "path").write_text("x"))
attempt("touch", lambda: pathlib.Path(PROBE, "path").touch())
attempt("a folder", lambda: os.mkdir(f"{PROBE}/folder"))
attempt("folders", lambda: os.makedirs(f"{PROBE}/a/b/c"))
attempt("a symbolic link", lambda: os.symlink("/etc/passwd", f"{PROBE}/link"))
attempt("a hard link", lambda: os.link(SECRET, f"{PROBE}/hard"))
attempt("a hard link of a zone", lambda: os.link("/usr/share/zoneinfo/UTC", "/usr/share/zoneinfo/" + MARK))
attempt("a fifo", lambda: os.mkfifo(f"{PROBE}/fifo"))
attempt("a fifo by mknod", lambda: os.mknod(f"{PROBE}/fifo", 0o10666))
attempt("a device", lambda: os.mknod(f"{PROBE}/device", 0o60666, 0x801))
attempt("chmod", lambda: os.chmod(SECRET, 0o777))
attempt("chmod of a zone", lambda: os.chmod("/usr/share/zoneinfo/UTC", 0o777))
attempt("chown", lambda: os.chown(SECRET, 0, 0))
attempt("times", lambda: os.utime(SECRET, (0, 0)))
attempt("times of a zone", lambda: os.utime("/usr/share/zoneinfo/UTC", (0, 0)))
attempt("rename", lambda: os.rename(SECRET, f"{PROBE}/renamed"))
attempt("replace", lambda: os.replace("{{config_file}}", f"{PROBE}/renamed"))
attempt("remove", lambda: os.remove(SECRET))
attempt("remove a zone", lambda: os.remove("/usr/share/zoneinfo/UTC"))
attempt("remove a folder", lambda: os.rmdir(PROBE))
attempt("remove a tree", lambda: shutil.rmtree(PROBE))
attempt("truncate", lambda: os.truncate(SECRET, 0))
attempt("truncate a zone", lambda: os.truncate("/usr/share/zoneinfo/UTC", 0))
attempt("move", lambda: shutil.move(SECRET, PROBE))
attempt("copy", lambda: shutil.copyfile("/usr/share/zoneinfo/UTC", f"{PROBE}/zone"))
attempt("a temporary file", lambda: tempfile.NamedTemporaryFile(prefix=MARK).name)
attempt("a temporary file without a name", lambda: tempfile.TemporaryFile().fileno())
attempt("a temporary folder", lambda: tempfile.mkdtemp(prefix=MARK))
attempt("a temporary folder of choice", lambda: tempfile.mkdtemp(dir=PROBE))
attempt("a shelf", lambda: shelve.open(f"{PROBE}/shelf", "n"))
attempt("a database", lambda: __import__("sqlite3").connect(f"{PROBE}/database").execute("create table t (x)"))
attempt("a log", lambda: logging.FileHandler(f"{PROBE}/log"))
attempt("a log in turns", lambda: logging.handlers.RotatingFileHandler(f"{PROBE}/log"))
attempt("the system's log", lambda: logging.handlers.SysLogHandler("/dev/log"))
attempt("shared memory", lambda: __import__("multiprocessing.shared_memory").shared_memory.SharedMemory(MARK, True, 1 << 20))
attempt("a named semaphore", lambda: __import__("multiprocessing").Lock())
attempt("memory as a file", lambda: os.memfd_create("x"))
print("memory as a file by ctypes:", ctypes.CDLL(None).memfd_create(b"x", 0))
attempt("a compiled module", lambda: __import__("py_compile").compile("/usr/share/zoneinfo/UTC", f"{PROBE}/x.pyc", doraise=True))
attempt("an archive", lambda: __import__("zipfile").ZipFile(f"{PROBE}/zip", "w"))
attempt("a profile", lambda: __import__("faulthandler").dump_traceback(open(f"{PROBE}/trace", "w")))
attempt("a lock", lambda: __import__("fcntl").flock(os.open("/usr/share/zoneinfo/UTC", os.O_RDONLY), 2))

def fill(path):
    with open(path, "wb") as file:
        while True:
            file.write(bytes(1 << 20))

attempt("fill the disk", lambda: fill(f"{PROBE}/full"))
attempt("fill the root", lambda: fill("/full"))
