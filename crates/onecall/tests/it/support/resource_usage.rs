//! Measures what a program could leave behind: processes, open descriptors and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use testkit::process::{Process, descendants, wait_until};

use super::TIMEOUT;

/// A gateway counts as idle when its resources were equal this many times in a row.
const IDLE_REPEATS: u32 = 10;

/// Where the gateway logs its warnings, which an attack may well cause.
const LOGS: &str = "state/onecall/logs";

/// The resources of a gateway, which must be equal before and after a program.
#[derive(Debug, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Parent, command line and whether it is a zombie. A worker is like another; a
    /// zygote in place of another shows by its children.
    processes: Vec<(u32, String, bool)>,
    /// Open in the gateway and in each zygote.
    descriptors: Vec<(String, u64)>,
    /// With what changes when they are written to.
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
    /// Whether all zygotes wait for requests. One that still prepares itself opens and closes files.
    zygotes_wait: bool,
}

impl ResourceUsage {
    /// Looks at the processes of a gateway, at all files below `folders` except the gateway's own
    /// logs, and at those with `mark` in their name in folders that every user may write to.
    pub fn read(gateway: u32, folders: &[&Path], mark: &str) -> Self {
        let processes_below = descendants(gateway);
        let zygotes = processes_below.iter().filter(|process| is_zygote(process, gateway));
        let zygotes_wait = zygotes.clone().all(|zygote| zygote.state == 'S');
        let descriptors = zygotes
            .map(|zygote| (format!("zygote {}", zygote.pid), open_descriptors(zygote.pid)))
            .chain([("gateway".to_owned(), open_descriptors(gateway))])
            .collect();
        let mut processes: Vec<_> = processes_below
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
        Self { processes, descriptors, files, zygotes_wait }
    }

    /// Calls `read` until its result stays the same, and returns that.
    pub fn when_idle(mut read: impl FnMut() -> Self) -> Self {
        let mut last = read();
        let mut times = 0;
        let is_idle = wait_until(TIMEOUT, || {
            let now = read();
            times = if now == last && now.zygotes_wait { times + 1 } else { 0 };
            last = now;
            times == IDLE_REPEATS
        });
        assert!(is_idle, "it never rests: {last:#?}");
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

/// The number of open descriptors: the size of the folder, which the kernel shows even for a
/// process that is protected from others.
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
