"""Python's file functions, implemented by requests to the gateway: this process makes no system
calls for files.

A program sees its workspace at its real path, the tools below `/tools`, a scratch folder at `/tmp`
if it has one, the directories that lead there, and nothing else. The gateway opens files and passes
their descriptors.
"""

import _frozen_importlib
import _io
import builtins
import errno
import io
import os
import posix
import pwd
import stat as modes
import sys

import _onecall_folders as folders

# The folders: the parts of the path, and the number.
_FOLDERS = [(os.fsencode(path).strip(b"/").split(b"/"), number) for path, number in folders.folders()]

# The number of the workspace.
_WORKSPACE = 0

# The number of the scratch folder, which only some programs have.
_SCRATCH = folders.scratch()

# Every file system refuses longer paths.
_MAX_PATH = 4095

_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_O_PATH = 0o10000000
_O_TMPFILE = 0o20000000

# The working directory is the workspace, if there is one.
_working_directory = b"/" + b"/".join(_FOLDERS[0][0]) if _FOLDERS and _FOLDERS[0][1] == _WORKSPACE else b"/"

# Called before the program changes something in the workspace; a journalled run sets it.
before_change = None

_native_open, _native_stat = _io.open, posix.stat
_native_truncate, _native_chmod = posix.truncate, posix.chmod
_NativeFileIO = _io.FileIO


class _Target:
    """The target of a path: a path in one of the folders, or `parts` outside of all of them."""

    def __init__(self, path):
        self.given = path
        path = os.fspath(path)
        name = path if isinstance(path, bytes) else os.fsencode(path)
        if b"\0" in name:
            raise ValueError("embedded null byte")
        if not name:
            raise self.os_error(errno.ENOENT)
        if len(name) > _MAX_PATH:
            raise self.os_error(errno.ENAMETOOLONG)
        self.folder = None
        self.parts = []
        whole = name if name.startswith(b"/") else _working_directory + b"/" + name
        for part in whole.split(b"/"):
            self._step(part)
        if self.folder is not None:
            # A trailing slash has a meaning for the kernel, so it is kept.
            self.path = b"/".join(self.rest or [b"."]) + (b"/" if name.endswith(b"/") else b"")

    def _step(self, part):
        if part in (b"", b"."):
            return
        if self.folder == _SCRATCH:
            self._step_in_scratch(part)
            return
        if self.folder is not None:
            self.depth += -1 if part == b".." else 1
            if self.depth >= 0:
                # The kernel follows links, so `..` is not resolved here.
                self.rest.append(part)
                return
            self._step_out()
            return
        if part == b"..":
            del self.parts[-1:]
        else:
            self.parts.append(part)
        self._enter()

    def _step_out(self):
        # The folder may be inside another one.
        outside = self.parts[:-1]
        self.folder, self.parts = None, []
        for part in outside:
            self._step(part)

    def _enter(self):
        for parts, number in _FOLDERS:
            if parts == self.parts:
                self.folder, self.rest, self.depth = number, [], 0

    def _step_in_scratch(self, part):
        # There are no links in the scratch folder. A workspace, which is checked first, may be
        # inside it.
        if part != b"..":
            self.rest.append(part)
        elif self.rest:
            self.rest.pop()
        else:
            self._step_out()
            return
        for parts, _ in _FOLDERS[:1]:
            if len(parts) == 1 + len(self.rest) and parts == self.parts + self.rest:
                self.parts = parts[:]
                self._enter()

    def leads_to_folder(self):
        """Whether it is a directory on the way to one of the folders."""
        return any(parts[: len(self.parts)] == self.parts for parts, _ in _FOLDERS) or not self.parts

    def os_error(self, number, reason=None, other=None):
        """The exception for the path as it was given."""
        names = (self.given,) if other is None else (self.given, None, other)
        return OSError(number, reason or os.strerror(number), *names)

    def request(self, function, *arguments, other=None):
        """Sends a request about this path to the gateway."""
        try:
            return function(self.folder, self.path, *arguments)
        except OSError as error:
            problem = error
        raise self.os_error(problem.errno, problem.strerror, other)

    def needs_gateway(self):
        """Whether the gateway has to be asked; raises an exception if the path cannot exist."""
        if self.folder is None and not self.leads_to_folder():
            raise self.os_error(errno.ENOENT)
        return self.folder is not None

    def check_changeable(self, other=None):
        """Raises an exception unless the gateway can be asked to change something here."""
        if self.folder is None:
            raise self.os_error(errno.EACCES, other=other)
        self.report_change()

    def report_change(self):
        """Reports that the program is about to change something in the workspace."""
        if before_change is not None and self.folder == _WORKSPACE:
            before_change()


