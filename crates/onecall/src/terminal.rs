//! Makes text from programs and servers safe for a terminal, and writes it.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle, WeakProgressBar};
use onecall_core::text::visible;
use tokio::signal::unix::{SignalKind, signal};

/// Escapes what could control a terminal or hide text in it. If the output is not a terminal, text
/// passes unchanged.
pub(crate) struct TerminalEscaper {
    on_terminal: bool,
    /// The first bytes of a character whose rest has not arrived.
    incomplete: Vec<u8>,
}

impl TerminalEscaper {
    pub(crate) fn new(on_terminal: bool) -> Self {
        Self { on_terminal, incomplete: Vec::new() }
    }

    /// Converts the next piece of a stream.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        if !self.on_terminal {
            return bytes.to_vec();
        }
        self.incomplete.extend_from_slice(bytes);
        let complete = match str::from_utf8(&self.incomplete) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.incomplete.len(),
        };
        let rest = self.incomplete.split_off(complete);
        let whole = std::mem::replace(&mut self.incomplete, rest);
        neutralise(&String::from_utf8_lossy(&whole)).into_bytes()
    }

    /// Converts a whole text.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.on_terminal { neutralise(text) } else { text.to_owned() }
    }
}

/// Whether `--quiet` was given.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out progress and notes from now on.
pub(crate) fn set_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether progress and notes are left out.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// The exit code of a command that was ended by Ctrl-C, as shells report SIGINT.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// The sequence that makes the cursor visible again.
const SHOW_CURSOR: &str = "\x1b[?25h";

/// How often a spinner turns.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// The spinner that is on the terminal now, if there is one.
static SPINNER: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// A spinner with a message of one line; hidden if stderr is not a terminal or with `--quiet`.
pub(crate) fn spinner(message: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() || is_quiet() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner().with_style(style).with_message(message);
    *SPINNER.lock().unwrap_or_else(PoisonError::into_inner) = Some(spinner.downgrade());
    spinner.enable_steady_tick(SPINNER_INTERVAL);
    spinner
}

fn current_spinner() -> Option<ProgressBar> {
    let spinner = SPINNER.lock().unwrap_or_else(PoisonError::into_inner);
    spinner.as_ref().and_then(WeakProgressBar::upgrade).filter(|it| !it.is_finished())
}

/// Removes the spinner from the terminal until the result is dropped, while the user types.
pub(crate) fn pause_spinner() -> PausedSpinner {
    let spinner = current_spinner();
    spinner.iter().for_each(ProgressBar::finish_and_clear);
    PausedSpinner(spinner)
}

/// A spinner that is not shown as long as this exists.
pub(crate) struct PausedSpinner(Option<ProgressBar>);

impl Drop for PausedSpinner {
    fn drop(&mut self) {
        if let Some(spinner) = &self.0 {
            spinner.reset();
            spinner.enable_steady_tick(SPINNER_INTERVAL);
        }
    }
}

/// Stderr for complete lines: each is written above the spinner, if there is one.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let write = || io::stderr().write_all(bytes);
        match current_spinner() {
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Ends the process after Ctrl-C and restores the terminal. The process guard ends the servers.
#[expect(clippy::exit, reason = "it takes the place of the death by SIGINT")]
pub(crate) fn exit_interrupted() -> ! {
    if let Some(spinner) = current_spinner() {
        spinner.finish_and_clear();
    }
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        _ = stderr.write_all(SHOW_CURSOR.as_bytes());
    }
    std::process::exit(EXIT_INTERRUPTED.into())
}

/// Makes Ctrl-C end the process by [`exit_interrupted`] from now on, for prompts that hide the
/// cursor.
pub(crate) fn exit_on_interrupt() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    // Set up before this function returns, so that no Ctrl-C is missed.
    let interrupts = {
        let _inside = runtime.enter();
        signal(SignalKind::interrupt())
    };
    let Ok(mut interrupts) = interrupts else { return };
    std::thread::spawn(move || {
        if runtime.block_on(interrupts.recv()).is_some() {
            exit_interrupted();
        }
    });
}

/// Writes a text to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let escaper = TerminalEscaper::new(stdout.is_terminal());
    stdout.write_all(escaper.text(text).as_bytes())
}

/// Writes a text to stdout that contains only control characters of onecall itself.
pub(crate) fn print_styled(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Escapes what could control a terminal or hide text in it: see [`onecall_core::text`].
pub(crate) fn neutralise(text: &str) -> String {
    visible(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_sees_no_control_characters() {
        let shown = neutralise("a\u{1b}[31mred\r\n\ttab\u{202e}evil\u{9b}");
        assert_eq!(shown, "a\\u{1b}[31mred\n\ttab\\u{202e}evil\\u{9b}");
    }

    #[test]
    fn a_character_split_in_two_pieces_arrives_whole() {
        let mut escaper = TerminalEscaper::new(true);
        let shown = [escaper.bytes(b"a\xc3"), escaper.bytes(b"\xa9b")].concat();
        assert_eq!(String::from_utf8(shown).unwrap(), "aéb");
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        assert_eq!(TerminalEscaper::new(false).bytes(b"\x1b\xff"), b"\x1b\xff");
    }
}
