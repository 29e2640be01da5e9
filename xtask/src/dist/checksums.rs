//! `SHA256SUMS`, the file for `sha256sum --check`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::binary::size;

/// The name of the file.
pub const FILE: &str = "SHA256SUMS";

/// Writes the checksums of all files in a folder; returns the files with their sizes as text.
pub fn write(folder: &Path) -> Result<String, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect::<Result<Vec<_>, String>>()?;
    paths.sort();
    let mut sums = String::new();
    let mut listed = format!("in {}:", folder.display());
    for path in paths {
        let content = fs::read(&path).map_err(failed)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(sums, "{}  {name}", hex(&Sha256::digest(&content)));
        let _ = write!(listed, "\n  {:>9}  {name}", size(content.len()));
    }
    fs::write(folder.join(FILE), sums).map_err(failed)?;
    let _ = write!(listed, "\n             {FILE}");
    Ok(listed)
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
