//! Keeps the beginning of a program's output and counts on nothing about the rest.

use onecall_core::Output;
use onecall_engine::ProgramOutput;

use crate::Observer;

/// Both output streams of one program, each kept up to the limit.
pub(crate) struct Capture<'a> {
    stdout: Kept,
    stderr: Kept,
    observer: &'a dyn Observer,
}

impl<'a> Capture<'a> {
    pub(crate) fn new(limit: usize, observer: &'a dyn Observer) -> Self {
        let kept = || Kept { bytes: Vec::new(), limit, truncated: false };
        Self { stdout: kept(), stderr: kept(), observer }
    }

    /// What was kept of stdout and stderr.
    pub(crate) fn finish(self) -> (Output, Output) {
        (self.stdout.finish(), self.stderr.finish())
    }
}

impl ProgramOutput for Capture<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.observer.stdout(bytes);
        self.stdout.keep(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.observer.stderr(bytes);
        self.stderr.keep(bytes);
    }
}

struct Kept {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Kept {
    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        self.truncated |= kept.len() < bytes.len();
    }

    fn finish(mut self) -> Output {
        if self.truncated {
            self.cut_broken_character();
        }
        // Bytes that are no text are replaced, and a replacement is longer than
        // the byte it replaces, so the limit is applied once more.
        let mut text = String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if text.len() > self.limit {
            let mut end = self.limit;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            self.truncated = true;
        }
        Output { text, truncated: self.truncated }
    }

    /// Takes away a character of which only the first bytes were kept.
    fn cut_broken_character(&mut self) {
        if let Err(error) = str::from_utf8(&self.bytes)
            && error.error_len().is_none()
        {
            self.bytes.truncate(error.valid_up_to());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    fn captured(limit: usize, pieces: &[&[u8]]) -> Output {
        let mut capture = Capture::new(limit, &Silent);
        for piece in pieces {
            capture.stdout(piece);
        }
        capture.finish().0
    }

    #[test]
    fn output_is_kept_up_to_the_limit_on_a_character_boundary() {
        let cases: [(usize, &[&[u8]], &str, bool); 8] = [
            (10, &[b"hello"], "hello", false),
            (5, &[b"hello"], "hello", false),
            (5, &[b"hello", b""], "hello", false),
            (5, &[b"hello", b"!"], "hello", true),
            (4, &["aé€".as_bytes()], "aé", true),
            (6, &["aé€".as_bytes(), b"x"], "aé€", true),
            (20, &[b"a\xc3", b"\xa9b"], "aéb", false),
            (4, &[b"\xff\xff\xff"], "\u{fffd}", true),
        ];
        for (limit, pieces, text, truncated) in cases {
            let expected = Output { text: text.to_owned(), truncated };
            assert_eq!(captured(limit, pieces), expected, "{pieces:?} within {limit}");
        }
    }
}
