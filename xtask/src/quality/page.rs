//! The page `docs/quality.md`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use testkit::cargo::root;

const PAGE: &str = "docs/quality.md";

const INTRODUCTION: &str = "\
# Quality

Does a program that a model writes work the first time? This page counts it without a model, so that anyone can
repeat it: `cargo xtask quality` runs tasks, programs and tests that others wrote, and programs that were written
without looking at the answer first, through the real binary. It installs what it needs from PyPI and Debian, in
fixed versions, and needs no network after that. `cargo xtask quality --publish` writes this page.";

/// What one part of the suite found.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The result in a few words, for the table at the top.
    pub summary: String,
    /// The section as Markdown, without its heading.
    pub body: String,
    /// What falls short of the goals; the command fails if there is anything.
    pub shortfalls: Vec<String>,
}

/// The whole page.
pub fn render(sections: &[Section], profile: &str, took: Duration) -> String {
    let mut page = format!(
        "{INTRODUCTION}\n\nMade from commit {}, on {}, with the build profile `{profile}`, in {:.0} s.\n\n| part | result |\n|---|---|\n",
        output_of("git", &["rev-parse", "--short=12", "HEAD"]),
        output_of("date", &["-u", "+%Y-%m-%d"]),
        took.as_secs_f64(),
    );
    for section in sections {
        page.push_str(&format!("| {} | {} |\n", section.title, section.summary));
    }
    for section in sections {
        page.push_str(&format!("\n## {}\n\n{}\n", section.title, section.body.trim()));
    }
    page
}

/// Fails if something falls short of the goals.
pub fn shortfalls(sections: &[Section]) -> Result<(), String> {
    let found: Vec<&str> =
        sections.iter().flat_map(|section| &section.shortfalls).map(String::as_str).collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}

/// Writes the page into the book.
pub fn publish(text: &str) -> Result<(), String> {
    fs::write(root().join(PAGE), text).map_err(|error| format!("cannot write {PAGE}: {error}"))
}

/// Fails if the commit does not contain everything that the page was made with.
pub fn require_committed() -> Result<(), String> {
    let changed = ["status", "--porcelain", "--", "crates", "xtask", "tests", "Cargo.lock"];
    match output_of("git", &changed).lines().next() {
        None => Ok(()),
        Some(first) => Err(format!(
            "the page is published with the commit that made it: commit your changes first ({})",
            first.trim()
        )),
    }
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(title: &'static str, shortfalls: &[&str]) -> Section {
        let shortfalls = shortfalls.iter().map(|&it| it.to_owned()).collect();
        Section { title, summary: "3 of 4".to_owned(), body: "Text.\n".to_owned(), shortfalls }
    }

    #[test]
    fn the_page_has_a_table_and_a_section_for_each_part() {
        let page = render(&[section("One", &[]), section("Two", &[])], "debug", Duration::ZERO);
        let table = "| part | result |\n|---|---|\n| One | 3 of 4 |\n| Two | 3 of 4 |\n";
        let sections = "\n## One\n\nText.\n\n## Two\n\nText.\n";
        assert!(page.ends_with(&format!("{table}{sections}")), "{page}");
    }

    #[test]
    fn what_falls_short_fails_the_command() {
        assert_eq!(shortfalls(&[section("One", &[])]), Ok(()));
        let sections = [section("One", &["a"]), section("Two", &["b"])];
        assert_eq!(shortfalls(&sections), Err("a\nb".to_owned()));
    }
}
