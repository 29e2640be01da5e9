//! The folder of log files: their names, and the removal of old ones.

use std::fs::{self, DirBuilder, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use onecall_config::{ProcessContext, check_own_folder};

/// How long the log files of a server are kept after their last line.
const RETENTION: Duration = Duration::from_secs(30 * 86_400);

/// The total size of all servers' log files when a gateway starts. The oldest are removed first.
const MAX_TOTAL_BYTES: u64 = 100 * 1024 * 1024;

/// Longest file name before the extension, in bytes. File systems allow 255 in total.
const MAX_STEM_BYTES: usize = 200;

/// The user's folder of log files. It is created when the first line is written.
#[derive(Clone, Debug)]
pub(crate) struct LogFolder {
    path: PathBuf,
}

impl LogFolder {
    /// The folder in the user's state directory; `None` if the user has none.
    pub(crate) fn of_user() -> Option<Self> {
        let state = ProcessContext::current().directories.state?;
        Some(Self { path: state.join("onecall/logs") })
    }

    /// The path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The log file of the gateway.
    pub(crate) fn gateway(&self) -> PathBuf {
        self.path.join("gateway.log")
    }

    /// The log file of a server.
    pub(crate) fn server(&self, name: &str) -> PathBuf {
        self.servers().join(format!("{}.log", file_stem(name)))
    }

    /// The lock file for rotating a log file.
    pub(super) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    fn servers(&self) -> PathBuf {
        self.path.join("servers")
    }

    /// The log files of the gateway and of all servers, without rotated files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let servers = self.server_files().into_iter().map(|(path, _)| path);
        let is_log = |path: &PathBuf| path.extension().is_some_and(|it| it == "log");
        std::iter::once(self.gateway()).chain(servers.filter(is_log)).collect()
    }

    /// The names of the servers that have a log file.
    pub(crate) fn server_names(&self) -> Vec<String> {
        let files = self.files().into_iter().skip(1);
        files.filter_map(|path| server_name(path.file_stem()?.to_str()?)).collect()
    }

    /// Creates the folders, with access for this user alone.
    pub(super) fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.servers())?;
        check_own_folder(&self.path)?;
        check_own_folder(&self.servers())
    }

    /// Removes the files of a server that is no longer configured.
    pub(crate) fn remove_server(&self, name: &str) {
        let file = self.server(name);
        // Most servers have no older file, and many none at all.
        _ = fs::remove_file(rotated_path(&file));
        _ = fs::remove_file(file);
    }

    /// Removes the files of servers that have not logged for long, and the oldest files if all of
    /// them are too large.
    pub(super) fn remove_old_files(&self) {
        let mut files = self.server_files();
        files.sort_by_key(|(_, metadata)| std::cmp::Reverse(metadata.modified().ok()));
        let now = SystemTime::now();
        let mut total: u64 = 0;
        for (path, metadata) in files {
            total = total.saturating_add(metadata.len());
            let age = metadata.modified().ok().and_then(|then| now.duration_since(then).ok());
            if total > MAX_TOTAL_BYTES || age.is_some_and(|age| age > RETENTION) {
                // Another process may have removed it.
                _ = fs::remove_file(path);
            }
        }
    }

    fn server_files(&self) -> Vec<(PathBuf, Metadata)> {
        let entries = fs::read_dir(self.servers()).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
        files.filter(|(_, metadata)| metadata.is_file()).collect()
    }
}

/// The name of a rotated file. It replaces the previous one.
pub(super) fn rotated_path(path: &Path) -> PathBuf {
    path.with_added_extension("1")
}

/// The name of a server as part of a file name: special bytes are written as `%` and two
/// hexadecimal digits. Names that are too long get a hash.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => stem.push(char::from(byte)),
            other => stem.push_str(&format!("%{other:02x}")),
        }
    }
    if stem.len() > MAX_STEM_BYTES {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        stem.truncate(MAX_STEM_BYTES - 17);
        stem.push_str(&format!("~{:016x}", hasher.finish()));
    }
    stem
}

/// The name that [`file_stem`] was made from; `None` if it was too long.
fn server_name(stem: &str) -> Option<String> {
    let mut pieces = stem.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(piece.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok().filter(|name| file_stem(name) == stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_file_of_its_own_in_the_folder() {
        let names = ["files", "a/b", "../x", ".", "", "ü ber", "a%2fb", "A", "x.log", "-"];
        for name in names {
            let stem = file_stem(name);
            assert!(!stem.contains(['/', '.']), "{stem}");
            assert_eq!(server_name(&stem).as_deref(), Some(name));
        }
        let (long, longer) = ("é".repeat(500), "é".repeat(501));
        assert_ne!(file_stem(&long), file_stem(&longer));
        assert_eq!(file_stem(&long).len(), MAX_STEM_BYTES);
        assert_eq!(server_name(&file_stem(&long)), None);
    }
}
