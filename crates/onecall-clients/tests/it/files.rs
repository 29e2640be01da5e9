//! Files of other programs are replaced whole or not at all.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use onecall_clients::{FileError, ReadableBy, TextFile};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn rights_stay() {
    let folder = folder();
    for rights in [0o600, 0o644, 0o664] {
        let path = written(folder.path(), "a.json", "old");
        fs::set_permissions(&path, fs::Permissions::from_mode(rights)).unwrap();
        TextFile::read(&path).unwrap().replace("new", ReadableBy::Owner).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("new", rights));
    }
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn a_new_file_is_its_owners() {
    let folder = folder();
    let path = folder.path().join("deep/er/a.json");
    TextFile::read(&path).unwrap().replace("new", ReadableBy::Owner).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder();
    let target = written(folder.path(), "dotfiles.json", "old");
    let link = folder.path().join("a.json");
    symlink("dotfiles.json", &link).unwrap();
    TextFile::read(&link).unwrap().replace("new", ReadableBy::Owner).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(target).unwrap(), "new");
    let backup = TextFile::read(&link).unwrap().back_up().unwrap().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), "new");
}

#[test]
fn a_link_to_nothing_is_left_alone() {
    let folder = folder();
    let link = folder.path().join("a.json");
    symlink("gone.json", &link).unwrap();
    assert!(matches!(TextFile::read(&link), Err(FileError::DanglingLink { .. })));
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn what_was_written_meanwhile_is_not_lost() {
    let folder = folder();
    let path = written(folder.path(), "a.json", "old");
    let file = TextFile::read(&path).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(
        file.replace("ours", ReadableBy::Owner),
        Err(FileError::ChangedSinceRead { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");

    let path = folder.path().join("new.json");
    let file = TextFile::read(&path).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(
        file.replace("ours", ReadableBy::Owner),
        Err(FileError::ChangedSinceRead { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(names(folder.path()), ["a.json", "new.json"]);
}

#[test]
fn hard_links_are_not_parted() {
    let folder = folder();
    let path = written(folder.path(), "a.json", "old");
    fs::hard_link(&path, folder.path().join("b.json")).unwrap();
    let replaced = TextFile::read(&path).unwrap().replace("new", ReadableBy::Owner);
    assert!(matches!(replaced, Err(FileError::HardLinked { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn what_is_no_text_file_is_named() {
    let folder = folder();
    assert!(matches!(TextFile::read(folder.path()), Err(FileError::NotAFile { .. })));
    let path = folder.path().join("a.json");
    fs::write(&path, b"{\n\"a\": \xff}").unwrap();
    assert!(matches!(TextFile::read(&path), Err(FileError::NotText { line: 2, .. })));
}

#[test]
fn each_copy_has_its_own_name() {
    let folder = folder();
    let path = written(folder.path(), "a.json", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let file = TextFile::read(&path).unwrap();
    let copies = [file.back_up().unwrap().unwrap(), file.back_up().unwrap().unwrap()];
    assert_ne!(copies[0], copies[1]);
    for copy in copies {
        assert_eq!((fs::read_to_string(&copy).unwrap().as_str(), mode(&copy)), ("old", 0o640));
        assert!(copy.to_string_lossy().contains("a.json.onecall-backup-"));
    }
}
