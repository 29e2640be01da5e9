//! One line of a log file.

use onecall_core::Timestamp;
use serde::{Deserialize, Serialize};

/// An entry of a log file. Lines are JSON, so that nothing in a message can be mistaken for the
/// beginning of another line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LogFileEntry {
    /// The time in UTC in the format of RFC 3339, always with the same number of digits.
    pub(crate) time: String,
    /// The process id of the gateway.
    pub(crate) pid: u32,
    /// The server that the entry is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// The origin of the message.
    pub(crate) source: EntrySource,
    /// The level: `info`, `warn`, `error`, or what the server chose.
    pub(crate) level: String,
    /// The text of the message.
    pub(crate) message: String,
}

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntrySource {
    /// The server's stderr.
    Stderr,
    /// A log message of the server in the MCP protocol.
    Log,
    /// The gateway.
    Gateway,
}

impl LogFileEntry {
    /// An entry of the gateway with the current time.
    pub(crate) fn of_gateway(level: &str, message: String) -> Self {
        Self {
            time: Timestamp::now().with_milliseconds(),
            pid: std::process::id(),
            server: None,
            source: EntrySource::Gateway,
            level: level.to_owned(),
            message,
        }
    }

    /// Parses a line; `None` if it is not a complete entry.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Appends the entry as a line.
    pub(crate) fn write_to(&self, lines: &mut Vec<u8>) {
        // Serializing texts and numbers to memory cannot fail.
        if let Ok(line) = serde_json::to_vec(self) {
            lines.extend_from_slice(&line);
            lines.push(b'\n');
        }
    }
}
