//! Access to one folder for programs, and to nothing outside of it. The kernel resolves every path
//! beneath an open descriptor of the folder (`openat2`), so neither `..` nor a link leads out, even
//! if the tree changes meanwhile. A file is first located, then checked, and then opened through
//! the same descriptor that was checked.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps,
    UTIME_NOW, access, chmod, fstat, mkdirat, open, openat, openat2, readlink, readlinkat,
    renameat, unlinkat, utimensat,
};
use rustix::io::Errno;

use crate::files::protected::{self, is_protected, is_protected_name};

/// How often an operation is retried if the tree changes meanwhile.
const ATTEMPTS: usize = 100;

/// How many entries are checked below a directory that is to be moved.
const MAX_CHECKED_ENTRIES: usize = 100_000;

/// Nanoseconds in a second.
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// The flags of `open` that programs may use.
const ALLOWED_FLAGS: OFlags = OFlags::ACCMODE
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::DIRECTORY);

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: Errno,
    /// A text that replaces the meaning of the error number; may be empty.
    pub(crate) reason: &'static str,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self { errno, reason: "" }
    }
}

const PROTECTED: Refusal = Refusal { errno: Errno::ACCESS, reason: protected::REASON };
const NOT_REGULAR: Refusal =
    Refusal { errno: Errno::ACCESS, reason: "onecall opens regular files for programs only" };
const HARD_LINKED: Refusal = Refusal {
    errno: Errno::ACCESS,
    reason: "onecall does not let programs change a file that has several names (hard links)",
};
const TOO_LARGE: Refusal = Refusal {
    errno: Errno::ACCESS,
    reason: "onecall does not let programs move a directory with so many files",
};

/// A folder that programs may use.
#[derive(Debug)]
pub(crate) struct Folder {
    descriptor: OwnedFd,
    folder_access: FolderAccess,
}

/// What programs may do in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderAccess {
    /// Read only.
    ReadOnly,
    /// Read and write, except for protected files, which other programs run.
    ReadWrite,
    /// Everything: the folder belongs to one program alone.
    Scratch,
}

