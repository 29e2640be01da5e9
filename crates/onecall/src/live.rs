//! Shows what a program does while it runs, and what it has done if it is interrupted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;
use onecall_bridge::ServerStatus;
use onecall_core::storage::COMMAND_LINE_CLIENT;
use onecall_core::{CallableName, Caller};
use onecall_runtime::{CallEvent, Observer};

use crate::terminal::{TerminalEscaper, spinner};
use crate::terminal_caller::terminal_caller;
use crate::waiting;

/// How many tools are named when a program is interrupted.
const MAX_NAMES: usize = 8;

/// Whether output is shown as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Output,
    Nothing,
}

/// Observes a program and shows its output and progress.
pub(crate) struct LiveProgress {
    echo: Echo,
    state: Mutex<LiveState>,
    /// Hidden if stderr is not a terminal.
    spinner: ProgressBar,
}

struct LiveState {
    stdout: TerminalEscaper,
    stderr: TerminalEscaper,
    /// Tool calls by name: how many have begun, and how many have ended.
    calls: BTreeMap<CallableName, CallCounts>,
    /// The error that prevented a part of stdout from being written, if any.
    lost_output: Option<io::Error>,
}

#[derive(Clone, Copy, Default)]
struct CallCounts {
    begun: u64,
    ended: u64,
}

impl LiveState {
    fn total(&self) -> CallCounts {
        let add = |sum: CallCounts, it: &CallCounts| CallCounts {
            begun: sum.begun + it.begun,
            ended: sum.ended + it.ended,
        };
        self.calls.values().fold(CallCounts::default(), add)
    }
}

impl LiveProgress {
    pub(crate) fn new(echo: Echo) -> Self {
        let state = LiveState {
            stdout: TerminalEscaper::new(io::stdout().is_terminal()),
            stderr: TerminalEscaper::new(io::stderr().is_terminal()),
            calls: BTreeMap::new(),
            lost_output: None,
        };
        Self { echo, state: Mutex::new(state), spinner: spinner("running") }
    }

    /// Runs `work` until Ctrl-C is pressed. `None` means that it was interrupted, and the caller
    /// should report what was done.
    pub(crate) async fn unless_interrupted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            _ = tokio::signal::ctrl_c() => None,
        }
    }

    /// Runs `work`, and shows which servers are still connecting until the first tool is called.
    pub(crate) async fn connecting<T>(
        &self,
        work: impl Future<Output = T>,
        status: impl Fn() -> Vec<ServerStatus>,
    ) -> T {
        let was_connecting = Cell::new(false);
        waiting::with_messages(&self.spinner, work, || {
            let has_called = self.with_state(|state| !state.calls.is_empty());
            let progress = waiting::progress(&status()).filter(|_| !has_called);
            let has_connected = was_connecting.replace(progress.is_some()) && !has_called;
            progress.or_else(|| has_connected.then(|| "running".to_owned()))
        })
        .await
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut LiveState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Describes the tool calls that have begun: some may have had effects.
    pub(crate) fn calls_made(&self) -> String {
        self.with_state(|state| {
            let total = state.total();
            let mut text = tool_calls(total.begun);
            match total.begun - total.ended {
                0 => {}
                left => text.push_str(&format!(" ({left} not answered)")),
            }
            let mut names = state.calls.iter();
            let one = |(name, calls): (&CallableName, &CallCounts)| match calls.begun {
                1 => name.to_string(),
                many => format!("{many}× {name}"),
            };
            let named: Vec<_> = names.by_ref().take(MAX_NAMES).map(one).collect();
            if !named.is_empty() {
                text.push_str(&format!(": {}", named.join(", ")));
            }
            match names.count() {
                0 => text,
                more => format!("{text} and {more} more tools"),
            }
        })
    }

    /// Why output was lost, unless the reader of stdout has exited.
    pub(crate) fn lost_output(&self) -> Option<io::Error> {
        let error = self.with_state(|state| state.lost_output.take());
        error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    fn show_calls(&self, latest: &CallableName) {
        if self.spinner.is_hidden() {
            return;
        }
        let CallCounts { begun, ended } = self.with_state(|state| state.total());
        let done = tool_calls(ended);
        self.spinner.set_message(match begun.saturating_sub(ended) {
            0 => format!("{done} done"),
            running => format!("{done} done, {running} running: {latest}"),
        });
    }

    pub(crate) fn finish(&self) {
        self.spinner.finish_and_clear();
    }
}

impl Observer for LiveProgress {
    fn queued(&self, _before: usize) {
        self.spinner.set_message("waiting until other programs end");
    }

    fn call_event(&self, event: &CallEvent<'_>) {
        let (name, begun, ended) = match event {
            CallEvent::Intent(call) => (&call.name, 1, 0),
            CallEvent::End { name, result: Some(_), .. } => (*name, 0, 1),
            CallEvent::Decision { .. }
            | CallEvent::Verdict { .. }
            | CallEvent::End { result: None, .. } => return,
        };
        self.with_state(|state| {
            let calls = state.calls.entry(name.clone()).or_default();
            calls.begun += begun;
            calls.ended += ended;
        });
        self.show_calls(name);
    }

    fn client(&self) -> String {
        COMMAND_LINE_CLIENT.to_owned()
    }

    fn caller(&self) -> Option<Arc<Caller>> {
        Some(terminal_caller(self.spinner.clone()))
    }

    // If output cannot be written, the program continues, because its calls may matter more than
    // its output; the error is reported at the end.
    fn stdout(&self, bytes: &[u8]) {
        if self.echo == Echo::Nothing {
            return;
        }
        let shown = self.with_state(|state| state.stdout.bytes(bytes));
        let written = self.spinner.suspend(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&shown).and_then(|()| stdout.flush())
        });
        if let Err(error) = written {
            self.with_state(|state| state.lost_output.get_or_insert(error).kind());
        }
    }

    fn stderr(&self, bytes: &[u8]) {
        if self.echo == Echo::Nothing {
            return;
        }
        let shown = self.with_state(|state| state.stderr.bytes(bytes));
        self.spinner.suspend(|| {
            _ = io::stderr().write_all(&shown);
        });
    }
}

/// A number of tool calls, in singular or plural.
pub(crate) fn tool_calls(count: u64) -> String {
    if count == 1 { "1 tool call".to_owned() } else { format!("{count} tool calls") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onecall_core::{Answer, ToolValue};

    use super::*;

    #[test]
    fn what_was_begun_is_told() {
        let live = LiveProgress::new(Echo::Nothing);
        assert_eq!(live.calls_made(), "0 tool calls");
        let names = ["send", "look", "send"].map(|it| CallableName::new(format!("mcp__x__{it}")));
        for name in &names {
            live.with_state(|state| state.calls.entry(name.clone()).or_default().begun += 1);
        }
        let answered = Ok(Answer::live(ToolValue::Nothing));
        for (name, result) in [(&names[0], None), (&names[1], Some(&answered))] {
            let duration = Duration::ZERO;
            let (call, tool, is_replayed) = (1, None, false);
            live.call_event(&CallEvent::End { call, name, tool, result, duration, is_replayed });
        }
        assert_eq!(
            live.calls_made(),
            "3 tool calls (2 not answered): mcp__x__look, 2× mcp__x__send"
        );
    }
}
