//! Checks the programs that start onecall's servers: where they are on `PATH`, and their versions.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use onecall_config::{Config, StdioTransport, Transport};
use onecall_core::text::shell_word;
use tokio::process::Command;

use super::finding::{Finding, ReportSection};

/// The timeout for a program that is asked for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The programs that usually start servers, and how to install them.
const KNOWN: [(&str, &str); 12] = [
    ("python3", PYTHON),
    ("python", PYTHON),
    ("node", NODE),
    ("npx", NODE),
    ("npm", NODE),
    ("uvx", UV),
    ("uv", UV),
    ("pipx", "install pipx: https://pipx.pypa.io"),
    ("bun", BUN),
    ("bunx", BUN),
    ("deno", "install Deno: https://deno.com"),
    ("docker", "install Docker: https://docs.docker.com/get-started/get-docker"),
];

const PYTHON: &str = "install Python 3.11 or newer: https://www.python.org/downloads";
const NODE: &str = "install Node.js: https://nodejs.org";
const UV: &str = "install uv: https://docs.astral.sh/uv";
const BUN: &str = "install Bun: https://bun.sh";

/// Programs that are always checked, and what is not possible without them.
const ALWAYS: [(&str, &str); 2] = [
    ("python3", "not on PATH: programs run on the embedded Python alone, without packages"),
    ("node", "not on PATH: servers that are started with node or npx will not run"),
];

/// How to install a program that starts servers.
pub(super) fn install_hint(command: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == command).map(|(_, how)| *how)
}

pub(super) async fn check(config: &Config) -> ReportSection {
    let mut names: Vec<&str> = ALWAYS.map(|(name, _)| name).to_vec();
    for command in used(config).filter(|command| install_hint(command).is_some()) {
        if !names.contains(&command) {
            names.push(command);
        }
    }
    // All at once, because some take long to print their version.
    let ask = |name: &&str| Some(tokio::spawn(version((*name).to_owned(), on_path(name)?)));
    let asked: Vec<_> = names.iter().map(ask).collect();
    let mut findings = Vec::new();
    for (name, asked) in names.iter().zip(asked) {
        findings.push(match asked {
            None => absent(name, used(config).any(|command| command == *name)),
            Some(asked) => match asked.await {
                Ok(finding) => finding,
                Err(error) => Finding::red(*name, error.to_string()),
            },
        });
    }
    ReportSection { name: "programs", findings }
}

/// The commands of servers that are looked up on this process's `PATH`.
fn used(config: &Config) -> impl Iterator<Item = &str> {
    config.servers.iter().filter_map(|server| match &server.transport {
        Transport::Stdio(StdioTransport { command, env, .. }) => {
            (!command.contains('/') && !env.contains_key("PATH")).then_some(command.as_str())
        }
        _ => None,
    })
}

fn absent(name: &str, is_used: bool) -> Finding {
    let without = ALWAYS.iter().find(|(known, _)| *known == name).map(|(_, without)| *without);
    let finding = match (is_used, without) {
        (false, Some(without)) => Finding::yellow(name, without),
        _ => Finding::red(name, "not on PATH, but a server needs it"),
    };
    finding.fix(install_hint(name).unwrap_or("install it")).fact("path", None::<String>)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
}

async fn version(name: String, path: PathBuf) -> Finding {
    let started = Instant::now();
    let mut command = Command::new(&path);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    // The environment that a server would have.
    command.env_clear().envs(onecall_bridge::base_environment());
    let answer = tokio::time::timeout(VERSION_TIMEOUT, command.output()).await;
    let shown = path.display();
    let finding = match answer {
        Ok(Ok(output)) if output.status.success() => {
            let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
            let output_text = if output_text.trim().is_empty() {
                String::from_utf8_lossy(&output.stderr).into_owned()
            } else {
                output_text
            };
            let version = output_text.trim().lines().next().unwrap_or_default().to_owned();
            Finding::green(name, format!("{version} in {shown}")).fact("version", version)
        }
        Ok(Ok(output)) => broken(name, &path, &output.status.to_string()),
        Ok(Err(error)) => broken(name, &path, &error.to_string()),
        Err(_) => broken(name, &path, &format!("no answer within {}s", VERSION_TIMEOUT.as_secs())),
    };
    finding.took(started.elapsed()).fact("path", path.display().to_string())
}

fn broken(name: String, path: &Path, how: &str) -> Finding {
    let shown = path.to_string_lossy();
    Finding::yellow(name, format!("{shown} does not say its version: {how}"))
        .fix(format!("run `{} --version`, and reinstall it if that fails", shell_word(&shown)))
}
