//! Saves programs as files in the folder that programs may write to.

use std::io::Write;
use std::path::PathBuf;

use onecall_engine::{WorkspaceWriteLock, is_protected_file_name};
use thiserror::Error;

/// Longest file name, in characters.
const LONGEST_NAME: usize = 100;

/// Why a program was not saved as a file.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The text is not a valid file name.
    #[error(
        "'filename' must be a plain name of letters, digits, '-', '_' and '.' with at most \
         {LONGEST_NAME} characters"
    )]
    InvalidName,
    /// A tool outside of onecall would run a file of this name.
    #[error("'filename' is '{0}', a name of files that other programs run; choose another name")]
    RunByOthers(String),
    /// The folder has no room for the file, or the file cannot be written.
    #[error("cannot keep the program as '{name}': {reason}")]
    NotWritten {
        /// The name of the file.
        name: String,
        /// Why the file cannot be written.
        reason: String,
    },
}

/// Writes a program to a file of this name in the folder of `room`, and replaces an existing file.
pub(crate) fn save(
    room: &WorkspaceWriteLock,
    name: &str,
    code: &str,
) -> Result<PathBuf, SaveError> {
    let is_plain = |it: char| it.is_alphanumeric() || "-_. ".contains(it);
    let is_name = !name.starts_with('.')
        && (1..=LONGEST_NAME).contains(&name.chars().count())
        && name.chars().all(is_plain);
    if !is_name {
        return Err(SaveError::InvalidName);
    }
    if is_protected_file_name(name) {
        return Err(SaveError::RunByOthers(name.to_owned()));
    }
    let not_written = |reason| SaveError::NotWritten { name: name.to_owned(), reason };
    let bytes = u64::try_from(code.len()).unwrap_or(u64::MAX);
    room.check(bytes).map_err(|full| not_written(full.to_string()))?;
    let path = room.folder.join(name);
    let unfinished = room.folder.join(format!(".{name}.{}", std::process::id()));
    // The existing file may be a link that a program has made. Writing a new file and renaming it
    // replaces the link and does not follow it.
    let written = std::fs::File::create_new(&unfinished)
        .and_then(|mut file| file.write_all(code.as_bytes()))
        .and_then(|()| std::fs::rename(&unfinished, &path));
    if let Err(error) = written {
        _ = std::fs::remove_file(&unfinished);
        return Err(not_written(error.to_string()));
    }
    Ok(path)
}
