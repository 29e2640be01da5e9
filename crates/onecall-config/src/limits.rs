//! Limits on what a server may send, and the section `limits` that sets them.

use crate::document::Node;
use crate::error::Report;
use crate::parse::MEBIBYTE;
use crate::reader::{self, Section};
use crate::schema::LIMITS;

/// The limits on what one server may send. Exceeding one affects that server only: a call fails, or
/// a list, a schema or a description is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The size of one message: a line, an event or the body of a response.
    pub max_message_bytes: usize,
    /// The size of the value that a call returns to a program.
    pub max_result_bytes: usize,
    /// The number of tools, and of resources or prompts in a list.
    pub max_tools: usize,
    /// The number of pages of one list.
    pub max_pages: usize,
    /// The levels of a tool's schema; below them, any value is accepted.
    pub max_schema_depth: usize,
    /// The length of a tool's description in characters.
    pub max_description_chars: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_message_bytes: 64 * 1024 * 1024,
            max_result_bytes: 64 * 1024 * 1024,
            max_tools: 100_000,
            max_pages: 1_000,
            max_schema_depth: 64,
            max_description_chars: 4_000,
        }
    }
}

pub(crate) fn read_server_limits(node: &Node, report: &mut Report) -> Option<ServerLimits> {
    let section = Section::open(node, "limits", LIMITS, report)?;
    let mut number = |key: &str, range, unit: u64| {
        let what = format!("'{key}' in limits");
        let number =
            section.get(key).and_then(|node| reader::whole_number(node, &what, range, report))?;
        usize::try_from(number.saturating_mul(unit)).ok()
    };
    let default = ServerLimits::default();
    Some(ServerLimits {
        max_message_bytes: number("max_message_mb", 1..=1_024, MEBIBYTE)
            .unwrap_or(default.max_message_bytes),
        max_result_bytes: number("max_result_mb", 1..=1_024, MEBIBYTE)
            .unwrap_or(default.max_result_bytes),
        max_tools: number("max_tools", 1..=1_000_000, 1).unwrap_or(default.max_tools),
        max_pages: number("max_pages", 1..=100_000, 1).unwrap_or(default.max_pages),
        max_schema_depth: number("max_schema_depth", 1..=100, 1)
            .unwrap_or(default.max_schema_depth),
        max_description_chars: number("max_description_chars", 0..=100_000, 1)
            .unwrap_or(default.max_description_chars),
    })
}
