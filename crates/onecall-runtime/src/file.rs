//! Programs kept as files of their folder.

use std::io::Write;
use std::path::PathBuf;

use onecall_engine::{WorkspaceRoom, is_run_by_others};

/// Characters of a name.
const LONGEST_NAME: usize = 100;

/// Writes a program to a file of this name where there is `room` for it, in place of one
/// that is there.
pub(crate) fn save(room: &WorkspaceRoom, name: &str, code: &str) -> Result<PathBuf, String> {
    let is_plain = |it: char| it.is_alphanumeric() || "-_. ".contains(it);
    let is_name = !name.starts_with('.')
        && (1..=LONGEST_NAME).contains(&name.chars().count())
        && name.chars().all(is_plain);
    if !is_name {
        return Err(format!(
            "'filename' must be a plain name of letters, digits, '-', '_' and '.' with at most \
             {LONGEST_NAME} characters"
        ));
    }
    if is_run_by_others(name) {
        return Err(format!(
            "'filename' is '{name}', a name of files that other programs run; choose another name"
        ));
    }
    let cannot = |reason: String| format!("cannot keep the program as '{name}': {reason}");
    room.check(u64::try_from(code.len()).unwrap_or(u64::MAX)).map_err(cannot)?;
    let path = room.folder.join(name);
    let unfinished = room.folder.join(format!(".{name}.{}", std::process::id()));
    // A new file that takes the place of the old one: what programs put there may be a link
    // to somewhere else.
    let written = std::fs::File::create_new(&unfinished)
        .and_then(|mut file| file.write_all(code.as_bytes()))
        .and_then(|()| std::fs::rename(&unfinished, &path));
    if let Err(error) = written {
        _ = std::fs::remove_file(&unfinished);
        return Err(cannot(error.to_string()));
    }
    Ok(path)
}
