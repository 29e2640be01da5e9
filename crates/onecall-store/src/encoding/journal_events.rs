//! The stored form of journal events: a kind, a head with the small parts as JSON, and the content,
//! which is stored apart if it is large. A checksum finds damaged rows.

use std::borrow::Cow;

use onecall_core::{
    CallSite, CallableName, Digest, DigestBuilder, EngineName, JournalCall, JournalEvent,
    RunEngine, ToolError, ToolValue,
};
use serde::{Deserialize, Serialize};

use super::journal_values::CompressedValue;
use crate::rows::Columns;

/// Arguments and results up to this size are stored in the row of their event.
const INLINE_BYTES: usize = 512;

/// Observations up to this size are stored in the row of their event. They are all different, so
/// storing them by their digest gains nothing but the compression.
const INLINE_OBSERVATION_BYTES: usize = 4 * 1024;

/// About how many bytes an event takes besides its head and its content.
const EVENT_OVERHEAD: u64 = 64;

/// The kind that the head of an ended call has for an error.
const ERROR: &str = "error";

/// An event in its stored form.
pub(crate) struct EncodedEvent {
    pub(crate) kind: &'static str,
    pub(crate) head: String,
    pub(crate) content: Content,
}

/// The large part of an event.
pub(crate) enum Content {
    None,
    Inline(Vec<u8>),
    /// The content is stored as the value with this digest.
    Value(Digest),
}

impl Content {
    pub(crate) fn inline(&self) -> Option<&[u8]> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            Self::None | Self::Value(_) => None,
        }
    }

    pub(crate) fn value(&self) -> Option<[u8; 32]> {
        match self {
            Self::Value(digest) => Some(digest.into_bytes()),
            Self::None | Self::Inline(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct EngineHead<'a> {
    name: Cow<'a, str>,
    version: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct CalledHead<'a> {
    id: u64,
    name: Cow<'a, CallableName>,
    site: Option<Cow<'a, CallSite>>,
    definition: Option<[u8; 32]>,
}

/// The head of an event that is about a call and nothing else.
#[derive(Serialize, Deserialize)]
struct CallHead {
    call: u64,
}

#[derive(Serialize, Deserialize)]
struct EndedHead<'a> {
    call: u64,
    /// The kind of the value, or [`ERROR`].
    result: Cow<'a, str>,
}

/// The parts of an event in their stored form.
pub(crate) struct EventParts<'a> {
    pub(crate) kind: &'static str,
    /// The small parts, as JSON.
    pub(crate) head: String,
    /// Arguments, a result or observations.
    pub(crate) content: Option<Cow<'a, [u8]>>,
}

impl<'a> EventParts<'a> {
    /// Encodes an event.
    pub(crate) fn new(event: &'a JournalEvent) -> serde_json::Result<Self> {
        let (kind, head, content) = match event {
            JournalEvent::Engine(RunEngine { name, version }) => {
                let version = version.as_deref().map(Cow::Borrowed);
                let head = EngineHead { name: Cow::Borrowed(name.name()), version };
                ("engine", serde_json::to_string(&head)?, None)
            }
            JournalEvent::Called(call) => {
                let head = CalledHead {
                    id: call.id,
                    name: Cow::Borrowed(&call.name),
                    site: call.site.as_ref().map(Cow::Borrowed),
                    definition: call.definition.map(Digest::into_bytes),
                };
                let arguments = Cow::Borrowed(call.arguments.as_bytes());
                ("called", serde_json::to_string(&head)?, Some(arguments))
            }
            JournalEvent::Sent { call } => ("sent", call_head(*call)?, None),
            JournalEvent::Cancelled { call } => ("cancelled", call_head(*call)?, None),
            JournalEvent::Ended { call, result } => {
                let (result, text) = match result {
                    Ok(value) => value.encode(),
                    Err(error) => (ERROR, Cow::Owned(serde_json::to_string(error)?)),
                };
                let head = EndedHead { call: *call, result: Cow::Borrowed(result) };
                let content = match text {
                    Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                    Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                };
                ("ended", serde_json::to_string(&head)?, Some(content))
            }
            JournalEvent::Observed { bytes } => {
                ("observed", "{}".to_owned(), Some(Cow::Borrowed(bytes.as_slice())))
            }
        };
        Ok(Self { kind, head, content })
    }
}

