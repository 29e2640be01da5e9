//! File access without a sandbox: the worker opens files itself, in the whole file system, as the
//! embedded Python does there.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::files::packets::{DirectoryEntry, FileAnswer, FileRequest, FileStatus, FolderPath};

/// The number of the root folder, which contains every file.
pub(super) const ROOT: u8 = u8::MAX;

/// The path of the root folder.
pub(super) const ROOT_PATH: &str = "/";

/// Executes a request; `respond` gets the answer, and the file if the request opened one.
pub(super) fn execute<T>(
    request: FileRequest<'_>,
    respond: impl FnOnce(FileAnswer<'_>, Option<OwnedFd>) -> T,
) -> io::Result<T> {
    match request {
        FileRequest::Open { target, flags, .. } => {
            let flags = OFlags::from_bits_retain(flags);
            let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
            let file = rustix::fs::open(whole_path(target), flags, mode)?;
            return Ok(respond(FileAnswer::Done, Some(file)));
        }
        FileRequest::Status { target, follow } => {
            let path = whole_path(target);
            let found = if follow { fs::metadata(path) } else { fs::symlink_metadata(path) }?;
            return Ok(respond(FileAnswer::Status(status(&found)), None));
        }
        FileRequest::List { target } => {
            let names = list(&whole_path(target))?;
            return Ok(respond(FileAnswer::Entries { last: true, names: &names }, None));
        }
        FileRequest::MakeDirectory { target, .. } => fs::create_dir(whole_path(target))?,
        FileRequest::RemoveFile { target } => fs::remove_file(whole_path(target))?,
        FileRequest::RemoveDirectory { target } => fs::remove_dir(whole_path(target))?,
        FileRequest::Rename { from, to } => fs::rename(whole_path(from), whole_path(to))?,
        FileRequest::ListMore
        | FileRequest::Access { .. }
        | FileRequest::ReadLink { .. }
        | FileRequest::Enter { .. }
        | FileRequest::SetMode { .. }
        | FileRequest::SetTimes { .. } => return Err(Errno::NOSYS.into()),
    }
    Ok(respond(FileAnswer::Done, None))
}

fn whole_path(target: FolderPath<'_>) -> PathBuf {
    Path::new(ROOT_PATH).join(std::ffi::OsStr::from_bytes(target.path))
}

/// The entries of a directory, as an answer has them.
fn list(path: &Path) -> io::Result<Vec<u8>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = match entry.file_type()? {
            kind if kind.is_dir() => FileType::Directory,
            kind if kind.is_file() => FileType::RegularFile,
            kind if kind.is_symlink() => FileType::Symlink,
            _ => FileType::Unknown,
        };
        let name = entry.file_name();
        let kind = kind.as_raw_mode();
        let entry = DirectoryEntry { name: name.as_bytes(), kind, inode: entry.ino() };
        entry.encode(&mut names);
    }
    Ok(names)
}

fn status(found: &fs::Metadata) -> FileStatus {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    [
        i64::from(found.mode()),
        signed(found.ino()),
        signed(found.dev()),
        signed(found.nlink()),
        signed(found.size()),
        nanoseconds(found.atime(), found.atime_nsec()),
        nanoseconds(found.mtime(), found.mtime_nsec()),
        nanoseconds(found.ctime(), found.ctime_nsec()),
        signed(found.blocks()),
        signed(found.blksize()),
    ]
}
