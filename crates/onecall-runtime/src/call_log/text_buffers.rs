//! Storage for the texts of a call log: a few large buffers shared by all entries.
//!
//! Each call leaves two texts, which stay until the run is recorded. If each had an allocation of
//! its own, the following calls would get colder memory from the allocator.

/// Bytes of the first buffer. Each next buffer is twice as large, up to `MAX_BUFFER_BYTES`.
const MIN_BUFFER_BYTES: usize = 4 * 1024;
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// Stores texts, or the beginnings of texts that are too long.
#[derive(Debug, Default)]
pub(crate) struct TextBuffers {
    /// The buffers. None of them is reallocated: a text that does not fit goes into the next one.
    buffers: Vec<String>,
    /// The bytes that are stored in all buffers.
    pub(crate) bytes: usize,
}

/// Where a text is stored, and how long the original was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextLocation {
    buffer: usize,
    start: usize,
    end: usize,
    /// The length of the original text in bytes.
    pub(crate) bytes: usize,
}

impl TextLocation {
    /// A text of `bytes` bytes of which nothing is stored.
    pub(crate) fn of_size(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }
}

/// A text or the beginning of one, with the length of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt<'t> {
    pub(crate) text: &'t str,
    /// The length of the whole text in bytes.
    pub(crate) bytes: usize,
}

impl TextBuffers {
    /// Stores at most `room` bytes of a text.
    pub(crate) fn keep(&mut self, text: Excerpt<'_>, room: usize) -> TextLocation {
        let Excerpt { text, bytes } = text.within(room);
        if text.is_empty() {
            return TextLocation::of_size(bytes);
        }
        let has_room = |buffer: &String| buffer.capacity() - buffer.len() >= text.len();
        if !self.buffers.last().is_some_and(has_room) {
            let doubled = self.buffers.last().map_or(MIN_BUFFER_BYTES, |last| last.capacity() * 2);
            self.buffers.push(String::with_capacity(doubled.min(MAX_BUFFER_BYTES).max(text.len())));
        }
        let number = self.buffers.len().saturating_sub(1);
        let Some(buffer) = self.buffers.last_mut() else { return TextLocation::default() };
        let start = buffer.len();
        buffer.push_str(text);
        self.bytes += text.len();
        TextLocation { buffer: number, start, end: buffer.len(), bytes }
    }

    pub(crate) fn get(&self, location: TextLocation) -> Excerpt<'_> {
        let buffer = self.buffers.get(location.buffer);
        let text =
            buffer.and_then(|buffer| buffer.get(location.start..location.end)).unwrap_or_default();
        Excerpt { text, bytes: location.bytes }
    }
}

impl<'t> Excerpt<'t> {
    pub(crate) fn whole(text: &'t str) -> Self {
        Self { text, bytes: text.len() }
    }

    /// The excerpt, cut to at most `room` bytes.
    pub(crate) fn within(self, room: usize) -> Self {
        let end = self.text.floor_char_boundary(room);
        Self { text: self.text.get(..end).unwrap_or_default(), ..self }
    }

    pub(crate) fn is_whole(self) -> bool {
        self.text.len() == self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_found_again() {
        let mut texts = TextBuffers::default();
        let written: Vec<String> =
            (0..2_000).map(|number| format!("{number} ").repeat(number % 90)).collect();
        let longest = "ä".repeat(MAX_BUFFER_BYTES);
        let all = || written.iter().map(String::as_str).chain([longest.as_str(), "", "end"]);
        let locations: Vec<TextLocation> =
            all().map(|text| texts.keep(Excerpt::whole(text), usize::MAX)).collect();
        let found: Vec<&str> = locations.iter().map(|location| texts.get(*location).text).collect();
        assert!(all().eq(found));
        assert!(locations.iter().all(|location| texts.get(*location).is_whole()));
        assert_eq!(texts.bytes, all().map(str::len).sum::<usize>());
        assert!(texts.buffers.len() < 25, "{} buffers", texts.buffers.len());
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut texts = TextBuffers::default();
        let location = texts.keep(Excerpt::whole("naïve"), 3);
        let kept = texts.get(location);
        assert_eq!((kept.text, kept.bytes, kept.is_whole()), ("na", 6, false));
        // What was cut once does not become whole.
        let mut others = TextBuffers::default();
        let again = others.keep(kept, usize::MAX);
        assert_eq!((others.get(again).text, again.bytes, others.bytes), ("na", 6, 2));
    }
}