def add_scratch():
    """Adds the scratch folder for a program."""
    _FOLDERS.append(([b"tmp"], _SCRATCH))


def _without_descriptor(path, *descriptors):
    """Refuses descriptors of directories, which programs do not have."""
    if any(it is not None for it in descriptors):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def open_descriptor(path, flags, mode=0o777, *, dir_fd=None):
    """Opens a file and returns its descriptor."""
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    if flags & _CHANGING:
        target.check_changeable()
    if flags & _O_PATH:
        raise target.os_error(errno.EACCES)
    if flags & _O_TMPFILE:
        raise target.os_error(errno.EOPNOTSUPP)
    if not target.needs_gateway():
        raise target.os_error(errno.EACCES)
    return target.request(folders.open, flags, mode)


def open_file(
    file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None
):
    """Opens a file."""
    if not isinstance(file, int):
        file = os.fspath(file)
        opener = opener or _opener
    return _native_open(file, mode, buffering, encoding, errors, newline, closefd, opener)


def _opener(path, flags):
    return open_descriptor(path, flags, 0o666)


def open_code(path):
    """Opens a file with code in it."""
    return open_file(path, "rb")


class _FileIOType(type(_NativeFileIO)):
    def __instancecheck__(cls, thing):
        return isinstance(thing, _NativeFileIO)


class FileIO(_NativeFileIO, metaclass=_FileIOType):
    """A file without a buffer."""

    def __init__(self, file, mode="r", closefd=True, opener=None):
        if not isinstance(file, int):
            opener = opener or _opener
        super().__init__(file, mode, closefd, opener)


