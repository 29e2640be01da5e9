//! The thread that writes log files.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

use onecall_config::{Config, LocalTool, LogFiles};
use onecall_core::text::with_thousands_separators;
use onecall_gateway::redactor;
use onecall_runtime::Redactor;

use super::entry::LogFileEntry;
use super::file::append;
use super::folder::LogFolder;

/// Bytes of a message that are kept. Longer messages arrive here, so that a secret at the limit is
/// recognised before the message is cut.
const MAX_MESSAGE_BYTES: usize = 7 * 1024;

/// How many lines are written at once.
const BATCH: usize = 64;

/// The state that the collector and the thread share.
#[derive(Default)]
pub(super) struct WriterState {
    /// The log settings of the current configuration.
    rules: Mutex<LogRules>,
    /// Bytes of messages in the queue.
    pub(super) waiting_bytes: AtomicUsize,
    /// How many lines were dropped because the queue was full.
    pub(super) dropped: AtomicU64,
}

#[derive(Default)]
struct LogRules {
    is_on: bool,
    redactor: Redactor,
    /// Servers that have a log file of their own. Messages of others go to the gateway's file,
    /// because plans can define any number of servers with any names.
    servers: HashSet<String>,
}

impl WriterState {
    /// Switches to another configuration. Secrets of earlier ones are still removed.
    pub(super) fn apply_config(&self, config: &Config) {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.is_on = config.logs == LogFiles::On;
        rules.redactor.add(redactor(config));
        let names = config.servers.iter().map(|server| server.name.to_string());
        rules.servers = names.chain([LocalTool::SERVER.to_owned()]).collect();
    }

    /// Whether the current configuration enables log files.
    pub(super) fn is_on(&self) -> bool {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).is_on
    }

    /// Removes secrets from entries and groups them by file; `None` stands for the gateway's file.
    fn prepare(&self, entries: Vec<LogFileEntry>) -> HashMap<Option<String>, Vec<u8>> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: HashMap<_, Vec<u8>> = HashMap::new();
        if !rules.is_on {
            return lines;
        }
        for mut entry in entries {
            let mut message = rules.redactor.redact_truncated(entry.message);
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

/// Writes the lines from the queue until it is closed.
pub(super) fn write(folder: &LogFolder, shared: &WriterState, queue: &Receiver<LogFileEntry>) {
    folder.remove_old_files();
    let mut has_warned = false;
    while let Ok(first) = queue.recv() {
        let mut entries = vec![first];
        entries.extend(queue.try_iter().take(BATCH));
        let bytes = entries.iter().map(|entry| entry.message.len()).sum();
        shared.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        entries.extend(dropped_lines_entry(shared.dropped.swap(0, Ordering::Relaxed)));
        for (server, lines) in shared.prepare(entries) {
            let path = server.map_or(folder.gateway(), |name| folder.server(&name));
            if let Err(error) = append(&path, &lines, folder)
                && !std::mem::replace(&mut has_warned, true)
            {
                warn_not_written(folder, &error);
            }
        }
    }
}

fn dropped_lines_entry(lines: u64) -> Option<LogFileEntry> {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let text = || {
        format!(
            "{} lines are missing in the logs: they arrived faster than onecall could write them",
            with_thousands_separators(lines)
        )
    };
    (lines > 0).then(|| LogFileEntry::of_gateway("warn", text()))
}

fn warn_not_written(folder: &LogFolder, error: &io::Error) {
    tracing::warn!("logs cannot be written to '{}': {error}", folder.path().display());
}
