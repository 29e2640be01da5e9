//! Servers whose command downloads what it runs, such as `npx` or `docker run`. Their first start may
//! take minutes, so it gets more time, and only a few of them start at once. Commands that have
//! connected before are stored in a file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onecall_config::{
    ServerConfig, StdioTransport, Transport, read_private_file, replace_private_file,
};
use onecall_core::DigestBuilder;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tracing::warn;

/// How long the first start of a command that downloads may take.
pub(crate) const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);

/// How many first starts run at the same time.
const CONCURRENT_INSTALLS: usize = 2;

/// How long one first start keeps others waiting. A server that waits for something else than a
/// download, such as a login in a browser, must not hold up all servers behind it.
const PERMIT_DURATION: Duration = Duration::from_secs(60);

/// How many commands are stored; the oldest are forgotten first.
const MAX_KNOWN_COMMANDS: usize = 500;

/// Commands that download whatever their arguments are.
const DOWNLOADERS: &[&str] = &["npx", "pnpx", "bunx", "uvx"];

/// Commands that download with one of these subcommands.
const DOWNLOADING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("uv", &["run"]),
    ("pipx", &["run"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("docker", &["run"]),
    ("podman", &["run"]),
];

/// Whether requests wait for a first start to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InstallWait {
    /// Requests wait until the end: for a command, which would stop the servers otherwise.
    #[default]
    UntilInstalled,
    /// Requests wait as long as for any other server: for a gateway that keeps running.
    UsualTimeout,
}

/// The state of first starts that the servers of one process share.
#[derive(Clone)]
pub struct Downloads {
    /// The file with the commands that have connected before.
    file: Option<PathBuf>,
    permits: Arc<Semaphore>,
    wait: InstallWait,
}

impl Default for Downloads {
    /// Without a file: each start of a command that downloads counts as its first.
    fn default() -> Self {
        let permits = Arc::new(Semaphore::new(CONCURRENT_INSTALLS));
        Self { file: None, permits, wait: InstallWait::default() }
    }
}

impl Downloads {
    /// Stores the known commands below the user's state directory, if there is one.
    #[must_use]
    pub fn stored_below(state: Option<&Path>) -> Self {
        let file = state.map(|state| state.join("onecall").join("downloads.json"));
        Self { file, ..Self::default() }
    }

    /// Limits the wait for a first start to the time for any other server.
    #[must_use]
    pub fn in_background(self) -> Self {
        Self { wait: InstallWait::UsualTimeout, ..self }
    }

    /// Whether requests wait for a first start to end.
    pub(crate) fn block_requests(&self) -> bool {
        self.wait == InstallWait::UntilInstalled
    }

    /// Whether a server's command downloads what it runs and has not connected before.
    #[must_use]
    pub fn is_first_start(&self, server: &ServerConfig) -> bool {
        self.expected_download(server).is_some()
    }

    /// The download that a server's start includes, unless its command has connected before.
    pub(crate) fn expected_download(&self, server: &ServerConfig) -> Option<Download> {
        let Transport::Stdio(transport) = &server.transport else { return None };
        if !downloads(&transport.command, &transport.args) {
            return None;
        }
        let download = Download::of(transport);
        let is_known = |file: &PathBuf| KnownCommands::read(file).commands.contains(&download.hash);
        (!self.file.as_ref().is_some_and(is_known)).then_some(download)
    }

    /// Waits until fewer than [`CONCURRENT_INSTALLS`] first starts are running.
    pub(crate) async fn acquire_permit(&self) -> InstallPermit {
        // There is no error: the semaphore is never closed.
        InstallPermit(Arc::clone(&self.permits).acquire_owned().await.ok())
    }

    /// Records that a command has connected: its next start is not its first.
    pub(crate) fn remember(&self, download: &Download) {
        let Some(file) = &self.file else { return };
        if let Err(error) = KnownCommands::add(file, &download.hash) {
            warn!("cannot record the installed servers in '{}': {error}", file.display());
        }
    }
}

/// The permission to run a first start, until it is dropped.
pub(crate) struct InstallPermit(Option<OwnedSemaphorePermit>);

impl InstallPermit {
    /// Lets the next first start begin after [`PERMIT_DURATION`], whether this one has ended or not. Never
    /// returns.
    pub async fn release_after_delay<T>(self) -> T {
        sleep(PERMIT_DURATION).await;
        drop(self.0);
        std::future::pending().await
    }
}

/// A command with its arguments, which downloads what it runs.
pub(crate) struct Download {
    /// The hash of the command and its arguments, in hexadecimal, because arguments may contain
    /// secrets.
    hash: String,
}

impl Download {
    fn of(transport: &StdioTransport) -> Self {
        let mut hasher = DigestBuilder::default();
        std::iter::once(&transport.command)
            .chain(&transport.args)
            .for_each(|it| hasher.add_part(it));
        Self { hash: hasher.finish().to_string() }
    }
}

/// The time limit of a start: that of the server's entry, or else a longer one if it downloads.
pub(crate) fn start_timeout(server: &ServerConfig, download: Option<&Download>) -> Duration {
    match (server.connect_timeout, download) {
        (None, Some(_)) => INSTALL_TIMEOUT,
        _ => server.connect_timeout_or_default(),
    }
}

