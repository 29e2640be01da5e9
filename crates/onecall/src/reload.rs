//! Reloads the configuration of a running gateway when a file has changed or SIGHUP arrives. If the
//! new configuration is invalid, the error is logged and the old one stays in use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use onecall_config::{Config, LoadedConfig, ProcessContext};
use onecall_core::ServerName;
use onecall_gateway::{Gateway, Reloaded};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::cli::Global;
use crate::logs;
use crate::protection::{self, Overlaps};
use crate::setup::Users;

/// How often the files are checked. Polling is cheap, and also detects a file that an editor
/// replaces by renaming.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a file must be unchanged before it is read: some editors write in several steps.
const STABLE_TIME: Duration = Duration::from_millis(300);

/// The configuration that a gateway follows.
pub(crate) struct ConfigWatcher {
    explicit: Option<PathBuf>,
    /// The current configuration file.
    source: Option<PathBuf>,
    /// The configuration that the gateway was started with. Parts of it apply until a restart.
    started_with: Config,
    watched: WatchedFiles,
    /// Whose credentials servers get.
    users: Users,
}

/// Every file whose change may lead to another configuration or other policies, with its last known
/// state.
#[derive(Clone, Debug)]
pub(crate) struct WatchedFiles {
    files: Vec<(PathBuf, Option<FileState>)>,
    /// The file or folder of policies, and the state of what is in it.
    policy: Option<(PathBuf, PolicyState)>,
}

/// The files of a folder of policies, or the only file.
type PolicyState = Vec<(PathBuf, Option<FileState>)>;

impl ConfigWatcher {
    /// Follows the configuration of a command, which was loaded before.
    pub(crate) fn new(global: &Global, loaded: &LoadedConfig, users: Users) -> Self {
        Self {
            users,
            explicit: global.config.clone(),
            source: loaded.source.clone(),
            started_with: loaded.config.clone(),
            watched: global.watched_files().with_policy(loaded.config.policy.clone()),
        }
    }

    /// Reloads the configuration of `gateway` on changes, for as long as the future is polled.
    pub(crate) async fn reload_on_change(mut self, gateway: Arc<Gateway>) {
        let (sender, mut changes) = mpsc::channel(1);
        let watched = self.watched.clone();
        // A separate thread, because the files may be on a slow disk.
        thread::spawn(move || watch(watched, &sender));
        let mut hangup = match signal(SignalKind::hangup()) {
            Ok(hangup) => hangup,
            Err(error) => {
                return warn!(
                    "onecall cannot listen for SIGHUP and does not apply changes of the configuration: {error}"
                );
            }
        };
        loop {
            tokio::select! {
                Some(()) = changes.recv() => {}
                Some(()) = hangup.recv() => info!("SIGHUP: reading the configuration again"),
                else => return,
            }
            self.reload(&gateway).await;
        }
    }

    async fn reload(&mut self, gateway: &Gateway) {
        let Some(LoadedConfig { mut config, source, .. }) = self.load() else { return };
        let users = self.users;
        // Secrets may be in a database that takes long to answer.
        let resolved = tokio::task::spawn_blocking(move || {
            users.resolve(&mut config);
            config
        });
        let Ok(config) = resolved.await else { return };
        self.source = source;
        logs::configure(&config);
        log_reload(&gateway.reload(config));
        if let Err(errors) = gateway.reload_policies() {
            error!("{errors}\nthe previous policies stay in force");
        }
    }

    /// Reads the configuration. If it cannot be used, the error is logged.
    fn load(&self) -> Option<LoadedConfig> {
        let context = ProcessContext::current();
        let loaded = match onecall_config::load(self.explicit.as_deref(), &context) {
            Ok(loaded) => loaded,
            Err(error) => {
                error!("{error}\nthe previous configuration stays in use");
                return None;
            }
        };
        for warning in &loaded.warnings {
            warn!("{warning}");
        }
        if let Some(source) = &self.source
            && self.has_lower_precedence(loaded.source.as_deref())
        {
            let what = if source.exists() { "would no longer be used" } else { "is gone" };
            warn!("'{}' {what}; the configuration read from it stays in use", source.display());
            return None;
        }
        if let Err(overlaps) = self.check_folders(&loaded) {
            error!("{overlaps}\nthe previous configuration stays in use");
            return None;
        }
        Some(loaded)
    }