impl Folder {
    /// Opens the folder itself.
    pub(crate) fn open(path: &Path, writable: bool) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder_access = if writable { FolderAccess::ReadWrite } else { FolderAccess::ReadOnly };
        Ok(Self { descriptor: open(path, flags, Mode::empty())?, folder_access })
    }

    /// The scratch folder of one program.
    pub(crate) fn scratch(descriptor: OwnedFd) -> Self {
        Self { descriptor, folder_access: FolderAccess::Scratch }
    }

    /// Opens a regular file.
    pub(crate) fn open_file(
        &self,
        path: &[u8],
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Refusal> {
        let flags = flags & ALLOWED_FLAGS;
        let changes = OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND;
        if flags & OFlags::ACCMODE == OFlags::RDONLY && !flags.intersects(changes) {
            return reopen(&self.find(path, flags & OFlags::NOFOLLOW)?, flags);
        }
        self.check_writable()?;
        for _ in 0..ATTEMPTS {
            match self.find(path, flags & OFlags::NOFOLLOW) {
                Ok(_) if flags.contains(OFlags::CREATE | OFlags::EXCL) => {
                    return Err(Errno::EXIST.into());
                }
                Ok(found) => {
                    self.check_changeable(&found)?;
                    return reopen(&found, flags);
                }
                Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {}
                Err(error) => return Err(error.into()),
            }
            if path.ends_with(b"/") {
                return Err(Errno::ISDIR.into());
            }
            let (parent, name) = self.parent(path)?;
            self.check_name(&parent, name)?;
            // Never through a link, whose target has not been checked.
            let only_new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&parent, name, flags | only_new, mode & Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) if !flags.contains(OFlags::EXCL) => {}
                opened => return Ok(opened?),
            }
        }
        // The entry is a dangling link.
        Err(Errno::NOENT.into())
    }

    /// The status of the file at `path`.
    pub(crate) fn status(&self, path: &[u8], follow: bool) -> Result<Stat, Errno> {
        let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        fstat(self.find(path, links)?)
    }

    /// Whether a program may access the file at `path` in this way.
    pub(crate) fn access(&self, path: &[u8], mode: Access) -> Result<(), Refusal> {
        let found = self.find(path, OFlags::empty())?;
        if mode.contains(Access::WRITE_OK) {
            self.check_writable()?;
            if self.is_protected(&self.real_path(&found)?) {
                return Err(PROTECTED);
            }
        }
        Ok(access(proc_path(&found), mode)?)
    }

    /// The target of the symbolic link at `path`.
    pub(crate) fn read_link(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let link = self.find(path, OFlags::NOFOLLOW)?;
        match file_type(&link)? {
            FileType::Symlink => Ok(readlinkat(&link, "", Vec::new())?.into_bytes()),
            _ => Err(Errno::INVAL),
        }
    }

    /// The real path of the directory at `path`, relative to the folder.
    pub(crate) fn enter(&self, path: &[u8]) -> Result<PathBuf, Errno> {
        let found = self.find(path, OFlags::DIRECTORY)?;
        access(proc_path(&found), Access::EXEC_OK)?;
        self.real_path(&found)
    }

    /// The entries of the directory at `path`.
    pub(crate) fn list(&self, path: &[u8]) -> Result<Dir, Errno> {
        Dir::new(self.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)?)
    }

    /// Creates a directory.
    pub(crate) fn make_directory(&self, path: &[u8], mode: Mode) -> Result<(), Refusal> {
        let (parent, name) = self.changeable_name(path)?;
        Ok(mkdirat(parent, name, mode & Mode::from_raw_mode(0o777))?)
    }

    /// Removes a file or a link, or an empty directory with `AtFlags::REMOVEDIR`.
    pub(crate) fn remove(&self, path: &[u8], flags: AtFlags) -> Result<(), Refusal> {
        let (parent, name) = self.changeable_name(path)?;
        Ok(unlinkat(parent, name, flags)?)
    }

    /// Renames a file or directory, or moves it to another folder.
    pub(crate) fn rename(&self, from: &[u8], other: &Self, to: &[u8]) -> Result<(), Refusal> {
        let (from_parent, from_name) = self.changeable_name(from)?;
        let (to_parent, to_name) = other.changeable_name(to)?;
        self.check_contents(from)?;
        Ok(renameat(from_parent, from_name, to_parent, to_name)?)
    }

    /// Sets the times of access and of modification of a file or directory.
    pub(crate) fn set_times(&self, path: &[u8], times: Option<[i64; 2]>) -> Result<(), Refusal> {
        self.check_writable()?;
        let found = self.find(path, OFlags::empty())?;
        if self.is_protected(&self.real_path(&found)?) {
            return Err(PROTECTED);
        }
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let time = |time: i64| Timespec {
            tv_sec: time.div_euclid(NANOSECONDS_PER_SECOND),
            tv_nsec: time.rem_euclid(NANOSECONDS_PER_SECOND),
        };
        let [last_access, last_modification] = times.map_or([now; 2], |times| times.map(time));
        let times = Timestamps { last_access, last_modification };
        Ok(utimensat(CWD, proc_path(&found), &times, AtFlags::empty())?)
    }

    /// Sets the mode of a file or directory. This is permitted in a scratch folder only.
    pub(crate) fn set_mode(&self, path: &[u8], mode: Mode) -> Result<(), Refusal> {
        if self.folder_access != FolderAccess::Scratch {
            return Err(Errno::ACCESS.into());
        }
        let found = self.find(path, OFlags::empty())?;
        Ok(chmod(proc_path(&found), mode & Mode::from_raw_mode(0o777))?)
    }

    fn check_writable(&self) -> Result<(), Errno> {
        if self.folder_access == FolderAccess::ReadOnly { Err(Errno::ACCESS) } else { Ok(()) }
    }

    /// The parent directory and the name of an entry that is to be created, removed or renamed.
    fn changeable_name<'p>(&self, path: &'p [u8]) -> Result<(OwnedFd, &'p OsStr), Refusal> {
        self.check_writable()?;
        let (parent, name) = self.parent(path)?;
        self.check_name(&parent, name)?;
        Ok((parent, name))
    }

    fn parent<'p>(&self, path: &'p [u8]) -> Result<(OwnedFd, &'p OsStr), Errno> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = path.get(..end).unwrap_or_default();
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (parent, name) = path.split_at_checked(start).unwrap_or_default();
        if matches!(name, b"" | b"." | b"..") {
            return Err(Errno::BUSY);
        }
        let parent = if parent.is_empty() { b"." } else { parent };
        Ok((self.find(parent, OFlags::DIRECTORY)?, OsStr::from_bytes(name)))
    }

    /// Whether a real path is that of a protected file: by its name, or because it is inside a bare
    /// Git repository, whose hooks and settings Git uses as well.
    fn is_protected(&self, path: &Path) -> bool {
        if self.folder_access == FolderAccess::Scratch {
            return false;
        }
        let has = |folder: &Path, name: &str| {
            self.find(folder.join(name).as_os_str().as_bytes(), OFlags::NOFOLLOW).is_ok()
        };
        let is_repository = |folder: &Path| has(folder, "HEAD") && has(folder, "objects");
        is_protected(path) || path.ancestors().any(is_repository)
    }

    fn check_name(&self, parent: &OwnedFd, name: &OsStr) -> Result<(), Refusal> {
        let path = self.real_path(parent)?.join(name);
        if self.is_protected(&path) { Err(PROTECTED) } else { Ok(()) }
    }

    /// Whether the contents of a file may change. A file with several hard links could also be a
    /// protected file, or one outside of the folder.
    fn check_changeable(&self, found: &OwnedFd) -> Result<(), Refusal> {
        let status = fstat(found)?;
        if FileType::from_raw_mode(status.st_mode) == FileType::RegularFile {
            if self.is_protected(&self.real_path(found)?) {
                return Err(PROTECTED);
            }
            if status.st_nlink > 1 {
                return Err(HARD_LINKED);
            }
        }
        Ok(())
    }

    /// Refuses to move a directory that contains a protected file.
    fn check_contents(&self, path: &[u8]) -> Result<(), Refusal> {
        let found = self.find(path, OFlags::NOFOLLOW)?;
        if self.folder_access == FolderAccess::Scratch || file_type(&found)? != FileType::Directory
        {
            return Ok(());
        }
        let mut seen = 0;
        let mut rest = vec![path.to_vec()];
        while let Some(directory) = rest.pop() {
            for entry in self.list(&directory)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                seen += 1;
                if seen > MAX_CHECKED_ENTRIES {
                    return Err(TOO_LARGE);
                }
                if is_protected_name(&String::from_utf8_lossy(name)) {
                    return Err(PROTECTED);
                }
                if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                    let below = [&directory[..], b"/", name].concat();
                    let is_directory = |found: OwnedFd| file_type(&found);
                    let found = self.find(&below, OFlags::NOFOLLOW).and_then(is_directory);
                    if found == Ok(FileType::Directory) {
                        rest.push(below);
                    }
                }
            }
        }
        Ok(())
    }

    /// The path of a located file, relative to the folder and without links.
    fn real_path(&self, found: &OwnedFd) -> Result<PathBuf, Errno> {
        let path = readlink(proc_path(found), Vec::new())?;
        let folder = readlink(proc_path(&self.descriptor), Vec::new())?;
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let inside = path.strip_prefix(OsStr::from_bytes(folder.to_bytes()));
        // The file was moved out of the folder after it was located.
        inside.map(Path::to_owned).map_err(|_| Errno::NOENT)
    }

    /// A descriptor (`O_PATH`) that identifies the file at `path` without opening it.
    fn find(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        self.open_beneath(path, flags | OFlags::PATH)
    }

    /// Opens a path beneath the folder. Every path of a program is resolved here, except for the
    /// last name of an entry that is created, removed or renamed.
    fn open_beneath(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        let mut found = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            found = openat2(&self.descriptor, path, flags, Mode::empty(), resolve);
            if !matches!(found, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        // A path that leads outside does not exist for programs.
        found.map_err(|error| if error == Errno::XDEV { Errno::NOENT } else { error })
    }
}

/// Opens the file that was located, if it is a regular file.
fn reopen(found: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Refusal> {
    match file_type(found)? {
        FileType::RegularFile if flags.contains(OFlags::DIRECTORY) => Err(Errno::NOTDIR.into()),
        FileType::RegularFile => {
            let by_name = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let flags = (flags - by_name) | OFlags::CLOEXEC;
            Ok(open(proc_path(found), flags, Mode::empty())?)
        }
        FileType::Directory => Err(Errno::ISDIR.into()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(NOT_REGULAR),
    }
}

fn file_type(found: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(found)?.st_mode))
}

/// The path under /proc by which the kernel finds the file of a descriptor.
fn proc_path(found: impl AsFd) -> String {
    format!("/proc/self/fd/{}", found.as_fd().as_raw_fd())
}
