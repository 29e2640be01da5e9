//! Starts a process inside the emulation.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use super::profile::{Profile, Rule};
use super::{capabilities, default_profile, filter};
use crate::bins;

/// The usage message of the launcher.
const USAGE: &str = "usage: container [--user UID] [--profile FILE | --without-seccomp-profile] \
                     [--without-landlock] -- COMMAND [ARGUMENTS]";

const ENOSYS: u32 = 38;

/// The restrictions for a command: by default those of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The user, and group of the same number, that the command runs as; `None` for the current
    /// user.
    pub user: Option<u32>,
    /// The system calls that it may make.
    pub seccomp: Seccomp,
    /// Whether the kernel seems to have no landlock.
    pub without_landlock: bool,
}

/// Which seccomp profile applies to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seccomp {
    /// Docker's default profile.
    #[default]
    Default,
    /// A profile from a file.
    File(PathBuf),
    /// No profile.
    Unconfined,
}

impl Container {
    /// Parses the launcher's arguments: the restrictions, and the command to run.
    pub fn parse(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(Self, Vec<OsString>), String> {
        let mut container = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| USAGE.to_owned());
            match argument.to_str() {
                Some("--user") => container.user = Some(number(&value()?)?),
                Some("--profile") => container.seccomp = Seccomp::File(value()?.into()),
                Some("--without-seccomp-profile") => container.seccomp = Seccomp::Unconfined,
                Some("--without-landlock") => container.without_landlock = true,
                Some("--") => return Ok((container, arguments.collect())),
                _ => return Err(format!("unknown argument {}\n{USAGE}", argument.display())),
            }
        }
        Err(USAGE.to_owned())
    }

    /// `command` with its environment and folder, started by the launcher.
    #[must_use]
    pub fn wrap(&self, command: &Command) -> Command {
        let mut outer = Command::new(bins::find("container"));
        if let Some(user) = self.user {
            outer.args(["--user", &user.to_string()]);
        }
        match &self.seccomp {
            Seccomp::Default => {}
            Seccomp::File(path) => drop(outer.arg("--profile").arg(path)),
            Seccomp::Unconfined => drop(outer.arg("--without-seccomp-profile")),
        }
        if self.without_landlock {
            outer.arg("--without-landlock");
        }
        outer.arg("--").arg(command.get_program()).args(command.get_args());
        outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            outer.current_dir(folder);
        }
        outer
    }

    /// Applies the restrictions to this process, which has one thread, and all that it executes.
    pub fn enter(&self) -> Result<(), String> {
        let failed = |what: &'static str| move |error| format!("{what}: {error}");
        capabilities::drop_other_capabilities().map_err(failed("capabilities"))?;
        for profile in self.profiles()? {
            for filter in filter::filters(&profile)? {
                let installed = seccompiler::apply_filter(&filter);
                installed.map_err(|error| format!("a system call filter: {error}"))?;
            }
        }
        if let Some(user) = self.user {
            set_thread_groups(&[]).map_err(failed("groups"))?;
            set_thread_gid(rustix::process::Gid::from_raw(user)).map_err(failed("the group"))?;
            set_thread_uid(rustix::process::Uid::from_raw(user)).map_err(failed("the user"))?;
        }
        Ok(())
    }

    fn profiles(&self) -> Result<Vec<Profile>, String> {
        let of_container = match &self.seccomp {
            Seccomp::Default => default_profile(),
            Seccomp::File(path) => read(path)?,
            Seccomp::Unconfined => Profile::default(),
        };
        let calls = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"];
        let landlock = Profile { rules: vec![Rule::refuse(calls, ENOSYS)], ..Profile::default() };
        Ok([of_container].into_iter().chain(self.without_landlock.then_some(landlock)).collect())
    }
}

fn number(text: &OsString) -> Result<u32, String> {
    let parsed = text.to_str().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| format!("{} is no user id\n{USAGE}", text.display()))
}

fn read(path: &Path) -> Result<Profile, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