    /// Refuses folders that cannot be given to programs: those of the new configuration, and those
    /// that stay in use until a restart.
    fn check_folders(&self, loaded: &LoadedConfig) -> Result<(), Overlaps> {
        let source = loaded.source.as_deref();
        let started = &self.started_with;
        let mixed = Config {
            workspace: started.workspace.clone(),
            python: started.python.clone(),
            store: started.store.clone(),
            ..loaded.config.clone()
        };
        protection::check(&loaded.config, source)?;
        protection::check(&mixed, source)
    }

    /// Whether `found` has a lower precedence than the current file.
    fn has_lower_precedence(&self, found: Option<&Path>) -> bool {
        let context = ProcessContext::current();
        let places = onecall_config::candidate_files(self.explicit.as_deref(), &context);
        let rank = |path: &Path| places.iter().position(|place| place == path);
        let rank = |path: Option<&Path>| path.and_then(rank).unwrap_or(usize::MAX);
        rank(found) > rank(self.source.as_deref())
    }
}

impl WatchedFiles {
    /// The files of the configuration that `explicit` leads to.
    pub(crate) fn of_configuration(explicit: Option<&Path>, context: &ProcessContext<'_>) -> Self {
        let mut paths = onecall_config::candidate_files(explicit, context);
        // The accepted tools of pinned servers.
        paths.extend(context.directories.pins());
        // The values of references in the configuration.
        paths.extend(context.directories.secrets().map(|file| file.path().to_owned()));
        let files = paths.into_iter().map(|path| (path.clone(), FileState::of(&path))).collect();
        Self { files, policy: None }
    }

    /// Adds the file or the folder of policies.
    fn with_policy(self, policy: Option<PathBuf>) -> Self {
        let policy = policy.map(|path| (path.clone(), policy_state(&path)));
        Self { policy, ..self }
    }

    /// Whether a file has changed since the last check.
    fn have_changed(&mut self) -> bool {
        let mut has_changed = false;
        if let Some((path, known)) = &mut self.policy {
            let now = policy_state(path);
            has_changed |= *known != now;
            *known = now;
        }
        for (path, known) in &mut self.files {
            let now = FileState::of(path);
            has_changed |= *known != now;
            *known = now;
        }
        has_changed
    }
}

/// The state of a file of policies, or of all files in a folder of them.
fn policy_state(path: &Path) -> PolicyState {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.chain([path.to_owned()]).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), FileState::of(&path))).collect()
}

/// The properties by which changes of a file are detected.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl FileState {
    /// The state of a file; `None` if it does not exist.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok();
        Some(Self { modified, length: metadata.len(), inode: metadata.ino() })
    }
}

/// Sends a message when a file has changed and is stable again; ends when the receiver is gone.
fn watch(mut files: WatchedFiles, changes: &mpsc::Sender<()>) {
    while !changes.is_closed() {
        thread::sleep(INTERVAL);
        if !files.have_changed() {
            continue;
        }
        loop {
            thread::sleep(STABLE_TIME);
            if !files.have_changed() {
                break;
            }
        }
        // A message that has not been received yet covers this change as well.
        let _ = changes.try_send(());
    }
}

fn log_reload(reloaded: &Reloaded) {
    let mut messages = Vec::new();
    let servers = &reloaded.servers;
    let changes = [
        ("added", &servers.added),
        ("removed", &servers.removed),
        ("restarted", &servers.restarted),
    ];
    for (what, names) in changes.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<&str> = names.iter().map(ServerName::as_str).collect();
        messages.push(format!("{what}: {}", names.join(", ")));
    }
    if !reloaded.changed.is_empty() {
        messages.push(format!("changed from the next program on: {}", reloaded.changed.join(", ")));
    }
    match messages.is_empty() {
        true => debug!("read the configuration again; nothing has changed"),
        false => info!("read the configuration again; {}", messages.join("; ")),
    }
    if !reloaded.needs_restart.is_empty() {
        let settings = reloaded.needs_restart.join(", ");
        warn!("restart onecall to apply what has changed in the configuration under: {settings}");
    }
}
