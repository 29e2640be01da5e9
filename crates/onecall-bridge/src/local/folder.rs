//! Access to one folder and nothing outside of it. The kernel resolves every path below an open
//! descriptor of the folder (`openat2` with `RESOLVE_BENEATH`), so neither `..` nor a link leads
//! out, even if the folder changes at the same time. Only regular files and folders are opened, so
//! no operation blocks on a pipe or a device.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, open, stat, statat};
use rustix::io::Errno;
use serde::Serialize;
use thiserror::Error;

use crate::system::{INSPECT_ONLY, open_beneath};

/// Why an operation in a folder failed.
#[derive(Debug, Error)]
pub(crate) enum FolderError {
    #[error("the folder that is its root does not exist")]
    NoRoot,
    #[error("its root is not a folder")]
    RootIsNoFolder,
    #[error("its root is the whole disk")]
    RootIsDisk,
    #[error("its root cannot be opened: {0}")]
    RootNotOpened(io::Error),
    #[error("the path is empty")]
    EmptyPath,
    #[error("the path is too long")]
    LongPath,
    #[error("the path holds a NUL character")]
    NulInPath,
    #[error("'{path}' is not allowed: a path is relative to the tool's folder, without '..'")]
    Outside { path: String },
    #[error("'{path}' does not exist")]
    Missing { path: String },
    #[error("'{path}' leads out of the tool's folder")]
    LeadsOut { path: String },
    #[error("'{path}' is a link that is not followed")]
    Link { path: String },
    #[error("'{path}' is a folder")]
    IsFolder { path: String },
    #[error("'{path}' is not a folder, or a part of it is not")]
    NoFolder { path: String },
    #[error("'{path}' is not a regular file")]
    NotRegular { path: String },
    #[error("'{path}': permission denied")]
    Denied { path: String },
    #[error("this system cannot keep a path within a folder (openat2 of Linux 5.6)")]
    NotConfined,
    #[error("'{path}': {source}")]
    Failed { path: String, source: io::Error },
}

/// The longest path that the kernel accepts.
const MAX_PATH: usize = 4_096;

/// How often a path is retried if it changes while it is resolved.
const RETRIES: usize = 100;

/// A relative path that a program gave. The kernel enforces that it stays inside the folder; this
/// check only gives a better error message.
#[derive(Clone, Copy)]
pub(super) struct RelativePath<'p>(&'p str);

impl<'p> RelativePath<'p> {
    /// The folder itself.
    pub const FOLDER: Self = Self(".");

    pub fn new(path: &'p str) -> Result<Self, FolderError> {
        let is_outside = |component| {
            matches!(component, Component::ParentDir | Component::RootDir | Component::Prefix(_))
        };
        if path.is_empty() {
            return Err(FolderError::EmptyPath);
        }
        if path.len() > MAX_PATH {
            return Err(FolderError::LongPath);
        }
        if path.contains('\0') {
            return Err(FolderError::NulInPath);
        }
        if Path::new(path).components().any(is_outside) {
            return Err(FolderError::Outside { path: path.to_owned() });
        }
        Ok(Self(path))
    }

    fn folder_error(self, error: Errno) -> FolderError {
        let path = self.0.to_owned();
        match error {
            Errno::NOENT => FolderError::Missing { path },
            Errno::XDEV => FolderError::LeadsOut { path },
            Errno::LOOP => FolderError::Link { path },
            Errno::ISDIR => FolderError::IsFolder { path },
            Errno::NOTDIR => FolderError::NoFolder { path },
            Errno::ACCESS | Errno::PERM => FolderError::Denied { path },
            Errno::NOSYS => FolderError::NotConfined,
            error => FolderError::Failed { path, source: error.into() },
        }
    }

    fn not_a_file(self, kind: FileType) -> FolderError {
        let path = self.0.to_owned();
        match kind {
            FileType::Directory => FolderError::IsFolder { path },
            _ => FolderError::NotRegular { path },
        }
    }
}

/// An open folder.
pub(super) struct Folder(OwnedFd);

/// An entry of a folder.
pub(super) struct FolderEntry {
    pub name: String,
    pub kind: EntryKind,
    pub size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

impl Folder {
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        let flags = INSPECT_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(root, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => FolderError::NoRoot,
            Errno::NOTDIR => FolderError::RootIsNoFolder,
            error => FolderError::RootNotOpened(error.into()),
        })?;
        // The configuration rejects `/` by name, but a link can lead there too.
        let is_same = |one: rustix::fs::Stat, other: rustix::fs::Stat| {
            (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
        };
        match (fstat(&folder), stat("/")) {
            (Ok(folder), Ok(disk)) if is_same(folder, disk) => Err(FolderError::RootIsDisk),
            _ => Ok(Self(folder)),
        }
    }

