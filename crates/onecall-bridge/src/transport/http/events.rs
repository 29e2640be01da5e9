//! Parses an event stream (`text/event-stream`), however its bytes arrive. Of an event over the
//! limit only its two ends are kept in memory.

use std::time::Duration;

use onecall_core::lines::{Line, LineSplitter, TruncatedLine};
use reqwest::header::HeaderValue;

/// The length that a field name may add to a line.
const MAX_FIELD_NAME: usize = 16;

/// The longest event name or id that is accepted.
const MAX_NAME_OR_ID: usize = 1_024;

/// The longest reconnection delay that a server may request.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// One event with data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// The name of the event; `message` if the server gave none.
    pub name: &'a str,
    pub data: Line<'a>,
}

/// The parser of a stream.
pub(crate) struct EventParser {
    limit: usize,
    splitter: LineSplitter,
    current: PartialEvent,
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

/// The event that is being parsed.
#[derive(Default)]
struct PartialEvent {
    name: String,
    data: Vec<u8>,
    /// Set once its data exceeds the limit.
    too_long: Option<TruncatedLine>,
    id: Option<HeaderValue>,
}

impl EventParser {
    /// A parser for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            splitter: LineSplitter::new(limit + MAX_FIELD_NAME),
            current: PartialEvent::default(),
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last event, from which the server may be able to resume the stream.
    pub fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// How many bytes of an incomplete event are buffered.
    pub fn unfinished(&self) -> usize {
        self.splitter.buffered_bytes() + self.current.data.len()
    }

    /// The reconnection delay that the server requested.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Prepares for a new connection to the same stream: an incomplete event is dropped, but the
    /// position in the stream is kept.
    pub fn reconnected(&mut self) {
        self.splitter = LineSplitter::new(self.limit + MAX_FIELD_NAME);
        self.current = PartialEvent { id: self.last_id.clone(), ..PartialEvent::default() };
    }

    /// Parses the next bytes and passes every complete event to `each`.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Event<'_>)) {
        self.splitter.feed(bytes);
        while let Some(line) = self.splitter.next_line() {
            match line {
                Line::Whole(line) => {
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    if !line.is_empty() {
                        self.current.field(line, self.limit, &mut self.retry);
                        continue;
                    }
                    self.last_id.clone_from(&self.current.id);
                    self.current.end(&mut each);
                }
                Line::TooLong(edges) => self.current.skip(edges),
            }
        }
    }
}

impl PartialEvent {
    fn field(&mut self, line: &[u8], limit: usize, retry: &mut Option<Duration>) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value, limit),
            b"event" if value.len() <= MAX_NAME_OR_ID => {
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            b"id" if value.len() <= MAX_NAME_OR_ID && !value.contains(&0) => {
                self.id = HeaderValue::from_bytes(value).ok().filter(|id| !id.is_empty());
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                *retry = millis.map(|millis| Duration::from_millis(millis).min(MAX_RETRY));
            }
            // A comment, or a field of a later revision.
            _ => {}
        }
    }

    fn add(&mut self, value: &[u8], limit: usize) {
        if self.too_long.is_none() && self.data.len().saturating_add(value.len()) < limit {
            self.data.extend_from_slice(value);
            self.data.push(b'\n');
            return;
        }
        let edges = self.too_long.get_or_insert_default();
        edges.add(&std::mem::take(&mut self.data));
        edges.add(value);
    }

    /// Handles a line that is over the limit by itself.
    fn skip(&mut self, line: TruncatedLine) {
        let head = line.head.strip_prefix(b"data:");
        let Some(head) = head else { return };
        let edges = self.too_long.get_or_insert_default();
        edges.add(&std::mem::take(&mut self.data));
        edges.add(head);
        edges.add(&line.tail);
    }

    fn end(&mut self, each: &mut impl FnMut(Event<'_>)) {
        let name = if self.name.is_empty() { "message" } else { &self.name };
        if let Some(edges) = self.too_long.take() {
            each(Event { name, data: Line::TooLong(edges) });
        } else if let Some(data) = self.data.strip_suffix(b"\n") {
            each(Event { name, data: Line::Whole(data) });
        }
        *self = Self { id: self.id.take(), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of `text`, fed in pieces of `size` bytes.
    fn events(text: &str, size: usize) -> (Vec<String>, EventParser) {
        let mut events = EventParser::new(40);
        let mut seen = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            events.feed(piece, |event| {
                seen.push(match event.data {
                    Line::Whole(data) => {
                        format!("{}={}", event.name, String::from_utf8_lossy(data))
                    }
                    Line::TooLong(edges) => format!(
                        "{}<{}…{}>",
                        event.name,
                        String::from_utf8_lossy(&edges.head),
                        String::from_utf8_lossy(&edges.tail)
                    ),
                });
            });
        }
        (seen, events)
    }

    #[test]
    fn events_do_not_depend_on_how_the_bytes_arrive() {
        let text = ": hi\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: endpoint\ndata: /a b\n\n\
                    data: {\ndata:  1}\nid: x-2\nretry: 20\n\nunknown\ndata\n\ndata: half";
        let expected = ["message=", "endpoint=/a b", "message={\n 1}", "message="];
        for size in [1, 2, 7, 1_000] {
            let (seen, events) = events(text, size);
            assert_eq!(seen, expected);
            assert_eq!(events.last_id().unwrap(), "x-2");
            assert_eq!(events.retry(), Some(Duration::from_millis(20)));
        }
    }

    #[test]
    fn an_event_over_the_limit_is_skipped_to_its_end() {
        let long = "0123456789".repeat(6);
        let text = format!(
            "data: {long}\n\ndata: ok\n\n{}\ndata: last\n\n",
            "data: 0123456789\n".repeat(5)
        );
        for size in [1, 5, 1_000] {
            let (seen, _) = events(&text, size);
            assert_eq!(seen.len(), 4, "{seen:?}");
            assert!(seen[0].starts_with("message< 0123") && seen[0].ends_with("6789>"), "{seen:?}");
            assert_eq!((&*seen[1], &*seen[3]), ("message=ok", "message=last"));
        }
    }

    #[test]
    fn half_an_event_is_forgotten_when_the_connection_breaks() {
        let (_, mut events) = events("id: 7\ndata: 1\n\nid: 8\ndata: brok", 1_000);
        events.reconnected();
        let mut seen = Vec::new();
        events.feed(b"data: 2\n\n", |event| seen.push(format!("{event:?}")));
        assert_eq!(events.last_id().unwrap(), "7");
        assert_eq!(seen.len(), 1);
    }

    #[test]
    fn an_id_that_fits_no_header_is_no_place_to_resume() {
        let (_, stream) = events("id: 1\ndata: a\n\nid: a\u{7f}b\ndata: b\n\n", 1_000);
        assert_eq!(stream.last_id(), None);
        let (_, stream) = events("retry: never\ndata: a\n\nretry: 99999999999\n\n", 1_000);
        assert_eq!(stream.retry(), Some(MAX_RETRY));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_mean_the_same_in_any_pieces(
            text in "([a-z]{0,60}|data: ?[a-z{}]{0,30}|id:[0-9]{0,3}|retry:[0-9]{0,4}|\r?\n|:|\u{0}){0,60}",
            size in 1_usize..20,
        ) {
            let (whole, one) = events(&text, text.len().max(1));
            let (pieces, other) = events(&text, size);
            assert_eq!(whole, pieces);
            assert_eq!((one.last_id(), one.retry()), (other.last_id(), other.retry()));
        }
    }
}
