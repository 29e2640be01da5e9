//! Writes tables into documents, below a line that says what made them and when.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::cargo::root;

const BEGIN: &str = "<!-- made by: cargo xtask tokens;";
const END: &str = "<!-- end of what cargo xtask tokens made -->";

/// The line above the tables.
pub fn stamp() -> String {
    let unknown = |_| "unknown".to_owned();
    let commit = output_of("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(unknown);
    let date = output_of("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(unknown);
    format!("{BEGIN} commit: {commit}; date: {date} -->")
}

/// Fails if the commit does not contain everything that the tables were made with.
pub fn require_committed() -> Result<(), String> {
    let changed =
        output_of("git", &["status", "--porcelain", "--", "crates", "xtask", "Cargo.lock"])?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(format!(
            "tables are published with the commit that made them: commit your changes first ({})",
            first.trim()
        )),
    }
}

/// Replaces the tables in a document of this repository.
pub fn replace(document: &str, stamp: &str, tables: &str) -> Result<(), String> {
    let path = root().join(document);
    let text = fs::read_to_string(&path).map_err(|error| file_error(&path, "read", &error))?;
    let text = with_tables(&text, stamp, tables).ok_or_else(|| {
        format!("{document} has no place for tables: '{BEGIN} … -->' and '{END}'")
    })?;
    fs::write(&path, text).map_err(|error| file_error(&path, "write", &error))
}

fn with_tables(text: &str, stamp: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{stamp}\n{}\n{END}{after}", tables.trim_end()))
}

fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}

fn file_error(path: &Path, what: &str, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tables_are_replaced() {
        let text = format!("# A\n{BEGIN} commit: 1; date: 2 -->\nold\n{END}\nB\n");
        let new = with_tables(&text, "<!-- new -->", "| 1 |\n");
        assert_eq!(new, Some(format!("# A\n<!-- new -->\n| 1 |\n{END}\nB\n")));
        assert_eq!(with_tables("# A\n", "", ""), None);
    }

    #[test]
    fn documents_have_a_place_for_tables() {
        for document in ["docs/tokens.md", "README.md"] {
            let text = fs::read_to_string(root().join(document)).unwrap_or_default();
            assert!(with_tables(&text, "", "").is_some(), "{document}");
        }
    }
}
