//! Reads the stderr of a server: every line is logged, and the last few lines are kept for error
//! messages, because they often contain the reason of an exit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use onecall_core::lines::Line;
use onecall_core::text::one_line;
use onecall_core::{ServerName, UserName};
use tokio::io::AsyncRead;
use tracing::info;

use crate::supervision::status::SERVER_LOG_TARGET;
use crate::transport::lines::read_lines;

/// The longest line that is logged; a longer one is cut.
const MAX_LINE: usize = 8 * 1024;

/// How many lines are kept, and how many characters of each.
const KEPT_LINES: usize = 5;
const KEPT_CHARACTERS: usize = 300;

/// The last lines of a server's stderr. Cheap to clone; all clones share the same lines.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<VecDeque<String>>>);

impl StderrTail {
    /// The last lines as the end of an error message; empty if nothing was written.
    pub fn clause(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        format!("; its stderr ends with: {}", lines.join(" | "))
    }

    fn add(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(KEPT_CHARACTERS).collect());
    }
}

/// Logs every line of `source` until it ends, with the user that the server belongs to.
pub(crate) async fn log(
    source: impl AsyncRead + Unpin,
    server: ServerName,
    user: Option<UserName>,
    stderr_tail: StderrTail,
) {
    read_lines(source, MAX_LINE, |line| {
        let line = match &line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes),
            Line::TooLong(edges) => String::from_utf8_lossy(&edges.head),
        };
        let line = one_line(line.trim_ascii_end(), MAX_LINE);
        if !line.is_empty() {
            stderr_tail.add(&line);
            let user = user.as_ref().map(UserName::as_str);
            info!(target: SERVER_LOG_TARGET, server = %server, user, "{line}");
        }
    })
    .await;
}
