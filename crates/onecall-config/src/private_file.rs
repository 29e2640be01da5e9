//! Files in which we remember something for the user, and for nobody else.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

/// Writes `contents` as JSON to a file that only its owner can read. It is replaced in
/// one step, so that a reader sees the old or the new one.
///
/// # Errors
/// What the system says.
pub fn replace_private_file(path: &Path, contents: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    // Created so that only the owner can read it.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, contents)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
