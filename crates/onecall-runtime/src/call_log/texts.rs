//! Storage for the texts of a call log: a few large buffers shared by all entries.
//!
//! Each call leaves two texts, which stay until the run is recorded. If each had an allocation of
//! its own, the following calls would get colder memory from the allocator.

/// Bytes of the first buffer. Each next buffer is twice as large, up to `LARGEST_PIECE`.
const SMALLEST_PIECE: usize = 4 * 1024;
const LARGEST_PIECE: usize = 64 * 1024;

/// Stores texts, or the beginnings of texts that are too long.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The buffers. None of them is reallocated: a text that does not fit goes into the next one.
    pieces: Vec<String>,
    /// The bytes that are stored in all buffers.
    pub(crate) bytes: usize,
}

/// Where a text is stored, and how long the original was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    piece: usize,
    start: usize,
    end: usize,
    /// The length of the original text in bytes.
    pub(crate) bytes: usize,
}

impl Place {
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

impl Texts {
    /// Stores at most `room` bytes of a text.
    pub(crate) fn keep(&mut self, text: Excerpt<'_>, room: usize) -> Place {
        let Excerpt { text, bytes } = text.within(room);
        if text.is_empty() {
            return Place::of_size(bytes);
        }
        let has_room = |piece: &String| piece.capacity() - piece.len() >= text.len();
        if !self.pieces.last().is_some_and(has_room) {
            let doubled = self.pieces.last().map_or(SMALLEST_PIECE, |last| last.capacity() * 2);
            self.pieces.push(String::with_capacity(doubled.min(LARGEST_PIECE).max(text.len())));
        }
        let number = self.pieces.len().saturating_sub(1);
        let Some(piece) = self.pieces.last_mut() else { return Place::default() };
        let start = piece.len();
        piece.push_str(text);
        self.bytes += text.len();
        Place { piece: number, start, end: piece.len(), bytes }
    }

    pub(crate) fn get(&self, place: Place) -> Excerpt<'_> {
        let piece = self.pieces.get(place.piece);
        let text = piece.and_then(|piece| piece.get(place.start..place.end)).unwrap_or_default();
        Excerpt { text, bytes: place.bytes }
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
        let mut texts = Texts::default();
        let written: Vec<String> =
            (0..2_000).map(|number| format!("{number} ").repeat(number % 90)).collect();
        let longest = "ä".repeat(LARGEST_PIECE);
        let all = || written.iter().map(String::as_str).chain([longest.as_str(), "", "end"]);
        let places: Vec<Place> =
            all().map(|text| texts.keep(Excerpt::whole(text), usize::MAX)).collect();
        let found: Vec<&str> = places.iter().map(|place| texts.get(*place).text).collect();
        assert!(all().eq(found));
        assert!(places.iter().all(|place| texts.get(*place).is_whole()));
        assert_eq!(texts.bytes, all().map(str::len).sum::<usize>());
        assert!(texts.pieces.len() < 25, "{} pieces", texts.pieces.len());
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut texts = Texts::default();
        let place = texts.keep(Excerpt::whole("naïve"), 3);
        let kept = texts.get(place);
        assert_eq!((kept.text, kept.bytes, kept.is_whole()), ("na", 6, false));
        // What was cut once does not become whole.
        let mut others = Texts::default();
        let again = others.keep(kept, usize::MAX);
        assert_eq!((others.get(again).text, again.bytes, others.bytes), ("na", 6, 2));
    }
}
