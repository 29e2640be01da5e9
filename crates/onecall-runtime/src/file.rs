//! Programs kept as files of their folder.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Characters of a name.
const LONGEST_NAME: usize = 100;

/// Writes a program to a file of this name in `folder`, in place of one that is there.
pub(crate) fn save(folder: &Path, name: &str, code: &str) -> Result<PathBuf, String> {
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
    let path = folder.join(name);
    let unfinished = folder.join(format!(".{name}.{}", std::process::id()));
    // A new file that takes the place of the old one: what programs put there may be a link
    // to somewhere else.
    let written = std::fs::File::create_new(&unfinished)
        .and_then(|mut file| file.write_all(code.as_bytes()))
        .and_then(|()| std::fs::rename(&unfinished, &path));
    if let Err(error) = written {
        _ = std::fs::remove_file(&unfinished);
        return Err(format!("cannot keep the program as '{name}': {error}"));
    }
    Ok(path)
}
