//! Brings a running gateway in line with its configuration when that has changed, or
//! when somebody asks for it with SIGHUP. What is wrong with the new one is told, and
//! the old one stays in force.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use onecall_config::Surroundings;
use onecall_core::ServerName;
use onecall_runtime::{Gateway, Reloaded};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

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
    /// Every file whose change may matter, as it is known.
    files: Vec<(PathBuf, Option<State>)>,
}

impl Followed {
    /// Follows what `explicit` leads to. To be made before that is read, so that no
    /// change is missed.
    pub(crate) fn new(explicit: Option<PathBuf>) -> Self {
        let surroundings = Surroundings::of_process();
        let mut paths = onecall_config::places(explicit.as_deref(), &surroundings);
        // What was accepted of the tools of pinned servers.
        paths.extend(surroundings.directories.pins());
        let files = paths.into_iter().map(|path| (path.clone(), State::of(&path))).collect();
        Self { explicit, source: None, files }
    }

    /// Keeps `gateway`, which was started with `source`, in line for as long as it is
    /// polled.
    pub(crate) async fn keep(mut self, gateway: Arc<Gateway>, source: Option<PathBuf>) {
        self.source = source;
        let (sender, mut changes) = mpsc::channel(1);
        let files = std::mem::take(&mut self.files);
        // A thread of its own: files may be on a disk that takes its time.
        thread::spawn(move || watch(files, &sender));
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
            Err(error) => return error!("{error}\nthe configuration from before stays in force"),
        };
        for warning in &loaded.warnings {
            warn!("{warning}");
        }
        if let Some(source) = &self.source
            && self.is_worse(loaded.source.as_deref())
        {
            let gone = if source.exists() { "" } else { " is gone and" };
            return warn!("'{}'{gone} stays in force as it was", source.display());
        }
        self.source = loaded.source;
        tell(&gateway.reload(loaded.config));
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

/// What tells one state of a file from another.
#[derive(PartialEq, Eq)]
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
fn watch(mut files: Vec<(PathBuf, Option<State>)>, changes: &mpsc::Sender<()>) {
    while !changes.is_closed() {
        thread::sleep(INTERVAL);
        if !look(&mut files) {
            continue;
        }
        loop {
            thread::sleep(QUIET);
            if !look(&mut files) {
                break;
            }
        }
        // One that has not been taken yet covers this one too.
        let _ = changes.try_send(());
    }
}

/// Whether something has changed since the last look.
fn look(files: &mut [(PathBuf, Option<State>)]) -> bool {
    let mut has_changed = false;
    for (path, known) in files {
        let now = State::of(path);
        has_changed |= *known != now;
        *known = now;
    }
    has_changed
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
        warn!("start onecall again for what is new in the configuration under: {settings}");
    }
}
