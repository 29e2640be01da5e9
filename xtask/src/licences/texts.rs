//! The texts of licences, each once, with the packages that it applies to.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::cargo::root;

use crate::dependencies::{Package, read};

/// Texts for packages that declare a licence without including its text.
const STANDARD: [(&str, &[&str]); 4] = [
    ("MIT", &["LICENSE-MIT"]),
    ("Apache-2.0", &["LICENSE-APACHE"]),
    ("CC0-1.0", &["xtask/src/licences/texts/CC0-1.0.txt"]),
    // The second text is part of the first.
    (
        "LGPL-3.0-only",
        &["xtask/src/licences/texts/LGPL-3.0.txt", "xtask/src/licences/texts/GPL-3.0.txt"],
    ),
];

/// The beginnings of the names of files with licences and notices.
const NAMES: [&str; 7] =
    ["license", "licence", "unlicense", "copying", "copyright", "notice", "psf-license"];

/// Folders of packages from which nothing is in the binary.
const NOT_SHIPPED: [&str; 6] = ["tests", "benches", "examples", "testsuite", "libffi", "wasi-libc"];

/// Licence texts, by their words.
#[derive(Default)]
pub struct Texts(BTreeMap<String, Text>);

/// One licence text.
struct Text {
    body: String,
    /// The packages that it applies to, each with the lines that name its owners.
    packages: BTreeMap<String, Vec<String>>,
}

impl Texts {
    /// Adds all texts of a package; if it has none, those of the licence it declares.
    pub fn add(&mut self, package: &Package) -> Result<(), String> {
        let mut files = Vec::new();
        find(&package.folder, &mut files)?;
        files.extend(package.license_file.clone());
        files.sort();
        files.dedup();
        for file in &files {
            let (owners, body) = split(&read(file)?);
            self.insert(package, owners, body);
        }
        if files.is_empty() {
            for body in standard(package)? {
                self.insert(package, owners(package), body);
            }
        }
        Ok(())
    }

    fn insert(&mut self, package: &Package, owners: Vec<String>, body: String) {
        let words: Vec<&str> = body.split_whitespace().collect();
        let text = self.0.entry(words.join(" ").to_lowercase());
        let text = text.or_insert_with(|| Text { body, packages: BTreeMap::new() });
        let known = text.packages.entry(package.id()).or_default();
        known.extend(owners);
        known.dedup();
    }
}

impl fmt::Display for Texts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in self.0.values() {
            writeln!(formatter, "{}\n", "=".repeat(100))?;
            for (package, owners) in &text.packages {
                writeln!(formatter, "  {package}")?;
                owners.iter().try_for_each(|owner| writeln!(formatter, "    {owner}"))?;
            }
            writeln!(formatter, "\n{}\n", text.body)?;
        }
        Ok(())
    }
}

/// Files with licences and notices in a folder and below it.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_code = name.ends_with(".rs") || name.ends_with(".py") || name.ends_with(".toml");
        if path.is_dir() && !NOT_SHIPPED.contains(&name.as_str()) {
            find(&path, found)?;
        } else if path.is_file() && !is_code && NAMES.iter().any(|start| name.starts_with(start)) {
            found.push(path);
        }
    }
    Ok(())
}

/// The lines of a licence that name its owners, and the rest, which many packages share.
fn split(text: &str) -> (Vec<String>, String) {
    let is_owner = |line: &&str| {
        let line = line.trim_start_matches([' ', '*', '-']);
        let is_dated = line.contains("(c)") || line.contains('©') || line.contains("(C)");
        line.starts_with("Copyright")
            && (is_dated || line.split(|c: char| !c.is_ascii_digit()).any(|it| it.len() == 4))
    };
    // Some texts still contain form feeds.
    let text = text.replace('\u{c}', "");
    let (owners, body): (Vec<&str>, Vec<&str>) =
        text.lines().map(str::trim_end).partition(is_owner);
    let owners = owners.iter().map(|line| line.trim().to_owned()).collect();
    (owners, body.join("\n").trim_matches('\n').to_owned())
}

/// The owners of a package without a licence file.
fn owners(package: &Package) -> Vec<String> {
    match package.authors.as_slice() {
        [] => vec![format!("Copyright (c) the authors of {}", package.name)],
        authors => authors.iter().map(|author| format!("Copyright (c) {author}")).collect(),
    }
}

/// The standard texts of the licence that a package declares.
fn standard(package: &Package) -> Result<Vec<String>, String> {
    let expression = package.license.as_deref().unwrap_or_default();
    let mut choices = expression.split(" OR ").flat_map(|choice| choice.split('/'));
    let known = |choice: &str| STANDARD.iter().find(|(name, _)| *name == choice.trim());
    let Some((_, files)) = choices.find_map(known) else {
        return Err(format!("there is no text of the licence of {}: {expression}", package.id()));
    };
    files.iter().map(|file| Ok(split(&read(&root().join(file))?).1)).collect()
}

#[test]
fn owners_are_told_from_the_text_that_is_shared() {
    let text = "MIT License\n\nCopyright (c) 2020 Ada\n  Copyright 2021-2022 Bob\n\nPermission is \
                granted\nCopyright [yyyy] [name of copyright owner]\nCOPYRIGHT HOLDERS\n";
    let (owners, body) = split(text);
    assert_eq!(owners, ["Copyright (c) 2020 Ada", "Copyright 2021-2022 Bob"]);
    assert_eq!(
        body,
        "MIT License\n\n\nPermission is granted\nCopyright [yyyy] [name of copyright owner]\n\
         COPYRIGHT HOLDERS"
    );
}
