//! A git repository with a history of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Its commits, an hour apart: author, file, line to add, subject.
const HISTORY: [[&str; 4]; 4] = [
    ["Ada", "engine.txt", "gears", "Draw the engine"],
    ["Grace", "compiler.txt", "words", "Write a compiler"],
    ["Ada", "engine.txt", "levers", "Add levers"],
    ["Zoë", "notes.txt", "ünïcode", "Take notes"],
];

/// Makes it in a new folder; its commits have the same hashes wherever it is made.
pub fn make_repository(folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    git(folder, "nobody", 0, &["init", "--quiet", "--initial-branch=main"]);
    for (hour, [author, file, line, subject]) in HISTORY.into_iter().enumerate() {
        let before = fs::read_to_string(folder.join(file)).unwrap_or_default();
        fs::write(folder.join(file), format!("{before}{line}\n")).expect("a file");
        git(folder, author, hour, &["add", "."]);
        git(folder, author, hour, &["commit", "--quiet", "--message", subject]);
    }
}

fn git(folder: &Path, author: &str, hour: usize, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // Without the git settings of the system and the user.
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), author)
            .env(format!("GIT_{role}_EMAIL"), "someone@example.com")
            .env(format!("GIT_{role}_DATE"), format!("2026-01-02T1{hour}:00:00+00:00"));
    }
    assert!(command.status().expect("git starts").success(), "git {arguments:?}");
}
