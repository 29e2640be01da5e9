{{attempt}}
import glob, io, linecache, os, pathlib, shutil, sys, tokenize

SECRET = "{{secret_file}}"

def read(path):
    with open(path, "rb") as file:
        return file.read(100)

def by_descriptor(path, flags):
    descriptor = os.open(path, flags)
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)

def found(names):
    if not names:
        raise LookupError("nothing")
    return names

for path in [
    SECRET,
    "{{config_file}}",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/hostname",
    "/root/.ssh/id_rsa",
    "/root/.bash_history",
    "../../../../../../../.." + SECRET,
    "/usr/share/zoneinfo/../../.." + SECRET,
    "/usr/share/zoneinfo/./../../../etc/passwd",
    "/usr/share/zoneinfo/localtime/../../../../etc/passwd",
    "//etc//passwd",
    "/./etc/passwd",
    "/proc/self/environ",
    "/proc/self/maps",
    "/proc/self/mem",
    "/proc/self/cmdline",
    "/proc/self/exe",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/etc/passwd",
    "/proc/self/fd/3",
    "/proc/1/environ",
    "/proc/1/root" + SECRET,
    "/proc/{{gateway_pid}}/environ",
    "/proc/{{gateway_pid}}/cmdline",
    "/proc/{{gateway_pid}}/root" + SECRET,
    "/proc/{{gateway_pid}}/fd/0",
    "/proc/{{zygote_pid}}/environ",
    "/proc/{{zygote_pid}}/mem",
    "/proc/kcore",
    "/proc/kallsyms",
    "/proc/cpuinfo",
    "/proc/net/tcp",
    "/proc/sysrq-trigger",
    "/sys/kernel/security",
    "/sys/class/net/lo/address",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/zero",
    "/dev/random",
    "/dev/fd/3",
    "/dev/stdin",
    "/var/run/docker.sock",
    "/run/secrets/kubernetes.io/serviceaccount/token",
    b"/etc/passwd\xff",
]:
    name = str(path).replace(SECRET, "SECRET").replace("{{config_file}}", "CONFIG")
    name = name.replace("{{gateway_pid}}", "GATEWAY").replace("{{zygote_pid}}", "ZYGOTE")
    attempt(f"read {name}", lambda: read(path))

attempt("os.open", lambda: by_descriptor(SECRET, os.O_RDONLY))
flags = {
    "O_PATH": 0o10000000,
    "O_DIRECTORY": 0o200000,
    "O_NOFOLLOW": 0o400000,
    "O_NONBLOCK": 0o4000,
    "O_TMPFILE": 0o20200000,
    "O_DIRECT": 0o40000,
    "O_NOATIME": 0o1000000,
}
for name, flag in flags.items():
    attempt(f"os.open with {name}", lambda: by_descriptor("/etc/passwd", flag))
    attempt(f"the root with {name}", lambda: by_descriptor("/", flag))
attempt("io.FileIO", lambda: io.FileIO(SECRET).read())
attempt("io.open_code", lambda: io.open_code(SECRET).read())
attempt("pathlib", lambda: pathlib.Path(SECRET).read_text())
attempt("tokenize", lambda: tokenize.open(SECRET).read())
attempt("a line of linecache", lambda: found(linecache.getlines(SECRET)))
attempt("a copy", lambda: shutil.copy(SECRET, "{{probe}}/copy"))
attempt("an archive", lambda: __import__("tarfile").open("{{probe}}/tar", "w").add(SECRET))
attempt("fileinput", lambda: next(__import__("fileinput").input([SECRET])))
attempt("configparser", lambda: found(__import__("configparser").ConfigParser().read(SECRET)))
attempt("a file as a url", lambda: __import__("urllib.request").request.urlopen("file://" + SECRET).read())
attempt("netrc", lambda: __import__("netrc").netrc(SECRET))
attempt("the users", lambda: __import__("pwd").getpwuid(0).pw_dir)
attempt("the groups", lambda: __import__("grp").getgrall()[0])
attempt("the login", os.getlogin)
attempt("a home", lambda: read(os.path.expanduser("~/.ssh/id_rsa")))
attempt("stat", lambda: os.stat(SECRET))
attempt("lstat", lambda: os.lstat("/etc/passwd"))
attempt("access", lambda: found(os.access(SECRET, os.F_OK)))
attempt("exists", lambda: found(os.path.exists("/etc")))
attempt("readlink", lambda: os.readlink("/proc/self/exe"))
attempt("realpath", lambda: found(os.path.realpath("/proc/self/exe") != "/proc/self/exe"))
attempt("listdir", lambda: os.listdir("/"))
attempt("listdir of the zones", lambda: found([name for name in os.listdir("/usr/share/zoneinfo/..") if name != "zoneinfo"]))
attempt("scandir", lambda: list(os.scandir("/etc")))
attempt("walk", lambda: found(list(os.walk("/etc"))))
attempt("walk of everything", lambda: found([path for path, *_ in os.walk("/") if not path.startswith("/usr/share/zoneinfo") and path not in ("/", "/usr", "/usr/share")]))
attempt("glob", lambda: found(glob.glob("/etc/*") + glob.glob("/home/*/.ssh/*") + glob.glob("/root/.*")))
attempt("a path by descriptor", lambda: os.open("etc/passwd", os.O_RDONLY, dir_fd=3))
attempt("chdir", lambda: os.chdir("/etc"))
attempt("chdir up", lambda: [os.chdir(".."), read("etc/passwd")])
attempt("chroot", lambda: os.chroot("/usr"))
attempt("statvfs", lambda: os.statvfs("/etc"))
attempt("mapped", lambda: __import__("mmap").mmap(os.open(SECRET, os.O_RDONLY), 0))
attempt("sendfile", lambda: os.sendfile(3, os.open(SECRET, os.O_RDONLY), 0, 100))
libc = lambda: __import__("ctypes").CDLL(None)
attempt("by ctypes", lambda: found(libc().open(SECRET.encode(), 0) >= 0))
attempt("a time zone, which is not secret", lambda: read("/usr/share/zoneinfo/UTC")[:4])
attempt("a zone that could be written", lambda: found(libc().access(b"/usr/share/zoneinfo/UTC", os.W_OK) == 0))
