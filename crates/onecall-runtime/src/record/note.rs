//! What is noted of a run while its program waits: as little as will do.

use std::time::Duration;

use onecall_core::{CallableName, ToolCall, ToolError, ToolValue};
use sha2::{Digest, Sha256};

use super::texts::{Excerpt, Place, Texts};

/// Bytes of a result that its tokens are estimated from.
const RESULT_SAMPLE: usize = 4 * 1024;

/// Bytes of an answer likewise.
const ANSWER_SAMPLE: usize = 64 * 1024;

/// Bytes of arguments that are kept until somebody has time to hash them.
const ARGUMENTS: usize = 16 * 1024;

/// Bytes of arguments and results that one run may keep, in all.
const SAMPLES: usize = 512 * 1024;

/// The same of a full record.
const FULL: usize = 32 * 1024 * 1024;

/// Bytes of output that a full record keeps.
const FULL_OUTPUT: usize = 4 * 1024 * 1024;

/// Bytes of an error that are kept even if there is no more room: more than is recorded, so
/// that a secret in it is whole when it is looked for.
const SHORTEST_ERROR: usize = 4 * 1024;

/// Calls of one run that are noted; later ones are counted.
const MAX_NOTES: usize = 10_000;

/// One call.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) id: u64,
    pub(super) name: CallableName,
    pub(super) arguments: Place,
    /// Of arguments that are not kept whole.
    pub(super) hash: Option<Box<[u8; 32]>>,
    pub(super) started: Duration,
    pub(super) end: Option<End>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) duration: Duration,
    /// The kind of its result and the text of it, or why there is none.
    pub(super) result: Result<(&'static str, Place), Place>,
}

/// How much of each call is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What the record and the count of tokens need.
    Sample,
    /// Everything.
    Full,
}

/// What one run called and said.
#[derive(Debug)]
pub(super) struct Notes {
    depth: Depth,
    texts: Texts,
    pub(super) calls: Vec<Note>,
    /// How many began after those.
    pub(super) more: u64,
    /// What it printed, and the answer as its agent reads it.
    pub(super) output: Place,
    pub(super) answer: Place,
}

impl Notes {
    pub(super) fn new(depth: Depth) -> Self {
        Self {
            depth,
            texts: Texts::default(),
            calls: Vec::new(),
            more: 0,
            output: Place::default(),
            answer: Place::default(),
        }
    }

