#%% temporary_file
import tempfile
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("hello")
    file.seek(0)
    print(file.read())

#%% temporary_directory
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("hello\n")
    print(os.listdir(folder), open(path).read())
print(os.path.exists(folder))

#%% temporary_file_without_a_name
import tempfile
with tempfile.TemporaryFile() as file:
    file.write(b"abc")
    file.seek(1)
    print(file.read())

#%% spooled_file
import tempfile
with tempfile.SpooledTemporaryFile(max_size=10, mode="w+") as file:
    file.write("longer than ten characters")
    file.seek(0)
    print(len(file.read()))

#%% made_temporary_file
import os, tempfile
handle, path = tempfile.mkstemp()
os.write(handle, b"data")
os.close(handle)
print(os.path.getsize(path))
os.remove(path)

#%% file_below_tmp
with open("/tmp/side_by_side.txt", "w") as file:
    file.write("one\ntwo\n")
with open("/tmp/side_by_side.txt") as file:
    print([line.strip() for line in file])
import os
os.remove("/tmp/side_by_side.txt")

#%% path_below_tmp
from pathlib import Path
path = Path("/tmp/side_by_side_folder/a.json")
path.parent.mkdir(exist_ok=True)
path.write_text('{"a": 1}')
print(path.read_text(), path.exists())
path.unlink()
path.parent.rmdir()

#%% csv_file_below_tmp
import csv, os
with open("/tmp/side_by_side.csv", "w", newline="") as file:
    csv.writer(file).writerows([["a", "b"], [1, 2]])
print(open("/tmp/side_by_side.csv").read().split())
os.remove("/tmp/side_by_side.csv")

#%% sqlite_file_below_tmp
import os, sqlite3
database = sqlite3.connect("/tmp/side_by_side.db")
database.execute("create table t (n)")
database.execute("insert into t values (5)")
database.commit()
print(database.execute("select n from t").fetchall())
database.close()
os.remove("/tmp/side_by_side.db")

#%% glob_below_a_temporary_folder
import glob, os, tempfile
with tempfile.TemporaryDirectory() as folder:
    for name in ("a.txt", "b.txt", "c.md"):
        open(os.path.join(folder, name), "w").close()
    print(sorted(os.path.basename(path) for path in glob.glob(folder + "/*.txt")))

#%% shutil_in_a_temporary_folder
import shutil, tempfile
from pathlib import Path
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "a").mkdir()
    (Path(folder) / "a" / "x.txt").write_text("x")
    shutil.copytree(Path(folder) / "a", Path(folder) / "b")
    print(sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*")))

#%% zip_file_below_tmp
import os, zipfile
with zipfile.ZipFile("/tmp/side_by_side.zip", "w") as archive:
    archive.writestr("a.txt", "hello")
print(zipfile.ZipFile("/tmp/side_by_side.zip").namelist())
os.remove("/tmp/side_by_side.zip")

#%% read_a_file_of_the_machine
#% better: programs do not see the machine's files
try:
    print(len(open("/etc/passwd").read()) > 0)
except OSError:
    print("refused")

#%% write_into_the_working_directory
#% better: programs do not write to the machine's files
import os
try:
    with open("side_by_side.txt", "w") as file:
        file.write("x")
    print(os.path.exists("side_by_side.txt"))
    os.remove("side_by_side.txt")
except OSError:
    print("refused")

#%% missing_file
open("/absent/file.txt")

#%% missing_file_caught
try:
    open("/absent/file.txt")
except FileNotFoundError as error:
    print(error)

#%% exists_checks
import os
print(os.path.exists("/absent"), os.path.isdir("/"))

#%% subprocess
#% better: programs start no processes
import subprocess
try:
    print(subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout)
except OSError:
    print("refused")

#%% os_system
#% better: programs start no processes
import os
print(os.system("true") == 0)

#%% network_by_urllib
import urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=2)
except OSError as error:
    print("no connection")

#%% network_by_socket
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=2)
except OSError:
    print("no connection")

#%% input
print(input("name? "))

#%% input_caught
try:
    name = input()
except EOFError:
    name = "nobody"
print(name)

#%% stdin_read
import sys
print(repr(sys.stdin.read()))

#%% environment_variable_with_default
import os
print(os.environ.get("SIDE_BY_SIDE", "unset"), os.getenv("SIDE_BY_SIDE"))

#%% environment_variable_set
import os
os.environ["SIDE_BY_SIDE_NEW"] = "1"
print(os.environ["SIDE_BY_SIDE_NEW"])
del os.environ["SIDE_BY_SIDE_NEW"]

#%% missing_environment_variable
import os
os.environ["SIDE_BY_SIDE_ABSENT"]

#%% home_folder
import os
print(os.path.expanduser("~/x").endswith("/x"))

#%% working_directory
import os
print(os.path.isabs(os.getcwd()))

#%% program_arguments
import sys
print(isinstance(sys.argv, list))

#%% process_id
import os
print(os.getpid() > 0)

#%% optional_package
try:
    import package_that_nobody_has
except ImportError:
    print("goes on without it")

#%% package_that_is_not_installed
import importlib.util
print(importlib.util.find_spec("package_that_nobody_has"))

#%% fork
#% better: programs start no processes
import os
try:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    print(os.waitpid(pid, 0)[1])
except OSError:
    print("refused")

#%% exit_of_the_process
#% better: it ends the program and not the server
import os
os._exit(3)

#%% signal_handler
import signal
print(callable(signal.signal))

#%% state_does_not_stay_1
remembered = 1
print("set")

#%% state_does_not_stay_2
try:
    print(remembered)
except NameError:
    print("unknown")
