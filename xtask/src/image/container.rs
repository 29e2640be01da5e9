//! Runs the image as a container engine does: in namespaces of its own, on a read-only root, as an ordinary
//! user without capabilities, under Docker's seccomp profile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use testkit::bins;

use super::root::{ImageSettings, quietly};

/// Puts the container together, and becomes its process 1. Nothing but the volume and `/tmp` can be written
/// to; `/run` has only the program that installs the seccomp filter.
const BECOME_CONTAINER: &str = r#"
set -e
root=$1; state=$2; configuration=$3; launcher=$4; volume=$5; shift 5
ip link set lo up
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/etc/onecall" "$root$volume"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
cp "$launcher" "$root/run/launcher"
mount -o remount,ro "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$state" "$root$volume"
mount --bind "$configuration" "$root/etc/onecall"
mount -o remount,bind,ro "$root/etc/onecall"
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"
"#;

/// How long the container may take to start or to stop.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running container.
pub(super) struct Container<'a> {
    settings: &'a ImageSettings,
    unshare: Child,
    /// The process on this machine that is process 1 of the container.
    init: u32,
    stdout: PathBuf,
}

impl<'a> Container<'a> {
    /// Starts the image whose root is in `folder`.
    pub(super) fn start(settings: &'a ImageSettings, folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let [state, configuration] = ["state", "configuration"].map(|name| folder.join(name));
        for path in [&state, &configuration] {
            _ = fs::remove_dir_all(path);
            fs::create_dir(path).map_err(failed)?;
        }
        fs::write(configuration.join("config.yaml"), "servers: []\n").map_err(failed)?;
        let (user, group) = settings.user.split_once(':').ok_or("USER has no group")?;
        quietly(Command::new("chown").arg(format!("{user}:{group}")).arg(&state))?;
        let stdout = folder.join("stdout");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["sh", "-c", BECOME_CONTAINER, "sh"]).arg(folder.join("root")).arg(state);
        command.arg(configuration).arg(bins::find("container")).arg(&settings.volume);
        command.args(restricted(settings)).args(&settings.entrypoint).args(&settings.command);
        set_environment(&mut command, settings);
        command.stdin(Stdio::null()).stdout(File::create(&stdout).map_err(failed)?);
        command.stderr(File::create(folder.join("stderr")).map_err(failed)?);
        let unshare = command.spawn().map_err(failed)?;
        let mut container = Self { settings, unshare, init: 0, stdout };
        container.wait_for("process 1 becomes the entry point", |container| {
            container.init = only_child(container.unshare.id()).unwrap_or(0);
            let name = fs::read_to_string(format!("/proc/{}/comm", container.init));
            let entry = container.settings.entrypoint.first();
            name.is_ok_and(|name| Some(name.trim()) == entry.map(String::as_str))
        })?;
        Ok(container)
    }

    /// The name and value of a line of `/proc/PID/status` of process 1.
    pub(super) fn status_of_init(&self, name: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.init)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned()
    }

    /// Executes a command in the container, with the restrictions of its processes.
    pub(super) fn execute(&self, command: &[&str]) -> Result<String, String> {
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &self.init.to_string(), "--mount", "--pid", "--net", "--ipc"]);
        enter.args(["--root", "--wd"]).args(restricted(self.settings)).args(command);
        set_environment(&mut enter, self.settings);
        quietly(enter.stdin(Stdio::null()))
    }

    /// What the container has written to its standard output.
    pub(super) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// The processes of the container that have ended and were not reaped.
    pub(super) fn zombies(&self) -> Result<usize, String> {
        let states = self.execute(&["sh", "-c", "cat /proc/[0-9]*/stat"])?;
        Ok(states.lines().filter(|line| line.contains(") Z ")).count())
    }

    /// Waits until a condition holds.
    pub(super) fn wait_for(
        &mut self,
        what: &str,
        mut condition: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), String> {
        let deadline = Instant::now() + TIMEOUT;
        while !condition(self) {
            if Instant::now() > deadline {
                return Err(format!("it does not happen that {what}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends SIGTERM to process 1, and returns how the container has ended.
    pub(super) fn stop(mut self) -> Result<ExitStatus, String> {
        quietly(Command::new("kill").args(["-TERM", &self.init.to_string()]))?;
        let mut ended = None;
        self.wait_for("the container ends", |container| {
            ended = container.unshare.try_wait().ok().flatten();
            ended.is_some()
        })?;
        ended.ok_or_else(|| "the container has not ended".to_owned())
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        // With `unshare`, the kernel ends everything in the container.
        _ = self.unshare.kill();
        _ = self.unshare.wait();
    }
}

/// What a command of the image is started by: an ordinary user without capabilities, then the filter, in the
/// folder of the image.
fn restricted(settings: &ImageSettings) -> Vec<String> {
    let (user, group) = settings.user.split_once(':').unwrap_or((&settings.user, "0"));
    let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
    let none = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"].map(str::to_owned);
    let enter = ["setpriv".to_owned(), user, group, "--clear-groups".to_owned()];
    let then = ["--no-new-privs", "/run/launcher", "--", "env"].map(str::to_owned);
    let folder = format!("--chdir={}", settings.folder);
    enter.into_iter().chain(none).chain(then).chain([folder]).collect()
}

fn set_environment(command: &mut Command, settings: &ImageSettings) {
    command.env_clear().envs(settings.environment.iter().cloned());
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", &settings.folder).env("ONECALL_TOKEN", "a-token-of-thirty-two-characters");
}

fn only_child(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