    /// All of them; those that come now are lost.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.depth);
        std::mem::replace(self, empty)
    }

    /// Begins the note of a call; where it is, if there is room for it.
    pub(super) fn begin(&mut self, call: &ToolCall, started: Duration) -> Option<usize> {
        if self.calls.len() == MAX_NOTES {
            self.more += 1;
            return None;
        }
        let arguments = Excerpt::whole(call.arguments.get()).within(self.room(ARGUMENTS));
        let hash =
            (!arguments.is_whole()).then(|| Box::new(Sha256::digest(call.arguments.get()).into()));
        let (id, name) = (call.id, call.name.clone());
        let arguments = self.texts.keep(arguments, usize::MAX);
        self.calls.push(Note { id, name, arguments, hash, started, end: None });
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
        let mut keep = |text, room| self.texts.keep(Excerpt::whole(text), room);
        let result = match result {
            Ok(ToolValue::Nothing) => Ok(("nothing", Place::default())),
            Ok(ToolValue::Json(json)) => Ok(("json", keep(json.get(), room))),
            Ok(ToolValue::Text(text)) => Ok(("text", keep(text, room))),
            Err(error) => Err(keep(&error.to_string(), room.max(SHORTEST_ERROR))),
        };
        if let Some(note) = self.calls.get_mut(place) {
            note.end = Some(End { duration: now.saturating_sub(note.started), result });
        }
    }

    /// Notes what the run gave.
    pub(super) fn conclude(&mut self, output: &str, answer: &str) {
        let room = if self.depth == Depth::Full { FULL_OUTPUT } else { 0 };
        self.output = self.texts.keep(Excerpt::whole(output), room);
        self.answer = self.texts.keep(Excerpt::whole(answer), ANSWER_SAMPLE);
    }

    pub(super) fn text(&self, place: Place) -> Excerpt<'_> {
        self.texts.get(place)
    }

    /// Leaves only what tokens are counted from.
    pub(super) fn thin(&mut self) {
        if self.depth == Depth::Sample {
            return;
        }
        self.depth = Depth::Sample;
        let all = std::mem::take(&mut self.texts);
        for number in 0..self.calls.len() {
            let room = (self.room(ARGUMENTS), self.room(RESULT_SAMPLE));
            let Some(note) = self.calls.get_mut(number) else { break };
            note.arguments = self.texts.keep(all.get(note.arguments), room.0);
            if let Some(End { result: Ok((_, place)) | Err(place), .. }) = &mut note.end {
                *place = self.texts.keep(all.get(*place), room.1);
            }
        }
        self.output = self.texts.keep(all.get(self.output), 0);
        self.answer = self.texts.keep(all.get(self.answer), ANSWER_SAMPLE);
    }

    /// How much of the next text may be kept.
    fn room(&self, sample: usize) -> usize {
        match self.depth {
            Depth::Sample => sample.min(SAMPLES.saturating_sub(self.texts.bytes)),
            Depth::Full => FULL.saturating_sub(self.texts.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{AnswerForm, Freshness};
    use serde_json::value::RawValue;

    use super::*;

    fn noted(notes: &mut Notes, arguments: &str, result: Result<ToolValue, ToolError>) {
        let call = ToolCall {
            id: 1,
            name: CallableName::new("mcp__s__t"),
            arguments: RawValue::from_string(arguments.to_owned()).unwrap(),
            form: AnswerForm::Value,
            caller: None,
            freshness: Freshness::default(),
        };
        let place = notes.begin(&call, Duration::ZERO).unwrap();
        notes.end(place, Duration::from_millis(1), &result);
    }

    fn kept(notes: &Notes, place: Place) -> (usize, usize) {
        let text = notes.text(place);
        (text.text.len(), text.bytes)
    }

    /// What is kept of each call's arguments and result, and what there was.
    fn all_kept(notes: &Notes) -> Vec<[(usize, usize); 2]> {
        let result = |note: &Note| match note.end.unwrap().result {
            Ok((_, place)) | Err(place) => kept(notes, place),
        };
        notes.calls.iter().map(|note| [kept(notes, note.arguments), result(note)]).collect()
    }

    #[test]
    fn a_full_record_is_thinned_to_samples() {
        let mut notes = Notes::new(Depth::Full);
        let arguments = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
        for _ in 0..100 {
            noted(&mut notes, &arguments, Ok(ToolValue::Text("y".repeat(10_000))));
        }
        noted(&mut notes, "{}", Ok(ToolValue::Nothing));
        notes.conclude("printed", "answered");
        assert!(notes.calls.iter().all(|note| note.hash.is_none()));
        let mut whole = vec![[(20_008, 20_008), (10_000, 10_000)]; 100];
        whole.push([(2, 2), (0, 0)]);
        assert_eq!(all_kept(&notes), whole);
        assert_eq!(notes.text(notes.output).text, "printed");

        notes.thin();
        let thinned = all_kept(&notes);
        assert_eq!(thinned[0], [(16 * 1024, 20_008), (4 * 1024, 10_000)]);
        assert_eq!(thinned[99], [(0, 20_008), (0, 10_000)]);
        assert_eq!(kept(&notes, notes.output), (0, 7));
        assert_eq!(notes.text(notes.answer).text, "answered");
    }

    #[test]
    fn errors_are_kept_where_results_no_longer_are() {
        let mut notes = Notes::new(Depth::Sample);
        let failure = || ToolError::failed(&CallableName::new("mcp__s__t"), "no ".repeat(2_000));
        let written = failure().to_string().len();
        for _ in 0..200 {
            noted(&mut notes, "{}", Ok(ToolValue::Text("y".repeat(10_000))));
        }
        noted(&mut notes, "{}", Err(failure()));
        let all = all_kept(&notes);
        assert_eq!(all[199], [(0, 2), (0, 10_000)]);
        assert_eq!(all[200], [(0, 2), (SHORTEST_ERROR, written)]);
        // Of arguments that are not there any more, the hash is.
        assert!(notes.calls[0].hash.is_none() && notes.calls[200].hash.is_some());
    }
}
