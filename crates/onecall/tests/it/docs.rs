//! The documents: every link leads somewhere, every page is in the book, and every command
//! that they show is one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Home, finish};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every document of the project, by its path.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

/// The text outside and inside of fences, line by line; of the latter with the word that
/// opens the fence.
fn lines(text: &str) -> (Vec<&str>, Vec<(&str, &str)>) {
    let (mut prose, mut code, mut fence) = (Vec::new(), Vec::new(), None);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), fence) {
            (Some(language), None) => fence = Some(language.trim()),
            (Some(_), Some(_)) => fence = None,
            (None, Some(language)) => code.push((language, line)),
            (None, None) => prose.push(line),
        }
    }
    (prose, code)
}

/// The targets of links in one line, but for those inside of code.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, piece) in line.split('`').enumerate() {
        // What stands between two marks is code.
        if at % 2 == 1 {
            continue;
        }
        for link in piece.split("](").skip(1) {
            found.extend(link.split([')', ' ']).next());
        }
    }
    // Where the text of a link is code, its target begins the next piece.
    found
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    let anchors: BTreeMap<&Path, BTreeSet<String>> = documents
        .iter()
        .map(|(path, text)| {
            let headings = lines(text).0.into_iter().filter(|line| line.starts_with('#'));
            (path.as_path(), headings.map(anchor).collect())
        })
        .collect();
    let (mut seen, mut broken) = (0, Vec::new());
    for (path, text) in &documents {
        for target in lines(text).0.into_iter().flat_map(targets) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            let leads_to = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let Ok(leads_to) = leads_to.canonicalize() else {
                broken.push(format!("{}: {target}", path.display()));
                continue;
            };
            let is_there =
                anchors.get(leads_to.as_path()).is_none_or(|known| known.contains(section));
            if !section.is_empty() && !is_there {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(seen > 10, "only {seen} links were found");
}

#[test]
fn every_page_is_in_the_book() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        summary.lines().flat_map(targets).map(|target| docs.join(target)).collect();
    let pages = documents().into_keys().filter(|path| path.starts_with(&docs));
    let pages: BTreeSet<PathBuf> = pages.filter(|path| !path.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, pages);
}

#[test]
fn the_readme_is_short_and_leads_to_every_chapter() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let length = readme.lines().count();
    assert!(length <= 200, "README.md has {length} lines");
    let linked: BTreeSet<&str> = readme
        .lines()
        .flat_map(targets)
        .filter_map(|target| target.split('#').next()?.strip_prefix("docs/"))
        .collect();
    let pages = fs::read_dir(root().join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let chapters = pages.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    let missing: Vec<String> = chapters.filter(|name| !linked.contains(name.as_str())).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_command_is_one() {
    let home = Home::new();
    let mut commands = BTreeSet::new();
    for text in documents().values() {
        for (language, line) in lines(text).1 {
            if !matches!(language, "sh" | "bash" | "console") {
                continue;
            }
            let command = line.split(" #").next().unwrap_or_default();
            let words: Vec<&str> = command.split_whitespace().collect();
            for pair in words.windows(2) {
                let [program, command] = pair else { continue };
                if *program == "onecall" && command.chars().all(|c| c.is_ascii_lowercase()) {
                    commands.insert((*command).to_owned());
                }
            }
        }
    }
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        let ended = finish(home.onecall(&[&command, "--help"]));
        assert_eq!(ended.code, Some(0), "onecall {command}: {}", ended.stderr);
    }
}