/// Decodes an event from its parts; `None` if they are malformed.
pub(crate) fn decode(kind: &str, head: &str, content: Option<Vec<u8>>) -> Option<JournalEvent> {
    match kind {
        "engine" => {
            let EngineHead { name, version } = serde_json::from_str(head).ok()?;
            let (name, version) = (EngineName::named(&name)?, version.map(Cow::into_owned));
            Some(JournalEvent::Engine(RunEngine { name, version }))
        }
        "called" => {
            let head: CalledHead<'_> = serde_json::from_str(head).ok()?;
            Some(JournalEvent::Called(JournalCall {
                id: head.id,
                name: head.name.into_owned(),
                site: head.site.map(Cow::into_owned),
                arguments: String::from_utf8(content?).ok()?,
                definition: head.definition.map(Digest::from_bytes),
            }))
        }
        "sent" => call_of(head).map(|call| JournalEvent::Sent { call }),
        "cancelled" => call_of(head).map(|call| JournalEvent::Cancelled { call }),
        "ended" => {
            let EndedHead { call, result } = serde_json::from_str(head).ok()?;
            let text = String::from_utf8(content?).ok()?;
            let result = match &*result {
                ERROR => Err(serde_json::from_str::<ToolError>(&text).ok()?),
                kind => Ok(ToolValue::decode(kind, text)?),
            };
            Some(JournalEvent::Ended { call, result })
        }
        "observed" => Some(JournalEvent::Observed { bytes: content? }),
        _ => None,
    }
}

impl EncodedEvent {
    /// Encodes an event. If its content is large, the content is returned as a value, too.
    pub(crate) fn new(event: &JournalEvent) -> serde_json::Result<(Self, Option<CompressedValue>)> {
        let EventParts { kind, head, content } = EventParts::new(event)?;
        let longest = match event {
            JournalEvent::Observed { .. } => INLINE_OBSERVATION_BYTES,
            _ => INLINE_BYTES,
        };
        let (content, value) = match content {
            None => (Content::None, None),
            Some(content) if content.len() <= longest => {
                (Content::Inline(content.into_owned()), None)
            }
            Some(content) => {
                let digest = Digest::of(&content);
                (Content::Value(digest), Some(CompressedValue::new(digest, &content)))
            }
        };
        Ok((Self { kind, head, content }, value))
    }

    /// About how many bytes the event takes in the store, without its value.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let length = self.head.len() + self.content.inline().map_or(0, <[u8]>::len);
        u64::try_from(length).unwrap_or(u64::MAX).saturating_add(EVENT_OVERHEAD)
    }

    pub(crate) fn checksum(&self, run: i64, number: i64) -> [u8; 8] {
        let value = self.content.value();
        let value = value.as_ref().map(<[u8; 32]>::as_slice);
        checksum(run, number, self.kind, &self.head, self.content.inline(), value)
    }
}

fn call_head(call: u64) -> serde_json::Result<String> {
    serde_json::to_string(&CallHead { call })
}

/// The first bytes of a digest of everything in the row.
fn checksum(
    run: i64,
    number: i64,
    kind: &str,
    head: &str,
    content: Option<&[u8]>,
    value: Option<&[u8]>,
) -> [u8; 8] {
    let mut digest = DigestBuilder::default();
    digest.add(run.to_le_bytes());
    digest.add(number.to_le_bytes());
    digest.add_part(kind);
    digest.add_part(head);
    for part in [content, value] {
        // Nothing differs from empty content.
        digest.add([u8::from(part.is_some())]);
        digest.add_part(part.unwrap_or_default());
    }
    let [a, b, c, d, e, f, g, h, ..] = digest.finish().into_bytes();
    [a, b, c, d, e, f, g, h]
}

/// The columns that [`StoredEvent::from_row`] reads, in its order.
pub(crate) const EVENT_COLUMNS: &str = "number, kind, head, content, value, checksum";

/// A row whose checksum is right.
pub(crate) struct StoredEvent {
    kind: String,
    head: String,
    content: Option<Vec<u8>>,
    value: Option<Digest>,
}

impl StoredEvent {
    /// Reads the row of the event with this number; `None` if it is another one or damaged.
    pub(crate) fn from_row(row: &impl Columns, run: i64, number: i64) -> Option<Self> {
        let (kind, head) = (row.text(1).ok()?, row.text(2).ok()?);
        let content = row.optional_bytes(3).ok()?;
        let value = row.optional_bytes(4).ok()?;
        let value: Option<[u8; 32]> = value.map(<[u8; 32]>::try_from).transpose().ok()?;
        let stored: [u8; 8] = row.array(5).ok()?;
        let part = value.as_ref().map(<[u8; 32]>::as_slice);
        let expected = checksum(run, number, &kind, &head, content.as_deref(), part);
        let is_intact = row.number(0).is_ok_and(|found| found == number) && stored == expected;
        is_intact.then(|| Self { kind, head, content, value: value.map(Digest::from_bytes) })
    }

    /// The digest of the value that [`Self::decode`] needs, if the content is stored apart.
    pub(crate) fn value(&self) -> Option<Digest> {
        self.value
    }

    /// The event; `None` if it is malformed. `value` is its content if that is stored apart.
    pub(crate) fn decode(self, value: Option<Vec<u8>>) -> Option<JournalEvent> {
        decode(&self.kind, &self.head, self.content.or(value))
    }
}

fn call_of(head: &str) -> Option<u64> {
    serde_json::from_str::<CallHead>(head).ok().map(|head| head.call)
}