def stat(path, *, dir_fd=None, follow_symlinks=True):
    """What is known about a file."""
    if isinstance(path, int):
        return _native_stat(path)
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    if not target.needs_gateway():
        return os.stat_result((modes.S_IFDIR | 0o555, 0, 0, 2, os.getuid(), os.getgid(), 0, 0, 0, 0))
    mode, inode, device, links, size, *times, blocks, block = target.request(
        folders.status, bool(follow_symlinks)
    )
    seconds = [time // 10**9 for time in times]
    exact = [time / 10**9 for time in times]
    # The owner of a file on the host is not shown to programs.
    owner = os.getuid(), os.getgid()
    return os.stat_result(
        (mode, inode % 2**64, device % 2**64, links, *owner, size, *seconds, *exact, *times, block, blocks)
    )


def lstat(path, *, dir_fd=None):
    """What is known about a file or a link."""
    return stat(path, dir_fd=dir_fd, follow_symlinks=False)


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    """Whether a file can be used in some way."""
    try:
        _without_descriptor(path, dir_fd)
        target = _Target(path)
        if not target.needs_gateway():
            return not mode & os.W_OK
        target.request(folders.access, mode & 7)
        return True
    except OSError:
        return False


def readlink(path, *, dir_fd=None):
    """Where a link leads."""
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    if not target.needs_gateway():
        raise target.os_error(errno.EINVAL)
    return _as_type_of(target.given, target.request(folders.read_link))


def _as_type_of(path, name):
    """The name as text, unless the path was given as bytes."""
    return name if isinstance(os.fspath(path), bytes) else os.fsdecode(name)


def _entries(path):
    if isinstance(path, int):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    target = _Target(path)
    if not target.needs_gateway():
        raise target.os_error(errno.EACCES)
    return target.request(folders.list)


def listdir(path=None):
    """The names in a directory."""
    path = "." if path is None else path
    return [_as_type_of(path, name) for name, _, _ in _entries(path)]


class DirEntry:
    """A name in a directory, and what the directory says about it."""

    __slots__ = ("name", "path", "_kind", "_inode", "_followed", "_itself")

    def __init__(self, directory, name, kind, inode):
        self.name, self.path = name, os.path.join(directory, name)
        self._kind, self._inode = kind, inode
        self._followed = self._itself = None

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"

    def inode(self):
        return self._inode

    def stat(self, *, follow_symlinks=True):
        if follow_symlinks and self.is_symlink():
            self._followed = self._followed or stat(self.path)
            return self._followed
        self._itself = self._itself or lstat(self.path)
        return self._itself

    def _is(self, kind, follow_symlinks):
        if self._kind and not (follow_symlinks and self._kind == modes.S_IFLNK):
            return self._kind == kind
        try:
            return modes.S_IFMT(self.stat(follow_symlinks=follow_symlinks).st_mode) == kind
        except FileNotFoundError:
            return False

    def is_dir(self, *, follow_symlinks=True):
        return self._is(modes.S_IFDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        return self._is(modes.S_IFREG, follow_symlinks)

    def is_symlink(self):
        return self._is(modes.S_IFLNK, False)

    def is_junction(self):
        return False


class _Scan:
    """The iterator that `scandir` returns."""

    def __init__(self, entries):
        self._entries = entries

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._entries = iter(())


def scandir(path=None):
    """The entries of a directory."""
    path = "." if path is None else path
    shown = os.fspath(path) if not isinstance(path, int) else path
    entries = _entries(path)
    return _Scan(DirEntry(shown, _as_type_of(shown, name), kind, inode) for name, kind, inode in entries)


def mkdir(path, mode=0o777, *, dir_fd=None):
    """Creates a directory."""
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    target.check_changeable()
    target.request(folders.mkdir, mode & 0o777)


def remove(path, *, dir_fd=None):
    """Removes a file."""
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    target.check_changeable()
    target.request(folders.remove)


def unlink(path, *, dir_fd=None):
    """Removes a file."""
    remove(path, dir_fd=dir_fd)


def rmdir(path, *, dir_fd=None):
    """Removes an empty directory."""
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    target.check_changeable()
    target.request(folders.rmdir)


def rename(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    """Renames a file or directory."""
    _without_descriptor(src, src_dir_fd, dst_dir_fd)
    source, target = _Target(src), _Target(dst)
    source.check_changeable(dst)
    if target.folder is None:
        raise source.os_error(errno.EACCES, other=dst)
    target.report_change()
    source.request(folders.rename, target.folder, target.path, other=dst)


def replace(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    """Renames a file or directory, and overwrites what is there."""
    rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def truncate(path, length):
    """Cuts a file off, or makes it longer."""
    if isinstance(path, int):
        return _native_truncate(path, length)
    descriptor = open_descriptor(path, os.O_WRONLY)
    try:
        os.ftruncate(descriptor, length)
    finally:
        os.close(descriptor)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Changes the mode of a file, which outside of a scratch folder is refused unless it has that
    mode already."""
    if isinstance(path, int):
        return _native_chmod(path, mode)
    _without_descriptor(path, dir_fd)
    target = _Target(path)
    if target.folder == _SCRATCH:
        return target.request(folders.set_mode, mode & 0o777)
    found = stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if modes.S_IMODE(found.st_mode) != mode & 0o7777:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)


def utime(path, times=None, *, ns=None, dir_fd=None, follow_symlinks=True):
    """Sets the times of access and of change, or both to now."""
    _without_descriptor(path, dir_fd)
    if times is not None and ns is not None:
        raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
    target = _Target(path)
    target.check_changeable()
    if times is not None:
        ns = [time * 10**9 if isinstance(time, int) else round(time * 10**9) for time in times]
    target.request(folders.set_times, *(ns or ()))


def chdir(path):
    """Changes the working directory."""
    global _working_directory
    if isinstance(path, int):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    target = _Target(path)
    parts = target.parts
    if target.needs_gateway():
        inside = target.request(folders.enter)
        parts = parts + [inside] if inside else parts
    _working_directory = b"/" + b"/".join(parts)


def fchdir(fd):
    """Programs have no descriptors of directories."""
    raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def getcwd():
    """The working directory."""
    return os.fsdecode(_working_directory)


def getcwdb():
    """The working directory as bytes."""
    return _working_directory


def getpwuid(uid):
    """There is no list of users."""
    raise KeyError(f"getpwuid(): uid not found: {uid}")


def getpwnam(name):
    """There is no list of users."""
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def install():
    """Replaces the functions that would call the kernel."""
    here = globals()
    names = (
        "stat lstat access readlink listdir scandir mkdir remove unlink rmdir rename replace "
        "truncate chmod utime chdir fchdir getcwd getcwdb DirEntry"
    )
    replaced = {name: here[name] for name in names.split()} | {"open": open_descriptor}
    open_descriptor.__name__ = open_descriptor.__qualname__ = "open"
    open_file.__name__ = open_file.__qualname__ = "open"
    for name, function in replaced.items():
        function.__module__ = "posix"
        setattr(posix, name, function)
        setattr(os, name, function)
    os.supports_dir_fd = set()
    os.supports_effective_ids = set()
    os.supports_fd = {stat, truncate}
    os.supports_follow_symlinks = {stat}
    for module in _io, io:
        module.open, module.open_code, module.FileIO = open_file, open_code, FileIO
    for thing in open_file, open_code, FileIO:
        thing.__module__ = "_io"
    builtins.open = open_file
    pwd.getpwuid, pwd.getpwnam, pwd.getpwall = getpwuid, getpwnam, list
    # Programs can import modules from the workspace if they add it to `sys.path`.
    _frozen_importlib._install_external_importers()
    sys.path.clear()


install()
