//! Runs the inmate as the current user and, if that is root, also as the user `nobody`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A place that every user can reach, with the inmate in it.
pub struct InmateFixture {
    directory: TempDir,
}

/// The user that the inmate runs as.
#[derive(Clone, Copy, Debug)]
pub enum User {
    Current,
    Nobody,
}

impl InmateFixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        open_to_all(directory.path());
        // By another process: a descriptor of ours open for writing would be inherited
        // by what another test forks meanwhile, and the file could not be executed.
        let inmate = directory.path().join("inmate");
        let copy =
            Command::new("cp").args([env!("CARGO_BIN_EXE_jail-inmate")]).arg(inmate).status();
        assert!(copy.unwrap().success());
        Self { directory }
    }

    /// The inmate's path, for a shell.
    pub fn inmate(&self) -> String {
        self.directory.path().join("inmate").display().to_string()
    }

    /// A directory beside the inmate that every user may write to.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::create_dir_all(&path).unwrap();
        open_to_all(&path);
        path
    }

    pub fn command(&self, user: User) -> Command {
        let inmate = self.directory.path().join("inmate");
        let mut command = match user {
            User::Current => Command::new(inmate),
            User::Nobody => {
                let mut command = Command::new("/usr/bin/setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(inmate);
                command
            }
        };
        command.env_clear().current_dir("/");
        command
    }

    /// What the inmate prints when it plays `scenario`.
    pub fn run(&self, user: User, scenario: &[&str]) -> String {
        text(&self.command(user).args(scenario).output().unwrap())
    }
}

/// What was printed; what went wrong, too.
pub fn text(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        stdout
    } else {
        format!("{stdout}{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
    }
}

/// The users that the walls must hold for.
pub fn users() -> Vec<User> {
    let root = rustix::process::getuid().is_root();
    if root && fs::exists("/usr/bin/setpriv").unwrap() {
        vec![User::Current, User::Nobody]
    } else {
        vec![User::Current]
    }
}

fn open_to_all(path: &std::path::Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
}
