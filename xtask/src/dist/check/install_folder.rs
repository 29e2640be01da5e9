//! An empty folder for an installation, and commands that see nothing else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::process::unique_mark;

/// The folders of the system's own programs.
const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An empty folder with a home in it; removed when dropped.
pub struct InstallFolder {
    path: PathBuf,
}

impl InstallFolder {
    pub fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("onecall-dist-{}", unique_mark()));
        let folder = Self { path };
        let open = Permissions::from_mode(0o755);
        fs::create_dir_all(folder.home())
            // The folder is also entered by another user than the one who runs this.
            .and_then(|()| fs::set_permissions(&folder.path, open))
            .map_err(|error| format!("{}: {error}", folder.path.display()))?;
        Ok(folder)
    }

    /// A path below the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// A command with its own home, the programs of the system, and no other variables.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.home()).env_clear().env("HOME", self.home()).env("PATH", SYSTEM);
        command
    }

    /// A command that uses the current `PATH`, because installers can be anywhere.
    pub fn installer(&self, program: &Path) -> Command {
        let mut command = self.command(program);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }
}

impl Drop for InstallFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Runs a command to its end and returns its output; the error contains its message.
pub fn finish(mut command: Command) -> Result<String, String> {
    let shown = format!("{:?}", command.get_program());
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{shown} cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown} failed: {}\n{text}{reason}", output.status))
}

/// Whether a program can be started.
pub fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
