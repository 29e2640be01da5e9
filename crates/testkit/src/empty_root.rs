//! A root folder with glibc and no other library, and how a command is run in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Libraries of glibc itself. Older ones have some functions in libraries of their own.
const GLIBC: [&str; 8] = [
    "libc",
    "libm",
    "libdl",
    "librt",
    "libutil",
    "libpthread",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
];

/// The loader of programs, which is a program that lists what another one needs.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Folders that a root has to have.
const FOLDERS: [&str; 4] = ["proc", "dev", "tmp", "outside"];

/// Makes the first argument the root of all, with the kernel's own files in it, and runs the rest
/// there. What was the root before stays visible, but no program looks for a library in there. A
/// mere `chroot` would not do: the kernel gives no namespaces to those who are in one.
const ENTER: &str = r#"mount --rbind "$0" "$0" && cd "$0" &&
    mount --rbind /proc proc && mount --rbind /dev dev && pivot_root . outside && exec "$@""#;

/// What a binary needs, by the paths of the libraries.
#[must_use]
pub fn libraries(binary: &Path) -> Vec<PathBuf> {
    let loader = LOADERS.iter().find(|path| Path::new(path).exists()).expect("glibc's loader");
    let listed = Command::new(loader).arg("--list").arg(binary).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.contains("not found"), "{listed}");
    let mut paths: Vec<PathBuf> =
        listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
    paths.push(loader.into());
    paths.sort();
    paths.dedup();
    paths
}

/// Whether a library is a part of glibc.
#[must_use]
pub fn is_of_glibc(library: &Path) -> bool {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    name.split(".so").next().is_some_and(|name| GLIBC.contains(&name))
}

/// Puts into `root` what a binary needs of glibc, and the folders that [`inside`] needs.
pub fn fill(root: &Path, binary: &Path) {
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for library in libraries(binary).into_iter().filter(|library| is_of_glibc(library)) {
        let copy = root.join(library.strip_prefix("/").unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&library, copy).unwrap();
    }
    fs::set_permissions(root.join("tmp"), Permissions::from_mode(0o777)).unwrap();
}

/// Runs the command that follows in namespaces where every user may mount. Where root runs the tests it
/// is an ordinary user that does: in a namespace that root has to itself, no threads are counted.
fn unshare() -> Command {
    let arguments = ["--user", "--map-root-user", "--mount"];
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        let mut command = Command::new("unshare");
        command.args(arguments);
        return command;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "unshare"]).args(arguments);
    command
}

/// A command that runs in `root`, with no environment but `PATH`.
#[must_use]
pub fn inside(root: &Path, command: &[&str]) -> Command {
    let mut unshare = unshare();
    unshare.args(["sh", "-c", ENTER]).arg(root).args(command).env_clear();
    unshare.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    unshare
}

/// Whether this machine has what it takes to enter another root.
#[must_use]
pub fn can_enter() -> bool {
    let script = "mount --rbind /proc /proc && command -v pivot_root";
    let mut unshare = unshare();
    unshare.args(["sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}