    /// Opens a regular file for reading.
    pub fn read(&self, path: RelativePath<'_>) -> Result<File, FolderError> {
        self.check_regular(path)?;
        self.open_regular(path, OFlags::RDONLY, Mode::empty())
    }

    /// Opens a regular file for writing; creates it and its parent folders if they do not exist.
    pub fn write(&self, path: RelativePath<'_>, flags: OFlags) -> Result<File, FolderError> {
        match self.check_regular(path) {
            Ok(()) => {}
            Err(_) if self.kind(path) == Err(Errno::NOENT) => self.make_parents(path)?,
            Err(error) => return Err(error),
        }
        self.open_regular(path, OFlags::WRONLY | OFlags::CREATE | flags, Mode::from_raw_mode(0o666))
    }

    /// Whether the path is a regular file, or a link to one inside the folder.
    pub fn has_file(&self, path: &str) -> bool {
        RelativePath::new(path).is_ok_and(|path| self.kind(path) == Ok(FileType::RegularFile))
    }

    /// Passes every entry of a folder to `visit`, in no order, until `visit` returns an error.
    pub fn entries<E: From<FolderError>>(
        &self,
        path: RelativePath<'_>,
        visit: &mut dyn FnMut(FolderEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder_error = |error| path.folder_error(error);
        let mut dir =
            self.open_path(path, flags, Mode::empty()).and_then(Dir::new).map_err(folder_error)?;
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(folder_error)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let found = dir.fd().and_then(|fd| statat(fd, name, AtFlags::SYMLINK_NOFOLLOW));
            // The entry may have been removed since.
            let Ok(found) = found else { continue };
            let kind = match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Other,
            };
            let size =
                if kind == EntryKind::File { u64::try_from(found.st_size).unwrap_or(0) } else { 0 };
            visit(FolderEntry { name: name.to_string_lossy().into_owned(), kind, size })?;
        }
        Ok(())
    }

    /// Checks the file type without opening: opening a pipe blocks, and opening a device can have
    /// effects.
    fn check_regular(&self, path: RelativePath<'_>) -> Result<(), FolderError> {
        match self.kind(path) {
            Ok(FileType::RegularFile) => Ok(()),
            Ok(kind) => Err(path.not_a_file(kind)),
            Err(error) => Err(path.folder_error(error)),
        }
    }

    fn kind(&self, path: RelativePath<'_>) -> Result<FileType, Errno> {
        let found = fstat(self.open_path(path, INSPECT_ONLY, Mode::empty())?)?;
        Ok(FileType::from_raw_mode(found.st_mode))
    }

    /// Opens a path that was a regular file when it was checked, and verifies that it still is one.
    fn open_regular(
        &self,
        path: RelativePath<'_>,
        flags: OFlags,
        mode: Mode,
    ) -> Result<File, FolderError> {
        let folder_error = |error| path.folder_error(error);
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_path(path, flags, mode).map_err(folder_error)?;
        match FileType::from_raw_mode(fstat(&file).map_err(folder_error)?.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            kind => Err(path.not_a_file(kind)),
        }
    }

    fn make_parents(&self, path: RelativePath<'_>) -> Result<(), FolderError> {
        let Some(parents) = Path::new(path.0).parent() else { return Ok(()) };
        let flags = INSPECT_ONLY | OFlags::DIRECTORY;
        let mut above = self.open_path(RelativePath::FOLDER, flags, Mode::empty());
        let mut parent_path = String::new();
        for name in parents.components().filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        }) {
            if !parent_path.is_empty() {
                parent_path.push('/');
            }
            parent_path.push_str(name);
            let here = RelativePath(&parent_path);
            let mut found = self.open_path(here, flags, Mode::empty());
            if let (Err(Errno::NOENT), Ok(above)) = (&found, &above) {
                // If another process created it first, opening it shows what it is.
                match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(here.folder_error(error)),
                }
                found = self.open_path(here, flags, Mode::empty());
            }
            above = Ok(found.map_err(|error| here.folder_error(error))?);
        }
        Ok(())
    }

    /// Opens a path below the folder. Every access goes through here.
    fn open_path(
        &self,
        path: RelativePath<'_>,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        let mut result = Err(Errno::AGAIN);
        for _ in 0..RETRIES {
            result = open_beneath(&self.0, path.0, flags | OFlags::CLOEXEC, mode);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use rustix::fs::CWD;

    use super::*;

    /// A folder `in` with files and links, and a secret beside it.
    fn fixture() -> (tempfile::TempDir, Folder) {
        let temporary = tempfile::tempdir().unwrap();
        let path = |name: &str| temporary.path().join(name);
        fs::create_dir_all(path("in/sub/deep")).unwrap();
        fs::create_dir(path("out")).unwrap();
        fs::write(path("out/secret"), "secret").unwrap();
        fs::write(path("in/file"), "inside").unwrap();
        fs::write(path("in/sub/deep/file"), "deep inside").unwrap();
        let links = [
            ("../out/secret", "in/up"),
            ("../out", "in/upfolder"),
            ("sub/deep/file", "in/down"),
            ("../../file", "in/sub/deep/back"),
            ("../in/file", "in/outandin"),
            ("../out/new", "in/dangling"),
            ("sub/new", "in/danglinginside"),
            ("loop", "in/loop"),
            ("/proc/self/root", "in/magic"),
        ];
        for (target, link) in links {
            symlink(target, path(link)).unwrap();
        }
        symlink(path("out/secret"), path("in/absolute")).unwrap();
        symlink(path("in/file"), path("in/absoluteinside")).unwrap();
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(CWD, path("in/fifo"), FileType::Fifo, mode, 0).unwrap();
        let folder = Folder::open(&path("in")).unwrap();
        (temporary, folder)
    }

    fn read(folder: &Folder, path: &str) -> Result<String, String> {
        let mut text = String::new();
        let file = RelativePath::new(path).and_then(|path| folder.read(path));
        file.map_err(|error| error.to_string())?.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn what_is_inside_can_be_read() {
        let (_temporary, folder) = fixture();
        for (path, text) in [
            ("file", "inside"),
            ("./sub/./deep//file", "deep inside"),
            ("down", "deep inside"),
            ("sub/deep/back", "inside"),
        ] {
            assert_eq!(read(&folder, path), Ok(text.to_owned()), "{path}");
        }
    }

    #[test]
    fn nothing_leads_out() {
        let (temporary, folder) = fixture();
        let secret = temporary.path().join("out/secret").display().to_string();
        for path in [
            "../out/secret",
            "sub/../../out/secret",
            "sub/deep/../../../out/secret",
            "..",
            "./..",
            "/etc/passwd",
            "//etc/passwd",
            &secret,
            "up",
            "upfolder/secret",
            "outandin",
            "absolute",
            "absoluteinside",
            "magic/etc/passwd",
            "dangling",
            "loop",
            "file/../file",
            "",
            "a\0b",
            &"x/".repeat(3_000),
            "fifo",
            "sub",
            ".",
            "file/",
            "~/x",
            "...",
        ] {
            let result = read(&folder, path);
            assert!(result.is_err(), "{path} was read: {result:?}");
        }
    }

    #[test]
    fn nothing_is_written_outside() {
        let (temporary, folder) = fixture();
        for path in [
            "../out/new",
            "/tmp/onecall-new",
            "up",
            "upfolder/new",
            "upfolder/a/b/new",
            "dangling",
            "absolute",
            "fifo",
            "sub",
            "file/new",
            "new/",
            "loop/x",
            "sub/../../out/new",
        ] {
            let written = RelativePath::new(path)
                .and_then(|path| folder.write(path, OFlags::empty()).map(drop));
            assert!(written.is_err(), "{path} was written");
        }
        let names: Vec<_> = fs::read_dir(temporary.path().join("out")).unwrap().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read_to_string(temporary.path().join("out/secret")).unwrap(), "secret");
    }

    #[test]
    fn folders_are_made_on_the_way() {
        let (temporary, folder) = fixture();
        for path in ["new", "a/b/c/new", "sub/x/new", "./y/./z//new", "danglinginside"] {
            folder.write(RelativePath::new(path).unwrap(), OFlags::empty()).unwrap();
            assert!(temporary.path().join("in").join(path).is_file(), "{path}");
        }
    }

    #[test]
    fn a_link_that_changes_all_the_time_never_leads_out() {
        let (temporary, folder) = fixture();
        let flip = temporary.path().join("in/flip");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let other = temporary.path().join("in/flop");
                while !is_over.load(Ordering::Relaxed) {
                    for target in ["../out", "sub/deep"] {
                        symlink(target, &other).unwrap();
                        fs::rename(&other, &flip).unwrap();
                    }
                }
            });
            let (mut inside, mut refused) = (0, 0);
            let deadline = Instant::now() + Duration::from_secs(30);
            while (inside < 500 || refused < 500) && Instant::now() < deadline {
                match read(&folder, "flip/file").as_deref() {
                    Ok("deep inside") => inside += 1,
                    Ok(other) => panic!("{other}"),
                    Err(_) => refused += 1,
                }
                assert!(read(&folder, "flip/secret").is_err());
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(inside >= 500 && refused >= 500, "{inside} {refused}");
        });
    }
}
