//! Reads a log file, and what is appended to it later, across rotation.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::entry::Entry;
use super::folder::older;

/// A reader of one log file that goes on in the next one when the file is rotated.
pub(crate) struct Tail {
    path: PathBuf,
    current: Option<Opened>,
    /// The file that was rotated last. A process may not have noticed, and write its next line
    /// there.
    previous: Option<Opened>,
}

/// An open log file, read up to some place.
struct Opened {
    file: File,
    inode: u64,
    /// The beginning of a line whose end was not there yet.
    incomplete: Vec<u8>,
}

impl Tail {
    /// A reader that has not read anything.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, current: None, previous: None }
    }

    /// The file that is read.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Everything in the file and in the older one, up to `limit` entries, the last ones.
    pub(crate) fn begin(&mut self, limit: usize) -> Vec<Entry> {
        self.current = Opened::new(&self.path);
        let inode = self.current.as_ref().map(|opened| opened.inode);
        let older = Opened::new(&older(&self.path)).filter(|older| Some(older.inode) != inode);
        let mut lines = older.map(|mut older| older.lines()).unwrap_or_default();
        lines.extend(self.current.iter_mut().flat_map(Opened::lines));
        let first = lines.len().saturating_sub(limit);
        lines.iter().skip(first).filter_map(|line| Entry::read(line)).collect()
    }

    /// What was appended since the last time.
    pub(crate) fn more(&mut self) -> Vec<Entry> {
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
            // Rotated more than once: there is a whole file in between.
            let between = Opened::new(&older(&self.path));
            if let Some(mut between) = between.filter(|it| inode.is_some_and(|at| it.inode != at)) {
                lines.extend(between.lines());
            }
            self.previous = self.current.take();
            self.current = Opened::new(&self.path);
            lines.extend(self.current.iter_mut().flat_map(Opened::lines));
        }
        lines.iter().filter_map(|line| Entry::read(line)).collect()
    }
}

impl Opened {
    fn new(path: &PathBuf) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self { file, inode: metadata.ino(), incomplete: Vec::new() })
    }

    /// The complete lines that were not read yet.
    fn lines(&mut self) -> Vec<Vec<u8>> {
        let size = self.file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        if self.file.stream_position().is_ok_and(|position| position > size) {
            // Somebody has emptied it.
            self.incomplete.clear();
            _ = self.file.seek(SeekFrom::Start(0));
        }
        // What cannot be read is tried again the next time.
        _ = self.file.read_to_end(&mut self.incomplete);
        let mut lines: Vec<Vec<u8>> =
            self.incomplete.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.incomplete = lines.pop().unwrap_or_default();
        lines
    }
}
