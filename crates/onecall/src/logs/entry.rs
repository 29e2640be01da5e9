//! One line of a log file.

use onecall_core::Timestamp;
use serde::{Deserialize, Serialize};

/// What a line of a log file says. Lines are JSON, so that nothing in a message can be taken for
/// the beginning of another line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// When it was said, in UTC as RFC 3339 has it, always with the same number of digits.
    pub(crate) time: String,
    /// The process id of the gateway.
    pub(crate) pid: u32,
    /// The server that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// Who said it.
    pub(crate) source: Source,
    /// How much it matters: `info`, `warn`, `error`, or what the server chose.
    pub(crate) level: String,
    /// The text.
    pub(crate) message: String,
}

/// Who said what stands in a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    /// The server, on its stderr.
    Stderr,
    /// The server, in a log message of the protocol.
    Log,
    /// The gateway.
    Gateway,
}

impl Entry {
    /// Something that the gateway says now.
    pub(crate) fn of_gateway(level: &str, message: String) -> Self {
        Self {
            time: Timestamp::now().with_milliseconds(),
            pid: std::process::id(),
            server: None,
            source: Source::Gateway,
            level: level.to_owned(),
            message,
        }
    }

    /// Reads a line; absent if it is not one of ours, or only a part of one.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Appends itself as a line.
    pub(crate) fn write_to(&self, lines: &mut Vec<u8>) {
        // Writing texts and numbers to memory cannot fail.
        if let Ok(line) = serde_json::to_vec(self) {
            lines.extend_from_slice(&line);
            lines.push(b'\n');
        }
    }
}
