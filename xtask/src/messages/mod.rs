//! `cargo xtask messages`: writes every text that a person or a model can be shown to one file,
//! `tests/messages.txt`. There, all texts can be read in one go, and the diff of a change shows
//! each text that it adds or alters.
//!
//! The texts are the string literals in the source of the product: the Rust of `crates/onecall*`,
//! the Python and JavaScript inside the engines, and the Python client. Tests, fixtures, the
//! benchmark and these commands are left out. Three rules decide which literals are messages:
//!
//! 1. A message has at least two words with a blank between them ([`text::is_message`]), so keys,
//!    paths, identifiers and separators are none. SQL is none, nor is code that onecall writes.
//! 2. A literal that is only compared with something is none: patterns, `contains("…")`,
//!    assertions ([`rust`]).
//! 3. The kind of a message follows from the construct around it (an error, a log line, a doc
//!    comment that clap prints), otherwise from its folder ([`Kind::of_file`]).

mod attributes;
mod kind;
mod rust;
mod script;
mod text;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::cargo::root;

use crate::dependencies::read;

use kind::Kind;

/// The file, relative to the top of the repository.
const FILE: &str = "tests/messages.txt";

/// Source files whose literals are data, not messages.
const DATA: [&str; 2] =
    ["crates/onecall-catalog/src/synonyms.rs", "crates/onecall/src/demo/data.rs"];

const USAGE: &str = "usage: cargo xtask messages [--check]";

/// The beginning of the file.
const HEAD: &str = "\
Every text that onecall can show to a person, a program or a model, as it is in the source.

`cargo xtask messages` writes this file. When a text in it changes, read the new one as a user who
has never seen the code: it says what happened, to what, and what to do, in the present tense. Words
in braces are filled in. The name before a text is the function, constant or type that contains it.
";

/// One text with its position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    kind: Kind,
    /// The path of the source file, relative to the top of the repository.
    file: String,
    /// The function, constant or type that contains the text; empty in Python and JavaScript.
    place: String,
    text: String,
}

/// Writes the file, or compares it with the source if the argument is `--check`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let path = root().join(FILE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => {
            let messages = messages()?;
            let failed = |error| format!("cannot write '{}': {error}", path.display());
            fs::write(&path, listing(&messages)).map_err(failed)?;
            for kind in Kind::ALL {
                let count = messages.iter().filter(|message| message.kind == kind).count();
                eprintln!("{count:5}  {}", kind.heading());
            }
            Ok(())
        }
        ["--check"] => {
            let now = listing(&messages()?);
            if read(&path).is_ok_and(|stored| stored == now) {
                return Ok(());
            }
            Err(format!(
                "{FILE} is out of date: a text in the source has changed; run `cargo xtask \
                 messages`, and read what changes in the file"
            ))
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Every message of the product, in the order of the files and of the source.
fn messages() -> Result<Vec<Message>, String> {
    let mut messages = Vec::new();
    for folder in source_folders()? {
        for name in ["lib.rs", "main.rs"] {
            let crate_root = folder.join(name);
            if crate_root.exists() {
                messages.extend(rust::messages(&crate_root)?);
            }
        }
        for path in script::files(&folder)? {
            messages.extend(script::messages(&path)?);
        }
    }
    messages.retain(|message| !DATA.contains(&message.file.as_str()));
    Ok(messages)
}

/// The folders with the source of the product, sorted.
fn source_folders() -> Result<Vec<PathBuf>, String> {
    let crates = root().join("crates");
    let failed = |error| format!("cannot list '{}': {error}", crates.display());
    let mut folders = vec![root().join("clients/python/src")];
    for entry in fs::read_dir(&crates).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with("onecall") {
            folders.push(entry.path().join("src"));
        }
    }
    folders.sort();
    Ok(folders)
}

/// The path of a source file as messages name it.
fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The whole file: the messages by kind, then by source file.
fn listing(messages: &[Message]) -> String {
    let mut listing = HEAD.to_owned();
    for kind in Kind::ALL {
        let of_kind: Vec<&Message> =
            messages.iter().filter(|message| message.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        _ = write!(listing, "\n\n=== {} ===\n", kind.heading());
        let files: BTreeSet<&str> = of_kind.iter().map(|message| message.file.as_str()).collect();
        for file in files {
            _ = write!(listing, "\n{file}\n");
            let mut written = BTreeSet::new();
            for message in of_kind.iter().filter(|message| message.file == file) {
                let line = line(message);
                if written.insert(line.clone()) {
                    listing.push_str(&line);
                }
            }
        }
    }
    listing
}

/// A message as a line of the file, or as several if the text has several.
fn line(message: &Message) -> String {
    let label = match message.place.as_str() {
        "" => String::new(),
        place => format!("{place}: "),
    };
    let text = message.text.trim();
    let mut lines = String::new();
    for (number, line) in text.lines().enumerate() {
        let beginning =
            if number == 0 { format!("  {label}{line}") } else { format!("      {line}") };
        lines.push_str(beginning.trim_end());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_messages_are_those_of_the_source() {
        assert_eq!(run(&["--check".to_owned()]), Ok(()));
    }

    #[test]
    fn every_kind_of_message_is_found() {
        let messages = messages().expect("messages");
        for kind in Kind::ALL {
            assert!(messages.iter().any(|message| message.kind == kind), "{}", kind.heading());
        }
    }

    #[test]
    fn messages_are_listed_once_by_kind_and_file() {
        let message = |kind, file: &str, place: &str, text: &str| Message {
            kind,
            file: file.to_owned(),
            place: place.to_owned(),
            text: text.to_owned(),
        };
        let listing = listing(&[
            message(Kind::Log, "b.rs", "start (warn)", "the server has stopped"),
            message(Kind::Error, "b.rs", "read", "cannot read\n  the file\n"),
            message(Kind::Error, "a.rs", "write", "cannot write it"),
            message(Kind::Error, "b.rs", "read", "cannot read\n  the file\n"),
            message(Kind::Program, "c.py", "", "a program reads this"),
        ]);
        insta::assert_snapshot!(listing.strip_prefix(HEAD).unwrap_or_default(), @"
        === Errors ===

        a.rs
          write: cannot write it

        b.rs
          read: cannot read
                the file


        === Log lines ===

        b.rs
          start (warn): the server has stopped


        === Python and JavaScript inside the engines ===

        c.py
          a program reads this
        ");
    }
}
