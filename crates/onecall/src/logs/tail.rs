//! Reads a log file and follows what is appended to it, across rotation.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::entry::LogFileEntry;
use super::folder::rotated_path;

/// A reader of one log file, which continues in the new file after a rotation.
pub(crate) struct Tail {
    path: PathBuf,
    current: Option<Opened>,
    /// The last rotated file. A process that has not noticed the rotation may still write to it.
    previous: Option<Opened>,
}

/// An open log file and the position up to which it was read.
struct Opened {
    file: File,
    inode: u64,
    /// The beginning of a line whose end has not been written yet.
    incomplete: Vec<u8>,
}

impl Tail {
    /// Creates a reader that has read nothing.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, current: None, previous: None }
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The last `limit` entries of the file and its older one.
    pub(crate) fn last_entries(&mut self, limit: usize) -> Vec<LogFileEntry> {
        self.current = Opened::new(&self.path);
        let inode = self.current.as_ref().map(|opened| opened.inode);
        let older =
            Opened::new(&rotated_path(&self.path)).filter(|older| Some(older.inode) != inode);
        let mut lines = older.map(|mut older| older.lines()).unwrap_or_default();
        lines.extend(self.current.iter_mut().flat_map(Opened::lines));
        let first = lines.len().saturating_sub(limit);
        lines.iter().skip(first).filter_map(|line| LogFileEntry::read(line)).collect()
    }

    /// The entries that were appended since the last call.
    pub(crate) fn new_entries(&mut self) -> Vec<LogFileEntry> {
        let mut lines = Vec::new();
        if let Some(mut previous) = self.previous.take() {
            lines.extend(previous.lines());
        }
        if let Some(current) = &mut self.current {
            lines.extend(current.lines());
        }
        let inode = self.current.as_ref().map(|opened| opened.inode);
        let named = fs::symlink_metadata(&self.path).ok().map(|named| named.ino());
        if named.is_some() && named != inode {
            // The file was rotated more than once, so there is a whole file in between.
            let between = Opened::new(&rotated_path(&self.path));
            if let Some(mut between) = between.filter(|it| inode.is_some_and(|at| it.inode != at)) {
                lines.extend(between.lines());
            }
            self.previous = self.current.take();
            self.current = Opened::new(&self.path);
            lines.extend(self.current.iter_mut().flat_map(Opened::lines));
        }
        lines.iter().filter_map(|line| LogFileEntry::read(line)).collect()
    }
}

impl Opened {
    fn new(path: &PathBuf) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self { file, inode: metadata.ino(), incomplete: Vec::new() })
    }

    /// The complete lines that have not been read yet.
    fn lines(&mut self) -> Vec<Vec<u8>> {
        let size = self.file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        if self.file.stream_position().is_ok_and(|position| position > size) {
            // The file was truncated.
            self.incomplete.clear();
            _ = self.file.seek(SeekFrom::Start(0));
        }
        // After an error, reading is tried again the next time.
        _ = self.file.read_to_end(&mut self.incomplete);
        let mut lines: Vec<Vec<u8>> =
            self.incomplete.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.incomplete = lines.pop().unwrap_or_default();
        lines
    }
}
