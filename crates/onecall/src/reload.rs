//! Brings a running gateway in line with its configuration when that has changed, or
//! when somebody asks for it with SIGHUP. What is wrong with the new one is told, and
//! the old one stays in use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use onecall_config::{Config, Loaded, Surroundings};
use onecall_core::ServerName;
use onecall_gateway::{Gateway, Reloaded};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::cli::Global;
use crate::logs;
use crate::protection::{self, Overlaps};

/// How often the files are looked at. Looking is cheap, and sees a file that an editor
/// puts in the place of the old one like any other change.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a file must stay the same before it is read: some editors write in steps.
const QUIET: Duration = Duration::from_millis(300);

/// The configuration that a gateway is to follow.
pub(crate) struct Followed {
    explicit: Option<PathBuf>,
    /// The file in force.
    source: Option<PathBuf>,
    /// What the gateway was started with. Some of it holds until it is started again.
    started_with: Config,
    watched: WatchedFiles,
}

/// Every file whose change may lead to another configuration, as it is known.
#[derive(Clone, Debug)]
pub(crate) struct WatchedFiles(Vec<(PathBuf, Option<State>)>);

impl Followed {
    /// Follows the configuration of a command, of which this was loaded.
    pub(crate) fn new(global: &Global, loaded: &Loaded) -> Self {
        Self {
            explicit: global.config.clone(),
            source: loaded.source.clone(),
            started_with: loaded.config.clone(),
            watched: global.watched_files(),
        }
    }

    /// Keeps `gateway`, which was started with this configuration, in line for as long as it is
    /// polled.
    pub(crate) async fn keep(mut self, gateway: Arc<Gateway>) {
        let (sender, mut changes) = mpsc::channel(1);
        let watched = self.watched.clone();
        // A thread of its own: files may be on a disk that takes its time.
        thread::spawn(move || watch(watched, &sender));
        let mut hangup = match signal(SignalKind::hangup()) {
            Ok(hangup) => hangup,
            Err(error) => return warn!("the configuration is not followed: {error}"),
        };
        loop {
            tokio::select! {
                Some(()) = changes.recv() => {}
                Some(()) = hangup.recv() => info!("SIGHUP: reading the configuration again"),
                else => return,
            }
            self.reload(&gateway);
        }
    }

    fn reload(&mut self, gateway: &Gateway) {
        let surroundings = Surroundings::of_process();
        let loaded = match onecall_config::load(self.explicit.as_deref(), &surroundings) {
            Ok(loaded) => loaded,
            Err(error) => return error!("{error}\nthe previous configuration stays in use"),
        };
        for warning in &loaded.warnings {
            warn!("{warning}");
        }
        if let Some(source) = &self.source
            && self.is_worse(loaded.source.as_deref())
        {
            let what = if source.exists() { "would no longer be used" } else { "is gone" };
            return warn!(
                "'{}' {what}; the configuration read from it stays in use",
                source.display()
            );
        }
        if let Err(overlaps) = self.check_folders(&loaded) {
            return error!("{overlaps}\nthe previous configuration stays in use");
        }
        self.source = loaded.source;
        logs::keep(&loaded.config);
        tell(&gateway.reload(loaded.config));
    }

    /// Refuses folders for programs that cannot be given to them: those of the new
    /// configuration, and those that stay in use until the next start.
    fn check_folders(&self, loaded: &Loaded) -> Result<(), Overlaps> {
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

    /// Whether `found` would not have been used if the file in force could be.
    fn is_worse(&self, found: Option<&Path>) -> bool {
        let surroundings = Surroundings::of_process();
        let places = onecall_config::places(self.explicit.as_deref(), &surroundings);
        let rank = |path: &Path| places.iter().position(|place| place == path);
        let rank = |path: Option<&Path>| path.and_then(rank).unwrap_or(usize::MAX);
        rank(found) > rank(self.source.as_deref())
    }
}

impl WatchedFiles {
    /// Those of the configuration that `explicit` leads to.
    pub(crate) fn of_configuration(
        explicit: Option<&Path>,
        surroundings: &Surroundings<'_>,
    ) -> Self {
        let mut paths = onecall_config::places(explicit, surroundings);
        // What was accepted of the tools of pinned servers.
        paths.extend(surroundings.directories.pins());
        // What references of the configuration may stand for.
        paths.extend(surroundings.directories.secrets().map(|file| file.path().to_owned()));
        Self(paths.into_iter().map(|path| (path.clone(), State::of(&path))).collect())
    }

    /// Whether something has changed since the last look.
    fn have_changed(&mut self) -> bool {
        let mut has_changed = false;
        for (path, known) in &mut self.0 {
            let now = State::of(path);
            has_changed |= *known != now;
            *known = now;
        }
        has_changed
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl State {
    /// None of a file that is not there.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok();
        Some(Self { modified, length: metadata.len(), inode: metadata.ino() })
    }
}

/// Says when a file is not what it was and has come to rest; ends when nobody listens.
fn watch(mut files: WatchedFiles, changes: &mpsc::Sender<()>) {
    while !changes.is_closed() {
        thread::sleep(INTERVAL);
        if !files.have_changed() {
            continue;
        }
        loop {
            thread::sleep(QUIET);
            if !files.have_changed() {
                break;
            }
        }
        // One that has not been taken yet covers this one too.
        let _ = changes.try_send(());
    }
}

fn tell(reloaded: &Reloaded) {
    let mut news = Vec::new();
    let servers = &reloaded.servers;
    let changes = [
        ("added", &servers.added),
        ("removed", &servers.removed),
        ("restarted", &servers.restarted),
    ];
    for (what, names) in changes.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<&str> = names.iter().map(ServerName::as_str).collect();
        news.push(format!("{what}: {}", names.join(", ")));
    }
    if !reloaded.changed.is_empty() {
        news.push(format!("new from the next program on: {}", reloaded.changed.join(", ")));
    }
    match news.is_empty() {
        true => debug!("the configuration was read again; nothing is new"),
        false => info!("the configuration was read again; {}", news.join("; ")),
    }
    if !reloaded.needs_restart.is_empty() {
        let settings = reloaded.needs_restart.join(", ");
        warn!("restart onecall to apply what has changed in the configuration under: {settings}");
    }
}
