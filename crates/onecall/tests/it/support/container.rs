//! onecall in an emulation of a container.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::bins;
use testkit::container::{Container, Seccomp};

use super::Home;

/// The user id in the container image of onecall.
pub const ORDINARY_USER: u32 = 10_001;

/// The executables that run in a container.
const BINARIES: [&str; 2] = ["onecall", "fixture-server"];

/// A container, and copies of our executables that its user can reach.
pub struct TestContainer {
    /// What it is, in a few words.
    pub name: &'static str,
    container: Container,
    binaries: TempDir,
}

impl TestContainer {
    /// Copies the executables for the user of the container.
    pub fn new(name: &'static str, container: Container) -> Self {
        let binaries = tempfile::tempdir().expect("a temporary folder");
        open_to_all(binaries.path());
        for name in BINARIES {
            // By another process: a descriptor of ours that is open for writing would be
            // inherited by what another thread starts, and the file could not be executed.
            let copy = binaries.path().join(name);
            let status = Command::new("cp").arg(bins::find(name)).arg(&copy).status();
            assert!(status.expect("cp starts").success());
            open_to_all(&copy);
        }
        Self { name, container, binaries }
    }

    /// Docker's default profile and capabilities, as root where that can be had, as an
    /// ordinary user, and as one on a kernel without landlock.
    #[allow(clippy::print_stderr, reason = "a skipped check is to be seen")]
    pub fn all() -> Vec<Self> {
        let user = ordinary_user();
        let mut all = Vec::new();
        if is_root() {
            all.push(Self::new("as root", Container::default()));
        } else {
            eprintln!("skipped: no container as root, because these tests do not run as root");
        }
        all.push(Self::as_ordinary_user());
        let without_landlock = Container { user, without_landlock: true, ..Container::default() };
        all.push(Self::new("without landlock", without_landlock));
        all
    }

    /// Docker's default profile, as an ordinary user.
    pub fn as_ordinary_user() -> Self {
        let container = Container { user: ordinary_user(), ..Container::default() };
        Self::new("as an ordinary user", container)
    }

    /// The profile that is shipped, as root where that can be had and as an ordinary user.
    pub fn with_shipped_profile() -> Vec<Self> {
        let profile =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/container/seccomp.json");
        let seccomp = Seccomp::File(profile);
        let of_user = Container { user: ordinary_user(), seccomp, without_landlock: false };
        let of_root = Container { user: None, ..of_user.clone() };
        let mut all = vec![Self::new("with our profile, as an ordinary user", of_user)];
        if is_root() {
            all.push(Self::new("with our profile, as root", of_root));
        }
        all
    }

    /// Whether its kernel has landlock.
    pub fn has_landlock(&self) -> bool {
        !self.container.without_landlock
    }

    /// `command` of a home, in the container. Whatever is in the home by now belongs to the
    /// container's user.
    pub fn wrap_command(&self, home: &Home, command: &Command) -> Command {
        if let Some(user) = self.container.user {
            change_owner(&home.path(""), user);
        }
        let mut inner = Command::new(self.binary("onecall"));
        inner.args(command.get_args());
        inner.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.get_current_dir().map(|folder| inner.current_dir(folder));
        self.container.wrap(&inner)
    }

    /// A configuration entry for the fixture server.
    pub fn fixture(&self, name: &str) -> Value {
        json!({ "name": name, "command": self.binary("fixture-server") })
    }

    fn binary(&self, name: &str) -> PathBuf {
        self.binaries.path().join(name)
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// The user to become where root runs the tests; otherwise the tests run as an ordinary user already.
fn ordinary_user() -> Option<u32> {
    is_root().then_some(ORDINARY_USER)
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
}

/// Changes the owner of a folder and of everything in it.
fn change_owner(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("root may give files away");
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        for entry in fs::read_dir(path).expect("a folder of ours") {
            change_owner(&entry.expect("a readable folder").path(), user);
        }
    }
}
