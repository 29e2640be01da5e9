//! What only Linux has is used where other systems have something in its place: below `linux/`, in
//! a `linux.rs`, or in a `system.rs` with a counterpart for each function.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls, flags, crates and places that only Linux has.
const LINUX_ONLY: [&str; 24] = [
    "landlock::",
    "seccomp_data",
    "rustix::mount",
    "libc::SYS_",
    "std::os::linux",
    "unshare",
    "chroot",
    "set_no_new_privs",
    "CapabilitySet",
    "Resource::Msgqueue",
    "openat2(",
    "OFlags::PATH",
    "pidfd_open",
    "eventfd",
    "SocketType::SEQPACKET",
    "SocketFlags::CLOEXEC",
    "CMSG_CLOEXEC",
    "SendFlags::NOSIGNAL",
    "fcntl_setpipe_size",
    "set_tcp_user_timeout",
    "set_dumpable_behavior",
    "set_parent_process_death_signal",
    "transparent_huge_pages",
    "\"/proc/",
];

/// Files that ask for a place of Linux and do without where it does not exist.
const ELSEWHERE: [&str; 2] =
    ["onecall-engine/src/machine_memory.rs", "onecall/src/commands/doctor/versions.rs"];

/// Crates that no user runs.
const OUR_OWN: [&str; 2] = ["bench", "testkit"];

/// A source file of the product.
struct Source {
    /// Below the folder of all crates.
    path: String,
    /// Without comments, and without the tests at its end.
    code: String,
}

impl Source {
    fn read(crates: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        Self {
            path: path.strip_prefix(crates).unwrap().to_str().unwrap().to_owned(),
            code: code.lines().filter(is_code).collect::<Vec<_>>().join("\n"),
        }
    }

    fn has_counterpart(&self) -> bool {
        let names: Vec<&str> = self.path.split('/').collect();
        names.iter().any(|name| ["linux", "linux.rs", "system.rs"].contains(name))
    }
}

fn sources() -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !OUR_OWN.iter().any(|name| path.ends_with(name)))
        .map(|path| path.join("src"))
        .collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // A program of the jail's own tests.
            if path.ends_with("onecall-jail/src/bin") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                sources.push(Source::read(crates, &path));
            }
        }
    }
    sources
}

#[test]
fn what_only_linux_has_is_used_where_other_systems_have_a_counterpart() {
    let sources = sources();
    let mut astray = Vec::new();
    for name in LINUX_ONLY {
        let using: Vec<&Source> = sources.iter().filter(|it| it.code.contains(name)).collect();
        assert!(using.iter().any(|it| it.has_counterpart()), "`{name}` is used nowhere: remove it");
        let not_there = using.iter().filter(|it| !it.has_counterpart());
        astray.extend(
            not_there
                .filter(|it| !ELSEWHERE.contains(&it.path.as_str()))
                .map(|it| format!("{}: {name}", it.path)),
        );
    }
    astray.sort();
    assert!(astray.is_empty(), "move this to a `linux` module:\n{}", astray.join("\n"));
}

#[test]
fn each_function_for_linux_has_a_counterpart() {
    let mut seen = 0;
    for Source { path, code } in sources().iter().filter(|it| it.path.ends_with("system.rs")) {
        let count = |cfg: &str| code.matches(cfg).count();
        let linux = count("#[cfg(target_os = \"linux\")]");
        assert_eq!(linux, count("#[cfg(not(target_os = \"linux\"))]"), "{path}");
        seen += linux;
    }
    assert!(seen > 0, "no `system.rs` was found");
}
