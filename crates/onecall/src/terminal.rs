//! Text from programs and servers, made safe for a person's terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Neutralises what could steer a terminal or hide text in it; on anything else
/// than a terminal, output passes as it is.
pub(crate) struct Readable {
    on_terminal: bool,
    /// The first bytes of a character whose rest has not arrived.
    incomplete: Vec<u8>,
}

impl Readable {
    pub(crate) fn new(on_terminal: bool) -> Self {
        Self { on_terminal, incomplete: Vec::new() }
    }

    /// The next piece of a stream.
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

    /// A whole text.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.on_terminal { neutralise(text) } else { text.to_owned() }
    }
}

/// Shows that something goes on; hidden where stderr is no terminal.
pub(crate) fn spinner(message: &'static str) -> ProgressBar {
    let spinner = if io::stderr().is_terminal() {
        ProgressBar::new_spinner()
            .with_style(ProgressStyle::default_spinner())
            .with_message(message)
    } else {
        ProgressBar::hidden()
    };
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Writes a text to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let readable = Readable::new(stdout.is_terminal());
    stdout.write_all(readable.text(text).as_bytes())
}

/// Writes a text to stdout whose control characters are our own.
pub(crate) fn print_styled(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Shows control characters and direction marks instead of sending them.
pub(crate) fn neutralise(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            // Direction marks and overrides reorder what follows them.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            control if control.is_control() => {
                _ = write!(shown, "\\x{:02x}", u32::from(control));
            }
            plain => shown.push(plain),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_sees_no_control_characters() {
        let shown = neutralise("a\u{1b}[31mred\r\n\ttab\u{202e}evil\u{9b}");
        assert_eq!(shown, "a\\x1b[31mred\\x0d\n\ttab\\u{202e}evil\\x9b");
    }

    #[test]
    fn a_character_split_in_two_pieces_arrives_whole() {
        let mut readable = Readable::new(true);
        let shown = [readable.bytes(b"a\xc3"), readable.bytes(b"\xa9b")].concat();
        assert_eq!(String::from_utf8(shown).unwrap(), "aéb");
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        assert_eq!(Readable::new(false).bytes(b"\x1b\xff"), b"\x1b\xff");
    }
}
