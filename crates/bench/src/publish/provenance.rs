//! The provenance of published results: the line above each table, and the check whether the
//! present benchmark made it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use testkit::cargo::root;

/// The sources of the benchmark, relative to the top of the workspace.
pub const SOURCES: &str = "crates/bench/src";

/// The part of the sources that only presents results.
const PRESENTATION: &str = "publish";

/// The beginning of the line.
pub const BEGIN: &str = "<!-- made by: ";
const END: &str = " -->";

/// Which command made a table, from which commit, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    pub command: String,
    /// The commit that was measured.
    pub commit: String,
    pub date: String,
    /// The digest of the benchmark's sources.
    pub benchmark: String,
}

impl Provenance {
    /// The provenance of results that are made now.
    pub fn now(command: &str) -> Result<Self, String> {
        let commit = git(&["rev-parse", "--short=12", "HEAD"]).ok_or("this is no git checkout")?;
        let output = Command::new("date").args(["-u", "+%F"]).output();
        let date = output.map_err(|error| format!("date cannot be started: {error}"))?;
        Ok(Self {
            command: command.to_owned(),
            commit,
            date: String::from_utf8_lossy(&date.stdout).trim().to_owned(),
            benchmark: digest(&root().join(SOURCES))?,
        })
    }

    pub fn to_line(&self) -> String {
        let Self { command, commit, date, benchmark } = self;
        format!("{BEGIN}{command}; commit: {commit}; date: {date}; benchmark: {benchmark}{END}")
    }

    /// Parses such a line; `None` if it is another one.
    #[cfg(test)]
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        let fields = line.trim().strip_prefix(BEGIN)?;
        let missing = |what: &str| format!("no {what} in '{line}'");
        let parse = || {
            let fields = fields.strip_suffix(END).ok_or_else(|| missing("end"))?;
            let mut parts = fields.split("; ");
            let command = parts.next().unwrap_or_default().to_owned();
            let mut field = |name: &str| {
                let part = parts.next().and_then(|part| part.strip_prefix(name));
                let value = part.and_then(|part| part.strip_prefix(": "));
                let value = value.filter(|value| !value.is_empty());
                value.map(str::to_owned).ok_or_else(|| missing(name))
            };
            Ok(Self {
                command,
                commit: field("commit")?,
                date: field("date")?,
                benchmark: field("benchmark")?,
            })
        };
        Some(parse())
    }
}

/// Twelve hex digits of a digest of all files in the folder, except those that only present
/// results.
pub fn digest(folder: &Path) -> Result<String, String> {
    let mut files = Vec::new();
    list(folder, &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        let content = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        hash.update(name.len().to_le_bytes());
        hash.update(&name);
        hash.update(content.len().to_le_bytes());
        hash.update(&content);
    }
    Ok(hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if path.file_name().is_none_or(|name| name != PRESENTATION) {
            list(&path, files)?;
        }
    }
    Ok(())
}

/// The output of git, if it succeeds with any.
pub fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_written_into_it() {
        let made = Provenance {
            command: "cargo xtask bench --publish".to_owned(),
            commit: "0123456789ab".to_owned(),
            date: "2026-11-15".to_owned(),
            benchmark: "aabbccddeeff".to_owned(),
        };
        assert_eq!(Provenance::parse(&made.to_line()), Some(Ok(made)));
        assert_eq!(Provenance::parse("| a | table |"), None);
        let broken = "<!-- made by: cargo xtask bench; commit: ; date: x -->";
        assert_eq!(Provenance::parse(broken), Some(Err(format!("no commit in '{broken}'"))));
    }

    #[test]
    fn the_benchmark_has_a_digest_without_its_presentation() {
        let folder = root().join(SOURCES);
        let mut files = Vec::new();
        list(&folder, &mut files).unwrap();
        assert!(files.contains(&folder.join("lib.rs")));
        assert!(!files.iter().any(|path| path.starts_with(folder.join(PRESENTATION))));
        assert_eq!(digest(&folder).unwrap().len(), 12);
    }
}
