//! The thread that writes log files.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

use onecall_config::{Config, LocalTool, Logs};
use onecall_core::text::grouped;
use onecall_gateway::redactor;
use onecall_runtime::Redactor;

use super::entry::Entry;
use super::file::append;
use super::folder::LogFolder;

/// Bytes of a message that are kept. Servers may have said more, so that a secret at this place is
/// seen whole before it is cut.
const MAX_MESSAGE_BYTES: usize = 7 * 1024;

/// Lines that are written in one go.
const BATCH: usize = 64;

/// What the collector and the thread share.
#[derive(Default)]
pub(super) struct Shared {
    /// What the configuration in use says about logs.
    rules: Mutex<Rules>,
    /// Bytes of messages in the queue.
    pub(super) waiting_bytes: AtomicUsize,
    /// Lines that found no room in the queue.
    pub(super) dropped: AtomicU64,
}

#[derive(Default)]
struct Rules {
    is_on: bool,
    redactor: Redactor,
    /// Servers that have a file of their own. What others say goes to the file of the gateway:
    /// a plan may bring servers along, of any name and in any number.
    servers: HashSet<String>,
}

impl Shared {
    /// Follows another configuration. Secrets of earlier ones are still taken out.
    pub(super) fn follow(&self, config: &Config) {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.is_on = config.logs == Logs::On;
        rules.redactor.add(redactor(config));
        let names = config.servers.iter().map(|server| server.name.to_string());
        rules.servers = names.chain([LocalTool::SERVER.to_owned()]).collect();
    }

    /// Whether the configuration in use wants logs.
    pub(super) fn is_on(&self) -> bool {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).is_on
    }

    /// Takes secrets out of entries and sorts them by file: absent is the gateway's.
    fn prepare(&self, entries: Vec<Entry>) -> HashMap<Option<String>, Vec<u8>> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: HashMap<_, Vec<u8>> = HashMap::new();
        if !rules.is_on {
            return lines;
        }
        for mut entry in entries {
            let mut message = rules.redactor.clean_cut(entry.message);
            if message.len() > MAX_MESSAGE_BYTES {
                message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
                message.push('…');
            }
            entry.message = message;
            let own = entry.server.clone().filter(|name| rules.servers.contains(name));
            entry.write_to(lines.entry(own).or_default());
        }
        lines
    }
}

/// Writes what comes out of the queue until it is closed.
pub(super) fn write(folder: &LogFolder, shared: &Shared, queue: &Receiver<Entry>) {
    folder.tidy_up();
    let mut has_complained = false;
    while let Ok(first) = queue.recv() {
        let mut entries = vec![first];
        entries.extend(queue.try_iter().take(BATCH));
        let bytes = entries.iter().map(|entry| entry.message.len()).sum();
        shared.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        entries.extend(lost(shared.dropped.swap(0, Ordering::Relaxed)));
        for (server, lines) in shared.prepare(entries) {
            let path = server.map_or(folder.gateway(), |name| folder.server(&name));
            if let Err(error) = append(&path, &lines, folder)
                && !std::mem::replace(&mut has_complained, true)
            {
                complain(folder, &error);
            }
        }
    }
}

fn lost(lines: u64) -> Option<Entry> {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let text = || format!("{} lines are missing in the logs: they came too fast", grouped(lines));
    (lines > 0).then(|| Entry::of_gateway("warn", text()))
}

fn complain(folder: &LogFolder, error: &io::Error) {
    tracing::warn!("logs cannot be written to '{}': {error}", folder.path().display());
}