/// The file of commands that have connected before.
#[derive(Default, Serialize, Deserialize)]
struct KnownCommands {
    /// Hashes of commands, the latest last.
    commands: Vec<String>,
}

impl KnownCommands {
    /// Reads the file; a missing or damaged one counts as empty.
    fn read(file: &Path) -> Self {
        let bytes = read_private_file(file).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn add(file: &Path, hash: &str) -> io::Result<()> {
        let mut stored = Self::read(file);
        stored.commands.retain(|known| known != hash);
        stored.commands.push(hash.to_owned());
        let surplus = stored.commands.len().saturating_sub(MAX_KNOWN_COMMANDS);
        stored.commands.drain(..surplus);
        replace_private_file(file, &stored)
    }
}

/// Whether a command downloads what it runs, if it is not installed yet.
fn downloads(command: &str, arguments: &[String]) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = [".exe", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let words = || arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    let is_called_with = |subcommands: &[&str]| words().any(|word| subcommands.contains(&word));
    DOWNLOADERS.contains(&name)
        || DOWNLOADING_SUBCOMMANDS
            .iter()
            .any(|(known, subcommands)| *known == name && is_called_with(subcommands))
        || (name == "deno" && is_called_with(&["run"]) && words().any(is_remote_module))
}

/// Whether `deno` has to fetch this module.
fn is_remote_module(word: &str) -> bool {
    ["npm:", "jsr:", "https://"].iter().any(|scheme| word.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use onecall_core::ServerName;

    use onecall_config::PerUserSettings;

    use super::*;

    fn server(command_line: &str) -> ServerConfig {
        let mut words = command_line.split(' ').map(str::to_owned);
        ServerConfig {
            name: ServerName::new("s"),
            transport: Transport::Stdio(StdioTransport {
                command: words.next().unwrap(),
                args: words.collect(),
                env: BTreeMap::new(),
                cwd: None,
            }),
            connect_timeout: None,
            call_timeout: None,
            lazy: false,
            pins: None,
            per_user: PerUserSettings::default(),
        }
    }

    #[test]
    fn commands_that_download_are_recognised() {
        let is_expected =
            |line: &str| Downloads::default().expected_download(&server(line)).is_some();
        let downloading = [
            "npx -y @scope/server",
            "/usr/local/bin/npx server",
            r"C:\node\npx.cmd server",
            "uvx mcp-server-time",
            "uvx.exe mcp-server-time",
            "uv tool run mcp-server-time",
            "uv --directory /srv run server.py",
            "pipx run mcp-server-time",
            "bunx server",
            "bun x server",
            "pnpx server",
            "pnpm dlx server",
            "yarn dlx server",
            "npm exec server",
            "npm x -- server",
            "docker run -i --rm mcp/time",
            "podman run -i mcp/time",
            "deno run -A npm:server",
            "deno run -A jsr:@scope/server",
        ];
        let others = [
            "node server.js",
            "python3 -m mcp_server_time",
            "uv",
            "docker exec -i container server",
            "npm start",
            "pnpm start -- dlx",
            "deno run server.ts",
            "sh -c npx",
            "my-npx server",
            "/opt/npx/server",
        ];
        let missed: Vec<_> = downloading.into_iter().filter(|it| !is_expected(it)).collect();
        let mistaken: Vec<_> = others.into_iter().filter(|it| is_expected(it)).collect();
        assert_eq!((missed, mistaken), (Vec::new(), Vec::new()));
    }

    #[test]
    fn only_a_first_start_has_more_time_and_an_explicit_timeout_wins() {
        let timeout = |server: &ServerConfig, downloads: &Downloads| {
            start_timeout(server, downloads.expected_download(server).as_ref()).as_secs()
        };
        let folder = tempfile::tempdir().unwrap();
        let downloads = Downloads::stored_below(Some(folder.path()));
        let (first, second) = (server("npx one"), server("npx two"));
        assert_eq!(timeout(&first, &downloads), 300);
        assert_eq!(timeout(&server("node one"), &downloads), 10);
        let explicit = ServerConfig { connect_timeout: Some(Duration::from_secs(3)), ..first };
        assert_eq!(timeout(&explicit, &downloads), 3);

        downloads.remember(&downloads.expected_download(&explicit).unwrap());
        assert_eq!(timeout(&server("npx one"), &downloads), 10);
        assert_eq!(timeout(&second, &downloads), 300);
        assert_eq!(timeout(&server("npx one"), &Downloads::default()), 300);
    }

    #[test]
    fn the_oldest_commands_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("downloads.json");
        let commands = (0..MAX_KNOWN_COMMANDS).map(|number| number.to_string()).collect();
        replace_private_file(&file, &KnownCommands { commands }).unwrap();
        KnownCommands::add(&file, "new").unwrap();
        KnownCommands::add(&file, "1").unwrap();
        let kept = KnownCommands::read(&file).commands;
        let latest = ["2", "499", "new", "1"].map(|it| kept.iter().position(|kept| kept == it));
        assert_eq!((kept.len(), latest), (500, [Some(0), Some(497), Some(498), Some(499)]));
        std::fs::write(&file, "damaged").unwrap();
        assert!(KnownCommands::read(&file).commands.is_empty());
    }
}
