//! Captures the output of a program: the beginning of each stream up to the output limit, and the
//! images and audio that the program displays. Later output is dropped.

use onecall_core::{BoxFuture, Media, MediaKind, Output};
use onecall_engine::ProgramOutput;
use serde::Deserialize;

use crate::Observer;

/// Bytes of base64 that one program may display. The worker enforces a limit of its own; this one
/// holds even if the worker is compromised.
const MAX_DISPLAY_BYTES: usize = 8 * 1024 * 1024;

/// Longest MIME type that is accepted for a displayed block.
const LONGEST_MIME_TYPE: usize = 100;

/// Both output streams of one program, each kept up to the limit, and the displayed blocks.
pub(crate) struct Capture<'a> {
    stdout: LimitedBuffer,
    stderr: LimitedBuffer,
    media: Vec<Media>,
    remarks: Vec<String>,
    observer: &'a dyn Observer,
}

impl<'a> Capture<'a> {
    pub(crate) fn new(limit: usize, observer: &'a dyn Observer) -> Self {
        let kept = || LimitedBuffer { bytes: Vec::new(), limit, truncated: false };
        Self { stdout: kept(), stderr: kept(), media: Vec::new(), remarks: Vec::new(), observer }
    }

    /// The captured stdout and stderr, the displayed blocks, and remarks for the program's author.
    pub(crate) fn finish(self) -> (Output, Output, Vec<Media>, Vec<String>) {
        (self.stdout.finish(), self.stderr.finish(), self.media, self.remarks)
    }
}

/// The content blocks that a worker may send for display.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Block {
    Image(Content),
    Audio(Content),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    data: String,
    mime_type: String,
}

/// Parses and validates a block that a worker sent; `None` if it is not acceptable.
fn parse_block(block: &str) -> Option<Media> {
    let (kind, content) = match serde_json::from_str(block).ok()? {
        Block::Image(content) => (MediaKind::Image, content),
        Block::Audio(content) => (MediaKind::Audio, content),
    };
    let Content { data, mime_type } = content;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    let fits = data.bytes().all(is_base64)
        && mime_type.bytes().all(is_plain)
        && mime_type.len() <= LONGEST_MIME_TYPE;
    fits.then_some(Media { kind, data, mime_type })
}

impl ProgramOutput for Capture<'_> {
    fn queued(&mut self, before: usize) {
        self.observer.queued(before);
    }

    fn wait_for_room(&mut self) -> BoxFuture<'_, ()> {
        self.observer.room_for_answer()
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.observer.stdout(bytes);
        self.stdout.append(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.observer.stderr(bytes);
        self.stderr.append(bytes);
    }

    fn show(&mut self, block: &str) {
        let taken: usize = self.media.iter().map(|media| media.data.len()).sum();
        if taken + block.len() <= MAX_DISPLAY_BYTES
            && let Some(media) = parse_block(block)
        {
            self.observer.displayed(&media);
            self.media.push(media);
        }
    }

    fn remark(&mut self, line: String) {
        self.remarks.push(line);
    }
}

struct LimitedBuffer {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl LimitedBuffer {
    fn append(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        self.truncated |= kept.len() < bytes.len();
    }

    fn finish(mut self) -> Output {
        if self.truncated {
            self.cut_broken_character();
        }
        // Invalid UTF-8 is replaced, and a replacement character is longer than the byte it
        // replaces, so the limit is applied once more.
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

    /// Removes an incomplete UTF-8 sequence at the end.
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
    use crate::NoopObserver;

    #[test]
    fn only_images_and_recordings_are_shown() {
        let image = r#"{"type":"image","data":"AAA=","mimeType":"image/png"}"#;
        let blocks = [
            image,
            r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#,
            r#"{"type":"text","text":"no"}"#,
            r#"{"type":"image","data":"<no>","mimeType":"image/png"}"#,
            r#"{"type":"image","data":"AAA=","mimeType":"image/png\nno"}"#,
            r#"{"type":"image","data":"AAA="}"#,
            "no",
        ];
        let mut capture = Capture::new(10, &NoopObserver);
        blocks.iter().for_each(|block| capture.show(block));
        let kinds: Vec<_> = capture.finish().2.into_iter().map(|media| media.kind).collect();
        assert_eq!(kinds, [MediaKind::Image, MediaKind::Audio]);
    }

    #[test]
    fn no_more_is_shown_than_a_client_can_take() {
        let data = "A".repeat(MAX_DISPLAY_BYTES / 3);
        let block = format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#);
        let mut capture = Capture::new(10, &NoopObserver);
        (0..5).for_each(|_| capture.show(&block));
        assert_eq!(capture.finish().2.len(), 2);
    }

    fn captured(limit: usize, pieces: &[&[u8]]) -> Output {
        let mut capture = Capture::new(limit, &NoopObserver);
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
