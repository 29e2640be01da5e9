//! What is noted of a call while its program waits for it: as little as will do.

use std::time::Duration;

use onecall_core::{CallableName, ToolCall, ToolError, ToolValue};
use sha2::{Digest, Sha256};

/// Bytes of a result that its tokens are estimated from.
pub(super) const RESULT_SAMPLE: usize = 4 * 1024;

/// Bytes of arguments that are kept until somebody has time to hash them.
const ARGUMENTS: usize = 16 * 1024;

/// The same of one run, in all.
const SAMPLES: usize = 512 * 1024;

/// Bytes of arguments and results that one full record may have, in all.
const FULL: usize = 32 * 1024 * 1024;

/// Calls of one run that are noted; later ones are counted.
const MAX_NOTES: usize = 10_000;

/// The beginning of a text, or all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) text: String,
    /// What there was in all.
    pub(super) bytes: usize,
}

impl Kept {
    pub(super) fn new(text: &str, room: usize) -> Self {
        let end = text.floor_char_boundary(room);
        Self { text: text.get(..end).unwrap_or_default().to_owned(), bytes: text.len() }
    }

    /// Keeps less; the length of what is left.
    fn shorten(&mut self, room: usize) -> usize {
        if self.text.len() > room {
            *self = Self { bytes: self.bytes, ..Self::new(&self.text, room) };
        }
        self.text.len()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.text.len() == self.bytes
    }
}

/// One call.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) id: u64,
    pub(super) name: CallableName,
    pub(super) arguments: Kept,
    /// Of arguments that are not kept whole.
    pub(super) hash: Option<[u8; 32]>,
    pub(super) started: Duration,
    pub(super) end: Option<End>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) duration: Duration,
    /// The kind of its result and the text of it, or why there is none.
    pub(super) result: Result<(&'static str, Kept), String>,
}

/// How much of each call is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What the record and the count of tokens need.
    Sample,
    /// Everything.
    Full,
}

/// The calls of one run.
#[derive(Debug)]
pub(super) struct Notes {
    depth: Depth,
    /// What was kept so far.
    bytes: usize,
    pub(super) calls: Vec<Note>,
    /// How many began after those.
    pub(super) more: u64,
}

impl Notes {
    pub(super) fn new(depth: Depth) -> Self {
        Self { depth, bytes: 0, calls: Vec::new(), more: 0 }
    }

    /// All of them; those that come now are lost.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.depth);
        std::mem::replace(self, empty)
    }

    /// Begins a note; where it is, if there is room for it.
    pub(super) fn begin(&mut self, call: &ToolCall, started: Duration) -> Option<usize> {
        if self.calls.len() == MAX_NOTES {
            self.more += 1;
            return None;
        }
        let arguments = call.arguments.get();
        let kept = Kept::new(arguments, self.room(ARGUMENTS));
        self.bytes += kept.text.len();
        let hash = (!kept.is_whole()).then(|| Sha256::digest(arguments).into());
        let (id, name) = (call.id, call.name.clone());
        self.calls.push(Note { id, name, arguments: kept, hash, started, end: None });
        Some(self.calls.len() - 1)
    }

    /// Notes how it ended.
    pub(super) fn end(
        &mut self,
        place: usize,
        now: Duration,
        result: &Result<ToolValue, ToolError>,
    ) {
        let room = self.room(RESULT_SAMPLE);
        let result = match result {
            Ok(ToolValue::Nothing) => Ok(("nothing", Kept::default())),
            Ok(ToolValue::Json(json)) => Ok(("json", Kept::new(json.get(), room))),
            Ok(ToolValue::Text(text)) => Ok(("text", Kept::new(text, room))),
            Err(error) => Err(error.to_string()),
        };
        self.bytes += match &result {
            Ok((_, kept)) => kept.text.len(),
            Err(text) => text.len(),
        };
        if let Some(note) = self.calls.get_mut(place) {
            note.end = Some(End { duration: now.saturating_sub(note.started), result });
        }
    }

    /// Leaves only what tokens are counted from.
    pub(super) fn thin(&mut self) {
        (self.depth, self.bytes) = (Depth::Sample, 0);
        for place in 0..self.calls.len() {
            let (arguments, result) = (self.room(ARGUMENTS), self.room(RESULT_SAMPLE));
            let Some(note) = self.calls.get_mut(place) else { return };
            self.bytes += note.arguments.shorten(arguments);
            if let Some(End { result: Ok((_, kept)), .. }) = &mut note.end {
                self.bytes += kept.shorten(result);
            }
        }
    }

    /// How much of the next text may be kept.
    fn room(&self, sample: usize) -> usize {
        match self.depth {
            Depth::Sample => sample.min(SAMPLES.saturating_sub(self.bytes)),
            Depth::Full => FULL.saturating_sub(self.bytes),
        }
    }
}
