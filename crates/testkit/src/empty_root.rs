//! A root folder that contains glibc and no other library, and running a command in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The libraries of glibc itself. Older versions have some functions in separate libraries.
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

/// The dynamic loader, which can list the libraries that a program needs.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Folders that a root must have.
const FOLDERS: [&str; 4] = ["proc", "dev", "tmp", "outside"];

/// Makes the first argument the root of the file system, with the kernel's own files in it, and
/// runs the rest there. The previous root stays visible, but no program looks for libraries there.
/// A `chroot` is not enough: the kernel refuses namespaces to processes in one.
const ENTER_ROOT_SCRIPT: &str = r#"mount --rbind "$0" "$0" && cd "$0" &&
    mount --rbind /proc proc && mount --rbind /dev dev && pivot_root . outside && exec "$@""#;

/// The paths of the libraries that a binary needs.
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

/// Copies the glibc files that a binary needs into `root`, and creates the folders that
/// [`command_in_root`] needs.
pub fn copy_glibc(root: &Path, binary: &Path) {
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

/// Runs the following command in namespaces where every user may mount. If root runs the tests, it
/// uses an ordinary user: in a namespace that belongs to root alone, threads are not counted.
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
pub fn command_in_root(root: &Path, command: &[&str]) -> Command {
    let mut unshare = unshare();
    unshare.args(["sh", "-c", ENTER_ROOT_SCRIPT]).arg(root).args(command).env_clear();
    unshare.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    unshare
}

/// Whether this machine supports entering another root.
#[must_use]
pub fn can_enter() -> bool {
    let script = "mount --rbind /proc /proc && command -v pivot_root";
    let mut unshare = unshare();
    unshare.args(["sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}
