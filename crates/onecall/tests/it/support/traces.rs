//! What a program could leave behind, as it shows from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use testkit::process::{Process, descendants, wait_until};

use super::PATIENCE;

/// A state counts as one of rest when it was seen so often in a row.
const AT_REST: u32 = 10;

/// Where the gateway logs its warnings, which an attack may well cause.
const LOGS: &str = "state/onecall/logs";

/// All that must be the same before a program and after it.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    /// Parent, command line and whether it is a zombie. A worker is like another; a
    /// zygote in place of another shows by its children.
    processes: Vec<(u32, String, bool)>,
    /// Open in the gateway and in each zygote.
    descriptors: Vec<(String, u64)>,
    /// With what changes when they are written to.
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Traces {
    /// Looks at the processes of a gateway, at all files below `folders` except the gateway's own
    /// logs, and at those with `mark` in their name in places that everybody may write to.
    pub fn read(gateway: u32, folders: &[&Path], mark: &str) -> Self {
        let family = descendants(gateway);
        let zygotes = family.iter().filter(|process| is_zygote(process, gateway));
        let descriptors = zygotes
            .map(|zygote| (format!("zygote {}", zygote.pid), open_descriptors(zygote.pid)))
            .chain([("gateway".to_owned(), open_descriptors(gateway))])
            .collect();
        let mut processes: Vec<_> = family
            .iter()
            .map(|process| (process.parent, process.command.clone(), process.is_zombie()))
            .collect();
        processes.sort();
        let mut files = Vec::new();
        folders.iter().for_each(|folder| list(folder, &mut files));
        for shared in ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"] {
            let entries = fs::read_dir(shared).into_iter().flatten().filter_map(Result::ok);
            let marked = entries.filter(|entry| entry.file_name().to_string_lossy().contains(mark));
            files.extend(marked.map(|entry| (entry.path(), 0, None)));
        }
        files.sort();
        Self { processes, descriptors, files }
    }

    /// What `look` sees when it sees the same again and again.
    pub fn at_rest(mut look: impl FnMut() -> Self) -> Self {
        let mut last = look();
        let mut times = 0;
        let rested = wait_until(PATIENCE, || {
            let now = look();
            times = if now == last { times + 1 } else { 0 };
            last = now;
            times == AT_REST
        });
        assert!(rested, "it never rests: {last:#?}");
        last
    }

    /// What is here and not in `before`, and the reverse.
    pub fn difference(&self, before: &Self) -> String {
        let mut lines = changes(&before.processes, &self.processes);
        lines.extend(changes(&before.descriptors, &self.descriptors));
        lines.extend(changes(&before.files, &self.files));
        lines.join("\n")
    }
}

/// Whether this is the process that forks the workers of an engine.
pub fn is_zygote(process: &Process, gateway: u32) -> bool {
    process.parent == gateway && process.command.contains("zygote")
}

/// The size of the folder is their number, which the kernel tells even of a process that is closed
/// to others.
fn open_descriptors(pid: u32) -> u64 {
    fs::metadata(format!("/proc/{pid}/fd")).map_or(0, |folder| folder.len())
}

fn list(folder: &Path, files: &mut Vec<(PathBuf, u64, Option<SystemTime>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.ends_with(LOGS) {
            continue;
        }
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if about.is_dir() {
            list(&path, files);
        }
        files.push((path, about.len(), about.modified().ok()));
    }
}

fn changes<T: std::fmt::Debug + PartialEq>(before: &[T], after: &[T]) -> Vec<String> {
    let mut lost: Vec<&T> = before.iter().collect();
    let mut lines = Vec::new();
    for item in after {
        match lost.iter().position(|other| *other == item) {
            Some(same) => drop(lost.swap_remove(same)),
            None => lines.push(format!("  new: {item:?}")),
        }
    }
    lines.extend(lost.iter().map(|item| format!("  gone: {item:?}")));
    lines
}
